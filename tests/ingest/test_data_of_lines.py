"""Of which data lines are, and at which steps, where other words or numbers are between or around them."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 5)
ROWS = "      {epoch}    50         {a}         1.56\n      {epoch}   100         {b}         1.08\n"

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "an evaluation with the means of the weights": (
        "".join(
            f"Train: {n} [   0/100 (  0%)]  Loss: 2.{n}\nTrain: {n} [  99/100 (100%)]  Loss: 1.{n}\n"
            + "".join(
                f"{data}: [  24/24]  Loss: {n}.5 ({n}.4)  Acc@1: 5{n}.5 (5{n}.4)\n"
                for data in ("Test", "Test (EMA)")
            )
            for n in range(3)
        ),
        {
            **{name: [0, 99, 100, 199, 200, 299] for name in ("Loss", "epoch")},
            **{
                f"{data}/{name}": [99, 199, 299]
                for data in ("test", "test/ema")
                for name in ("Loss", "Loss/mean", "Acc@1", "Acc@1/mean")
            },
        },
    ),
    "the data above the names of the columns": (
        "".join(
            "training\n# Epoch batch         loss       loss_f\n"
            + ROWS.format(epoch=n, a=f"1.{n}", b=f"0.{n}")
            + "\nvalidation\n# Epoch batch         loss       loss_f\n"
            + f"      {n}    10          2.{n}         2.37\n\n"
            for n in range(3)
        ),
        {
            **{name: [50, 100, 150, 200, 250, 300] for name in ("loss", "loss_f")},
            **{f"validation/{name}": [100, 200, 300] for name in ("loss", "loss_f")},
        },
    ),
    "a step in brackets before a part of the epoch": (
        "".join(
            f"I0305 14:05:1{n}.123456 14012345 writer.py:35] [{n}00] epoch={n * 0.5}, loss=2.{n}, lr=0.1\n"
            for n in N
        ),
        {name: [100, 200, 300, 400] for name in ("epoch", "loss", "lr")},
    ),
    "a rank in brackets before the epoch": (
        "".join(f"[0] epoch={n}, loss=2.{n}, lr=0.1\n" for n in N),
        {name: [*N] for name in ("loss", "lr")},
    ),
    "the data behind a tag and `on`": (
        "".join(
            f"<trainer> on training set:\n<trainer> online epoch # {n} [batchSize = 10]\n"
            f" + average row correct: 4{n}.5%\n + global correct: 5{n}.5%\n"
            "<trainer> saving network to out.net\n"
            f"<trainer> on testing Set:\n + average row correct: 3{n}.5%\n + global correct: 2{n}.5%\n"
            for n in N
        ),
        {
            f"{data}{name}": [*N]
            for data in ("", "testing/")
            for name in ("average row correct", "global correct")
        },
    ),
    "words of a message before the step": (
        "".join(
            f"2024-03-05T14:0{n}:11.123456Z  INFO train{{epoch={n // 3}}}: trainer: batch done "
            f"step={n}0 loss=1.{n} grad_norm=7.{n}\n"
            for n in N
        ),
        {name: [10, 20, 30, 40] for name in ("epoch", "loss", "grad_norm")},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_lines_are_of_their_data_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_scores_of_masks_are_not_those_of_boxes(tmp_path: Path) -> None:
    scores = "P          R      mAP50  mAP50-95"
    text = "".join(
        "      Epoch    GPU_mem   box_loss   seg_loss  Instances       Size\n"
        f"        {n}/4      4.12G      1.{n}      2.461         17        640: 100%|####| 20/20\n"
        f"           Class     Images  Instances      Box({scores})     Mask({scores}): 100%|##| 2/2\n"
        f"             all         64        128      0.{n}1  0.{n}2  0.{n}3  0.{n}4"
        f"  0.{n}5  0.{n}6  0.{n}7  0.{n}8\n"
        for n in N
    )
    run = read_log(tmp_path, text)
    assert {"val/P", "val/mAP50-95", "val/Mask/P", "val/Mask/mAP50-95"} < steps_of(run).keys()
    values = {key.metric: points.value.tolist() for key, points in run.data.series.items()}
    assert values["val/R"] == [0.12, 0.22, 0.32, 0.42]
    assert values["val/Mask/R"] == [0.16, 0.26, 0.36, 0.46]


def test_the_step_behind_results_is_theirs(tmp_path: Path) -> None:
    for prefix in ("INFO:tensorflow:  ", "INFO:tensorflow:", "03/05/2024 14:02:31 - INFO - __main__ -     "):
        text = "".join(
            f"INFO:tensorflow:loss = 2.{n}, step = {n}000 (12.345 sec)\n"
            f"INFO:tensorflow:***** Eval results *****\n{prefix}eval_accuracy = 0.7{n}\n"
            f"{prefix}eval_loss = 0.5{n}\n{prefix}global_step = {n}000\n"
            for n in N
        )
        steps = [1000, 2000, 3000, 4000]
        assert_steps(tmp_path, text, {name: steps for name in ("loss", "eval_accuracy", "eval_loss")})


def test_a_line_of_several_values_is_no_result(tmp_path: Path) -> None:
    text = "".join(
        f"INFO:tensorflow:loss = 2.{n}, step = {n}00\nINFO:tensorflow:cls_loss = 1.{n}, norm = 10.{n}\n"
        for n in N
    )
    run = read_log(tmp_path, text)
    assert {name: steps_of(run)[name] for name in ("loss", "cls_loss")} == {
        name: [100, 200, 300, 400] for name in ("loss", "cls_loss")
    }


def test_values_of_a_callback_above_the_bar_are_of_the_epoch_of_the_heading(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}/4\n - val_f1: 0.4{n} - val_recall: 0.5{n}\n125/125 - 3s - loss: 1.{n} - val_loss: 1.2\n"
        for n in N
    )
    names = ("loss", "val_loss", "val_f1", "val_recall")
    assert_steps(tmp_path, text, {name: [0, 1, 2, 3] for name in names})


def test_results_to_copy_are_of_their_task(tmp_path: Path) -> None:
    prefix = "[03/05 14:02:51 d2.evaluation.testing]: copypaste: "
    text = "".join(
        f"[03/05 14:02:11 d2.utils.events]:  eta: 0:12:31  iter: {n}99  total_loss: 2.{n}  lr: 0.0{n}\n"
        + "".join(
            f"{prefix}Task: {task}\n{prefix}AP,AP50,AP75\n{prefix}3{n}.{share},4{n}.5,nan\n"
            for task, share in (("bbox", 25), ("segm", 75))
        )
        for n in N
    )
    run = read_log(tmp_path, text)
    steps = [199, 299, 399, 499]
    names = {f"val/{task}/{name}" for task in ("bbox", "segm") for name in ("AP", "AP50", "AP75")}
    assert steps_of(run) == {name: steps for name in {*names, "total_loss", "lr"}}
    values = {key.metric: points.value.tolist() for key, points in run.data.series.items()}
    assert values["val/segm/AP"] == [31.75, 32.75, 33.75, 34.75]


@pytest.mark.parametrize("is_trained", [True, False])
def test_trials_of_a_search_have_steps_of_their_own(tmp_path: Path, *, is_trained: bool) -> None:
    text = "".join(
        "".join(f"trial {n} epoch {epoch}: train_loss 1.{epoch}\n" for epoch in range(1, 4) if is_trained)
        + f"[I 2024-03-05 14:0{n}:11,123] Trial {n} finished with value: 0.{n} and parameters: "
        f"{{'lr': 0.0012, 'layers': 3}}. Best is trial 1 with value: 0.1.\n"
        for n in N
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps["trial/value"] == [1, 2, 3, 4]
    trained = {f"train_loss/trial={n}": [1, 2, 3] for n in N if is_trained}
    assert steps == {"trial/value": [1, 2, 3, 4], **trained}


@pytest.mark.parametrize(
    ("numbers", "steps"),
    [
        ((1, 0, 3, 2, 4), {"trial/value": [1, 2, 3, 4, 5]}),
        ((0, 1, -1, 0, 1, 2), {"trial/value": [0, 1], "trial/value/study=2": [0, 1, 2]}),
    ],
    ids=["side by side", "studies in turn"],
)
def test_trials_go_on_in_one_launch(
    tmp_path: Path, numbers: tuple[int, ...], steps: dict[str, list[int]]
) -> None:
    begin = "[I 2024-03-05 14:00:11,123] "
    text = f"{begin}A new study created in memory with name: a\n" + "".join(
        f"{begin}Trial {n} finished with value: 0.{n} and parameters: {{'lr': 0.1}}. Best is trial 1.\n"
        if n >= 0
        else f"{begin}A new study created in memory with name: b\n"
        for n in numbers
    )
    assert_steps(tmp_path, text, steps)


def test_the_loss_of_an_evaluation_hides_none_of_the_training_of_nanogpts_lines(tmp_path: Path) -> None:
    lines = [
        f"iter {n}: loss 3.{n}, time 19.{n}ms, mfu 0.19%, lr {n}.00e-04, grad_norm 1.{n}(clipped to 1.0)\n"
        f"iter {n}: loss(train) nan, loss(val) 2.{n}, best_loss(val) 2.{n}\n"
        for n in N
    ]
    run = read_log(tmp_path, "".join(lines))
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values.keys() == {
        *("loss", "step_time (ms)", "mfu(%)", "lr", "grad_norm"),
        *("eval/train_loss", "val/loss", "val/best_loss"),
    }
    assert values["loss"] == [3.1, 3.2, 3.3, 3.4]
    assert values["lr"] == [1e-4, 2e-4, 3e-4, 4e-4]
    assert values["grad_norm"] == [1.1, 1.2, 1.3, 1.4]
    assert len(values["eval/train_loss"]) == len(N)


def test_numbers_without_data_in_their_names_are_of_the_evaluation_that_their_line_begins_with(
    tmp_path: Path, reading: Any
) -> None:
    lines = [
        line
        for n in N
        for line in (
            f"INFO: Epoch {n:03}: loss 5.{n} | lr 0.01 | num_words 13.{n} | batch_size 10 | clip 1\n",
            f"INFO: Epoch {n:03}: valid_loss 4.{n} | lr 0.01 | num_words 25.{n} | batch_size 50\n",
        )
    ]
    content = "".join(lines).encode()
    run = read_log(tmp_path, content)
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["num_words"] == [13.1, 13.2, 13.3, 13.4]
    assert values["valid/num_words"] == [25.1, 25.2, 25.3, 25.4]
    assert values["batch_size"] == [10] * 4
    assert values["valid/batch_size"] == [50] * 4
    assert values["valid_loss"] == [4.1, 4.2, 4.3, 4.4]
    assert "valid/lr" not in values
    complete = reading.read_complete("run.log", content)
    assert reading.read_growing("run.log", content, [*accumulate(map(len, lines))]) == complete


def test_numbers_behind_those_of_an_evaluation_keep_their_names_where_no_line_of_the_training_has_them(
    tmp_path: Path,
) -> None:
    text = "".join(f"Epoch {n} loss: 0.{n} acc: 0.9\nEpoch {n} val_loss: 0.5 time: 3.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text)).keys() == {"loss", "acc", "val_loss", "time"}


@pytest.mark.parametrize(
    ("train", "test", "names"),
    [
        ("Train. Acc.: 9{n}% | Loss: 0.{n}", "Test. Acc.: 8{n}% | Loss: 1.{n}", "Test. Acc.,Test. Loss"),
        ("[TRAIN_SET] Acc: 9{n} Loss: 0.{n}", "[TEST_SET] Acc: 8{n} Loss: 1.{n}", "test/Acc,test/Loss"),
        ("(train_phase) acc 9{n}, loss 0.{n}", "(val_phase) acc 8{n}, loss 1.{n}", "val/acc,val/loss"),
        ("train-set acc: 9{n}, loss: 0.{n}", "test-set acc: 8{n}, loss: 1.{n}", "test-set acc,test-set loss"),
    ],
)
@pytest.mark.parametrize("begin", ["Epoch {n}/4 | ", "Epoch {n}/4\n"])
def test_the_word_for_the_data_before_a_line_is_that_of_all_its_numbers(
    tmp_path: Path, *, train: str, test: str, names: str, begin: str
) -> None:
    again = begin if begin.endswith("| ") else ""
    text = "".join(f"{begin}{train}\n{again}{test}\n".replace("{n}", str(n)) for n in N)
    values = {
        key.metric: points.value.tolist() for key, points in read_log(tmp_path, text).data.series.items()
    }
    accuracy, loss = names.split(",")
    assert values[accuracy] == [81, 82, 83, 84]
    assert values[loss] == [1.1, 1.2, 1.3, 1.4]
    [of_training] = [name for name in values if name.lower() == "loss"]
    assert values[of_training] == [0.1, 0.2, 0.3, 0.4]


def test_results_whose_like_were_below_headings_all_along_are_of_their_data_without_one(
    tmp_path: Path,
) -> None:
    text = "".join(
        f"Epoch {n}\nEpoch: [{n}][1/2] Loss 2.{n}\nEpoch: [{n}][2/2] Loss 1.{n}\n"
        + "Start to evaluate...\n" * (n < 4)
        + f"{{'ACC': 0.{n}, 'NMI': 0.3{n}}}\n"
        for n in N
    )
    values = {
        key.metric: points.value.tolist() for key, points in read_log(tmp_path, text).data.series.items()
    }
    assert values["evaluate/ACC"] == [0.1, 0.2, 0.3, 0.4]
    assert values["evaluate/NMI"] == [0.31, 0.32, 0.33, 0.34]
    assert "ACC" not in values


def test_data_with_a_tab_before_their_number_are_read_below_an_epoch(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"Epoch {n}\nTrain\t0.{9 - n}\nVal\t0.{8 - n}\n" for n in range(1, 5)))
    assert steps_of(run) == {"Train": [1, 2, 3, 4], "Val": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Val loss/acc: 1.{0}/0.{0}", ["Val loss", "Val acc"]),
        ("Test [loss, acc]: [1.{0}, 0.{0}]", ["Test loss", "Test acc"]),
        (
            "Train loss/f1: 1.{0}/0.{0} Dev loss/f1: 2.{0}/0.{0}",
            ["Train loss", "Train f1", "Dev loss", "Dev f1"],
        ),
        ("average val loss: 1.{0}, acc: 0.{0}", ["average val loss", "val acc"]),
        ("Overall test error 1.{0} recall 0.{0}", ["Overall test error", "test recall"]),
        ("Train: 1.{0}, 0.{0}", ["Train", "Train 2"]),
        ("loss 3.{0}\nVal 1.{0} 0.{0}", ["loss", "Val", "Val 2"]),
    ],
)
def test_the_data_before_a_list_of_names_or_behind_a_statistic_is_that_of_all_its_numbers(
    tmp_path: Path, line: str, names: list[str]
) -> None:
    text = "".join(f"Epoch {n}\n{line.format(n)}\n" for n in range(1, 5))
    assert steps_of(read_log(tmp_path, text)) == {name: [1, 2, 3, 4] for name in names}

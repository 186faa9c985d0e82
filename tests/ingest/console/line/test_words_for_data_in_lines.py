"""Of which data values are: words for training, validation and test before, within and behind a line."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 4)

ROWS = "      {epoch}    50         {a}         1.56\n      {epoch}   100         {b}         1.08\n"

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "the data before what is counted in parentheses": (
        "".join(
            f"train ({n}/4) loss: 1.9{n} | lr: 0.001\nvalid ({n}/4) accuracy: 0.2{n} | loss: 2.1{n}\n"
            f"* Epoch ({n}/4) \n"
            for n in range(1, 5)
        ),
        {name: [*range(1, 5)] for name in ("loss", "lr", "valid/accuracy", "valid/loss")},
    ),
    "nothing but the data and a loss": (
        "".join(f"Epoch #{n}\nTrain: 0.98{n}\nValidation: 51.7{n}\n" for n in range(1, 5)),
        {name: [*range(1, 5)] for name in ("Train", "Validation")},
    ),
    "data and their losses in one name": (
        "".join(f"Epoch {n}: loss (train/val) 1.9{n}/0.76\n" for n in range(1, 5)),
        {name: [*range(1, 5)] for name in ("loss/train", "loss/val")},
    ),
    "the same of other data in parentheses": (
        "".join(f"Epoch {n}: loss 2.3{n} (val 2.08), acc 0.1 (val 0.11)\n" for n in range(1, 5)),
        {name: [*range(1, 5)] for name in ("loss", "loss/val", "acc", "acc/val")},
    ),
    "the numbers of all data": (
        "".join(
            f"Epoch  {n} Update  {n}0 Cost  1.53\nTrain 0.1{n} Valid 0.12 Test 0.13\n" for n in range(1, 5)
        ),
        {name: [10, 20, 30, 40] for name in ("Epoch", "Cost", "Train", "Valid", "Test")},
    ),
    "the data on a line of their own": (
        "".join(
            f"Epoch: {n}\nTrain\n\tLoss: 1.1{n}\n\tAcc: 0.{n}\nTest\n\tLoss: 0.6{n}\n\tAcc: 0.{n}\n"
            for n in range(1, 5)
        ),
        {name: [*range(1, 5)] for name in ("Loss", "Acc", "test/Loss", "test/Acc")},
    ),
    "training and test of one word": (
        "".join(f"[Step {n}00] Train / Test accuracy: 0.91{n} / 0.90\n" for n in range(1, 5)),
        {name: [100, 200, 300, 400] for name in ("Train accuracy", "Test accuracy")},
    ),
    "the data that are evaluated": (
        "".join(
            f"[ITER {n}000] Evaluating test: L1 0.0{n} PSNR 24.1\n"
            f"[ITER {n}000] Evaluating train: L1 0.02 PSNR 28.1\n"
            for n in range(1, 5)
        ),
        {
            f"{data}/{name}": [1000, 2000, 3000, 4000]
            for data in ("test", "eval/train")
            for name in ("L1", "PSNR")
        },
    ),
    "data behind the words of a logger": (
        "".join(
            f"INFO - main.py - train - 99 - [train] epoch:0 {n}/9 loss:2.5\n"
            f"INFO - main.py - train - 105 - [eval] loss:0.3 f1_score=0.{n}\n"
            for n in range(1, 5)
        ),
        {name: [1, 2, 3, 4] for name in ("epoch", "loss", "eval/loss", "eval/f1_score")},
    ),
    "batches of the training by the name of the data": (
        "".join(f"epoch {n}, train {batch}/20, loss=36.{batch}\n" for n in range(1, 5) for batch in (10, 20)),
        {"epoch": [10, 20, 30, 40, 50, 60, 70, 80], "loss": [10, 20, 30, 40, 50, 60, 70, 80]},
    ),
    "headings of an epoch that name the data of the block below": (
        "".join(
            f"Epoch {n} - Train Metrics:\n  Loss: 2.{n}\n  Recall: 0.{n}\n"
            f"Epoch {n} - Validation Metrics:\n  Loss: 3.{n}\n  Recall: 0.{n}5\n"
            for n in range(1, 6)
        ),
        {name: [*range(1, 6)] for name in ("Loss", "Recall", "validation/Loss", "validation/Recall")},
    ),
    "the data at the end of a line": (
        "".join(f"Epoch {n} loss 0.5 (train)\nEpoch {n} loss 0.6 (val)\n" for n in N),
        {"loss": [1, 2, 3], "val/loss": [1, 2, 3]},
    ),
    "parts below the record of each data": (
        "".join(
            f"Train Epoch {n}, iter 5, loss {n}.5\nbox {n}.25, mask_loss 0.5\nLiver : 0.{n}\n"
            f"Val Epoch {n}, iter 1, loss {n}.75\nbox {n}.5, mask_loss 0.75\nLiver : 0.{n}5\nTime : {n}.5\n"
            for n in N
        ),
        {
            **{
                f"{data}{name}": [5, 10, 15]
                for data in ("", "val/")
                for name in ("loss", "mask_loss", "Liver")
            },
            **{name: [5, 10, 15] for name in ("box", "val/box", "Time", "Train Epoch")},
        },
    ),
    "arrows below headings of the data": (
        "".join(
            f"epoch {n}/3\n- train data:\n  - loss -> 0.{n}\n- test data:\n  - loss -> 0.3{n}\n" for n in N
        ),
        {"loss": [1, 2, 3], "test/loss": [1, 2, 3]},
    ),
    "a name that is no known metric, with a sign for the first data alone": (
        "".join(f"Epoch: {n}\nTrain overlaps: 0.{n}5, Validation overlaps 0.{n}2\n" for n in range(6)),
        {"Train overlaps": [*range(6)], "Validation overlaps": [*range(6)]},
    ),
    "data in the first cell, in colours": (
        "".join(
            f"| \x1b[33mtrain\x1b[0m | E: {n} | S: {n}000 | R: 76.{n}\n"
            f"| \x1b[32meval\x1b[0m  | E: {n} | S: {n}000 | R: 80.{n}\n"
            for n in range(6)
        ),
        {name: [1000 * n for n in range(6)] for name in ("E", "R", "eval/E", "eval/R")},
    ),
    "data that are aligned": (
        "".join(f"Train {n}, loss: 2.5, acc: 0.5\nVal   {n}, loss: 2.5, acc: 0.25\n" for n in range(6)),
        {"loss": [*range(6)], "acc": [*range(6)], "val/loss": [*range(6)], "val/acc": [*range(6)]},
    ),
    "the data before an underscore": (
        "".join(f"train_epoch: {n},  loss is: 1.{n}\neval_epoch: {n},  loss is: 2.{n}\n" for n in range(6)),
        {"loss": [*range(6)], "eval/loss": [*range(6)]},
    ),
    "data named behind the metrics of the training": (
        "".join(f"Época   {n} | lr=9.00e-04 | loss=1.{n} | dev: acc=0.3{n} f1=0.4\n" for n in range(6)),
        {name: [*range(6)] for name in ("lr", "loss", "dev/acc", "dev/f1")},
    ),
    "the data of a part of an epoch behind its number": (
        "".join(f"Epoch {n}\nloss {n}.5\nEpoch {n} - testing ...\nloss {n}.25\n" for n in range(6)),
        {"loss": [*range(6)], "testing/loss": [*range(6)]},
    ),
    "nothing but the data as names": (
        "".join(f"[{{3667621017.py:45}} INFO - Epoch    {n}, trlast = 0.3, val = 0.4\n" for n in N),
        {"trlast": [1, 2, 3], "val": [1, 2, 3]},
    ),
    "the data behind a metric": (
        "".join(f"Epoch {n} | Loss: train 0.5, val 0.6 | Accuracy -> Train: 0.9, Val: 0.8\n" for n in N),
        {name: [1, 2, 3] for name in ("Loss/train", "Loss/val", "Accuracy/Train", "Accuracy/Val")},
    ),
    "the data before the step in brackets": (
        "".join(f"t.py:577] [Train {n}0/99] {{'train_loss': 0.{n}, 'loss_scale': 1.0}}\n" for n in N),
        {"train_loss": [10, 20, 30], "loss_scale": [10, 20, 30]},
    ),
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
    "the data behind a tag and `on`": (
        "".join(
            f"<trainer> on training set:\n<trainer> online epoch # {n} [batchSize = 10]\n"
            f" + average row correct: 4{n}.5%\n + global correct: 5{n}.5%\n"
            "<trainer> saving network to out.net\n"
            f"<trainer> on testing Set:\n + average row correct: 3{n}.5%\n + global correct: 2{n}.5%\n"
            for n in range(1, 5)
        ),
        {
            f"{data}{name}": [*range(1, 5)]
            for data in ("", "testing/")
            for name in ("average row correct", "global correct")
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_of_their_data(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_rows_without_data_below_a_named_loss_are_of_its_data(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}, lr: 5e-05\nTrain loss: 0.{n}5\nloss: 0.{n}51 acc: 0.3{n}\n"
        f"Val loss:   0.{n}6\nloss: 0.{n}61 acc: 0.2{n}\n"
        for n in range(6)
    )
    run = read_log(tmp_path, text)
    names = {"lr", "Train loss", "Val loss", "loss", "acc", "val/loss", "val/acc"}
    assert steps_of(run) == {name: [*range(6)] for name in names}


def test_a_metric_that_is_repeated_is_of_the_data_in_the_name_before_it(tmp_path: Path) -> None:
    text = "".join(f"[Epoch {n}] Train-acc: 0.2, loss: 1.{n} | Val-acc: 0.3, loss: 1.5\n" for n in N)
    assert steps_of(read_log(tmp_path, text)).keys() == {"Train-acc", "loss", "Val-acc", "Val loss"}


def test_data_without_a_sign_are_names_between_bars(tmp_path: Path) -> None:
    text = "".join(f"step   {n}50 | train 4.{n} | val 4.5 |     {n}s\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {name: [150, 250, 350] for name in ("train", "val")}


def test_the_data_in_the_name_of_a_metric_are_of_it_alone(tmp_path: Path) -> None:
    text = "".join(f"step: {n}000, Loss(train): 6.{n}, Loss(val): 6.4, alpha:0.03\n" for n in N)
    assert steps_of(read_log(tmp_path, text)).keys() == {"Loss", "val/Loss", "alpha"}


def test_a_loss_behind_that_of_the_evaluation_is_of_the_training(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch: [{n}][900]\tVal Loss 6.0 (6.1)\tBatch Time 1.2 (3.8)\tLoss 6.{n} (8.9)\n" for n in N
    )
    names = {"Epoch", "Val Loss", "Val Loss/mean", "Batch Time", "Loss"}
    assert steps_of(read_log(tmp_path, text)).keys() == names


def test_data_before_the_epoch_are_those_of_its_metrics(tmp_path: Path) -> None:
    text = "".join(
        f"DEBUG - Training Epoch: {n}, Loss: 0.{n}.\nINFO - Validating Epoch: {n}, accuracy: 0.9, Pk: 0.3 .\n"
        f"INFO - Testing Epoch: {n}, accuracy: 0.9, Pk: 0.3 .\n"
        for n in N
    )
    names = ["Loss", *(f"{data}/{name}" for data in ("validating", "testing") for name in ("accuracy", "Pk"))]
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in names}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Epoch: {0}/9 val loss: 2.5 HR@1: 0.1, HR@5: 0.2", {"val loss", "val HR@1", "val HR@5"}),
        (
            "[Epoch {0}] Train-acc: 0.2, loss: 1.7 | Val-acc: 0.3, loss: 1.5 | lr 0.1",
            {"Train-acc", "loss", "Val-acc", "Val loss", "lr"},
        ),
        ("[Step {0}/99] Train 9.68 | Val 9.69", {"Train", "Val"}),
        ("DEBUG:root:@rank1 Epoch: {0}\t<2021-11-26 13:39:23> loss: 0.5", {"loss"}),
        ("Epoch {0}, HellaSwag accuracy: 2486/10042=0.2476", {"HellaSwag accuracy"}),
    ],
)
def test_names_say_of_which_data_they_are(tmp_path: Path, line: str, names: set[str]) -> None:
    text = "".join(line.format(n) + "\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in names}


def test_numbers_without_data_in_their_names_are_of_the_evaluation_that_their_line_begins_with(
    tmp_path: Path, reading: Any
) -> None:
    lines = [
        line
        for n in range(1, 5)
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
    text = "".join(
        f"Epoch {n} loss: 0.{n} acc: 0.9\nEpoch {n} val_loss: 0.5 time: 3.{n}\n" for n in range(1, 5)
    )
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
    text = "".join(f"{begin}{train}\n{again}{test}\n".replace("{n}", str(n)) for n in range(1, 5))
    values = {
        key.metric: points.value.tolist() for key, points in read_log(tmp_path, text).data.series.items()
    }
    accuracy, loss = names.split(",")
    assert values[accuracy] == [81, 82, 83, 84]
    assert values[loss] == [1.1, 1.2, 1.3, 1.4]
    [of_training] = [name for name in values if name.lower() == "loss"]
    assert values[of_training] == [0.1, 0.2, 0.3, 0.4]


def test_data_with_a_tab_before_their_number_are_read_below_an_epoch(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"Epoch {n}\nTrain\t0.{9 - n}\nVal\t0.{8 - n}\n" for n in range(1, 5)))
    assert steps_of(run) == {"Train": [1, 2, 3, 4], "Val": [1, 2, 3, 4]}


@pytest.mark.parametrize("brackets", ["({})", " ({})", "[{}]", " [{}]", "{{{}}}", " {{{}}}"])
@pytest.mark.parametrize("data", ["val", "Test", "dev"])
def test_metrics_are_of_the_data_in_brackets_of_any_kind(brackets: str, data: str, tmp_path: Path) -> None:
    of_training, of_data = brackets.format("train"), brackets.format(data)
    text = "".join(f"Epoch {n}: loss{of_training}=0.{n}, loss{of_data}=1.{n}\n" for n in (1, 2, 3))
    assert steps_of(read_log(tmp_path, text)) == {"loss": [*(1, 2, 3)], f"{data.lower()}/loss": [*(1, 2, 3)]}


def test_a_word_in_square_brackets_that_is_no_data_keeps_its_place(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}: loss[train]=0.{n}, err [px]=1.{n}\n" for n in (1, 2, 3))
    assert {*steps_of(read_log(tmp_path, text))} == {"loss", "err [px]"}


@pytest.mark.parametrize("brackets", ["({})", "[{}]", " {{{}}}"])
def test_metrics_below_an_epoch_are_of_the_data_in_their_brackets(brackets: str, tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}\nLoss{brackets.format('train')}: 0.{n}\nLoss{brackets.format('val')}: 1.{n}\n"
        for n in (1, 2, 3)
    )
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*(1, 2, 3)], "val/Loss": [*(1, 2, 3)]}


@pytest.mark.parametrize("listing", ["Summary", "Results", "report", "stats"])
@pytest.mark.parametrize("epoch", ["Epoch: [{}]", "Epoch: {}", "Epoch {}/3"])
def test_a_word_for_what_is_printed_of_the_data_may_be_before_the_epoch(
    listing: str, epoch: str, tmp_path: Path
) -> None:
    text = "".join(
        f"12:00:0{n} run.py INFO {epoch.format(n)} [1/1] Loss 1.{n}\n"
        f"12:00:1{n} run.py INFO Training {listing} {epoch.format(n)}\tMean loss 1.{n}\n"
        f"12:00:2{n} run.py INFO Validation {listing} {epoch.format(n)}\tMean WER 5.{n}\n"
        for n in N
    )
    steps = steps_of(read_log(tmp_path, text))
    assert steps["Mean loss"] == steps["validation/Mean WER"] == [*N]

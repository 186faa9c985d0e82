"""Logs of programs that nobody here has seen: encodings, tables, Trainers in turn, launches, lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holter.ingest.offline.explain import explain_files
from holter.types import SeriesKey
from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 4)
BAR = "{percent:3}%|{bar:10}| {step}/{total} [00:01<00:10,  1.00it/s]"


def bar(step: int, total: int) -> str:
    return "\r" + BAR.format(percent=100 * step // total, bar="#", step=step, total=total)


CHINESE = "".join(f"轮次：{n}，步数: {n}00, 损失: 2.{n}, 准确率：0.5\n" for n in N)
FRENCH = "".join(f"Itération {n}00: perte: 2.{n} précision: 0.5\n" for n in N)


@pytest.mark.parametrize(
    ("text", "encoding", "name", "read_as"),
    [
        (CHINESE, "gbk", "损失", "GB18030"),
        (CHINESE, "gb18030", "准确率", "GB18030"),
        (FRENCH, "latin-1", "précision", "Latin-1"),
        (CHINESE, "utf-8", "损失", None),
        (FRENCH, "utf-8", "précision", None),
    ],
)
def test_lines_that_are_not_utf_8_are_read_and_doctor_says_it(
    tmp_path: Path, reading: Any, text: str, encoding: str, name: str, read_as: str | None
) -> None:
    content = text.encode(encoding)
    run = read_log(tmp_path, content)
    assert steps_of(run)[name] == [100, 200, 300]
    (report,) = explain_files(tmp_path / "train.log")
    assert report.encoding == read_as
    complete = reading.read_complete("train.log", content)
    assert reading.read_growing("train.log", content, [*range(0, len(content), 7), len(content)]) == complete


def test_a_bar_that_is_cut_is_damage_and_no_other_encoding(tmp_path: Path) -> None:
    line = "Epoch 1/3 ████████ step 10: loss: 0.5\n".encode()
    (tmp_path / "train.log").write_bytes(line * 3 + line.replace(b"\xe2\x96\x88", b"\xe2\x96", 1))
    (report,) = explain_files(tmp_path / "train.log")
    assert report.encoding is None


def test_a_table_in_gbk_has_its_names(tmp_path: Path) -> None:
    table = "step,损失\n" + "".join(f"{n},0.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, table.encode("gbk"), "log.csv")) == {"损失": [1, 2, 3]}


@pytest.mark.parametrize(
    "header", ["epoch,train_loss,val_acc", "epoch, train_loss, val_acc", "epoch\ttrain_loss\tval_acc"]
)
@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("{0}\t0.{0}\t0.5", "log.txt"),
        ("{0}\t0.{0}\t0.5", "log.csv"),
        ("{0}, 0.{0}, 0.5", "log.txt"),
        ("{0}, 0.{0}, 0.5", "log.csv"),
        ("{0}  0.{0}  0.5", "log.txt"),  # spaces separate nothing in a CSV file
    ],
)
def test_names_and_numbers_may_be_separated_otherwise(
    tmp_path: Path, header: str, row: str, name: str
) -> None:
    run = read_log(tmp_path, f"{header}\n" + "".join(row.format(n) + "\n" for n in N), name)
    assert {metric: steps for metric, steps in steps_of(run).items() if metric != "epoch"} == {
        "train_loss": [1, 2, 3],
        "val_acc": [1, 2, 3],
    }


OPENING = """\
Using device: cuda, seed: {0}
Loaded 1{0}00 samples from the data set
Model with 12.{0}M parameters is ready
Writing checkpoints to the output folder
"""


def trainer(records: int, every: int) -> str:
    total = records * every
    lines = "".join(
        f"{{'loss': 2.{n}, 'learning_rate': 1e-05, 'epoch': {n / records:.2f}}}\n{bar(every * n, total)}"
        for n in range(1, records + 1)
    )
    return f"{bar(0, total)}\n{lines}\n{{'train_runtime': 40.0, 'train_loss': 2.1, 'epoch': 1.0}}\n"


@pytest.mark.parametrize("records", [(3, 3), (3, 5), (4, 2)])
def test_trainers_of_one_launch_are_told_apart(tmp_path: Path, records: tuple[int, int]) -> None:
    run = read_log(tmp_path, OPENING.format(1) + trainer(records[0], 10) + trainer(records[1], 10))
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps["train/loss"] == [10 * n for n in range(1, records[0] + 1)]
    assert steps["train/loss/trainer=2"] == [10 * n for n in range(1, records[1] + 1)]
    assert steps["train/train_loss"] == [10 * records[0]]


def test_a_trainer_that_is_started_again_is_another_attempt(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(OPENING.format(n) + trainer(3, 10) for n in (1, 2)))
    assert run.attempts == 2
    assert steps_of(run)["train/loss"] == [10, 20, 30] * 2


@pytest.mark.parametrize(("every", "total"), [(10, 1000), (50, 4000), (25, 1130), (1, 97)])
def test_records_of_a_trainer_with_rare_bars_are_at_their_steps(
    tmp_path: Path, every: int, total: int
) -> None:
    lines, rare = [bar(0, total), "\n"], total // 4
    for step in range(1, total + 1):
        if step % every == 0:
            lines.append(f"{{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': {step / total:.2f}}}\n")
        if step % rare == 0:
            lines.append(bar(step, total) + "\n")
    run = read_log(tmp_path, OPENING.format(1) + "".join(lines))
    assert steps_of(run)["train/loss"] == list(range(every, total + 1, every))
    assert run.attempts == 1


def launches(*steps: range, line: str = "step {0}: loss 0.5, lr 0.1\n") -> str:
    return "".join(
        OPENING.format(number) + "".join(line.format(step) for step in of_launch)
        for number, of_launch in enumerate(steps)
    )


@pytest.mark.parametrize(
    "steps",
    [
        (range(10, 60, 10), range(60, 120, 10)),
        (range(10, 40, 10), range(10, 60, 10), range(10, 100, 10)),
        (range(10, 100, 10), range(80, 100, 10), range(90, 150, 10)),
        (range(1, 2), range(1, 2), range(1, 2), range(1, 2)),
        (range(1, 2), range(1, 9)),
    ],
    ids=[
        "resumed at the next step",
        "interrupted",
        "interrupted after a few",
        "one record each",
        "one, then more",
    ],
)
@pytest.mark.parametrize(
    "line", ["step {0}: loss 0.5, lr 0.1\n", "Validating\nEpoch {0}/200, train_loss=0.5\n"]
)
def test_the_opening_lines_show_launches(
    tmp_path: Path, reading: Any, steps: tuple[range, ...], line: str
) -> None:
    text = launches(*steps, line=line)
    run = read_log(tmp_path, text)
    assert run.attempts == len(steps)
    (found,) = [series for key, series in run.data.series.items() if key.metric.endswith("loss")]
    for number, of_launch in enumerate(steps):
        assert found.step[found.attempt == number].tolist() == list(of_launch)
    content = text.encode()
    complete = reading.read_complete("train.log", content)
    assert reading.read_restarted("train.log", content, every=1) == complete


PROMPT = "rob@box:~/go$ python3 training/train.py --seed 1\n"


@pytest.mark.parametrize(
    ("opening", "steps"),
    [
        (PROMPT, (range(10, 40, 10), range(40, 60, 10), range(60, 70, 10))),
        ("Loaded the encoder with missing keys: []\n", (range(1, 11), range(1, 41))),
        (OPENING.format(1) * 2, (range(1, 11), range(1, 41))),
        ("Loaded the encoder with missing keys: []\n", (range(1, 5), range(2, 4), range(1, 2), range(1, 9))),
    ],
    ids=[
        "a prompt of the shell",
        "a single line",
        "a failed launch before each",
        "a single line, a few records",
    ],
)
def test_short_openings_show_launches(tmp_path: Path, opening: str, steps: tuple[range, ...]) -> None:
    text = "".join(
        opening + "".join(f"step {step}: loss_{number % 2} 0.5\n" for step in of_launch)
        for number, of_launch in enumerate(steps)
    )
    assert read_log(tmp_path, "starting\n" + text).attempts == len(steps)


def test_settings_with_a_number_of_epochs_show_launches(tmp_path: Path) -> None:
    line = "2026-01-02 10:00:00,123 - INFO - learning_rate:1e-05,epoch:3,batch_size:32,weight_decay:0.1\n"
    launch = line * 2 + "".join(
        f"INFO - Epoch {n}/3, Train Loss: 0.5\nINFO - Epoch {n}/3, Val Loss: 0.4\n" for n in (1, 2)
    )
    assert read_log(tmp_path, launch * 3).attempts == 3
    one = line * 2 + "INFO - Epoch 1/1, Train Loss: 0.5\n"
    assert read_log(tmp_path, one * 3).attempts == 3


def test_lines_that_come_with_each_epoch_begin_no_launch(tmp_path: Path) -> None:
    text = OPENING.format(1) + "".join(
        f"Loading the data of epoch {n}\nTraining the network now\nsaving model\nEpoch {n}, loss: 0.5\n"
        for n in N
    )
    assert read_log(tmp_path, text).attempts == 1
    going_on = "".join(f"Loading the training data\nstep {n}: loss 0.5\n" for n in range(1, 9))
    assert read_log(tmp_path, going_on).attempts == 1
    no_set_up = "".join(
        f"here we go again\nand once more\nuntil the very end\nEpoch {n}, loss: 0.5\n" for n in N
    )
    assert read_log(tmp_path, no_set_up).attempts == 1


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "several numbers behind a name": (
        "".join(f"Epoch {n}: acc: [0.9, 0.8, 0.7] loss: 0.{n}\n" for n in N),
        {"acc": [1, 2, 3], "acc 2": [1, 2, 3], "acc 3": [1, 2, 3], "loss": [1, 2, 3]},
    ),
    "numbers at the end of a line": (
        "".join(f"Epoch {n} | loss: 0.5 | IoU: 0.9 0.{n}\n" for n in N),
        {"loss": [1, 2, 3], "IoU": [1, 2, 3], "IoU 2": [1, 2, 3]},
    ),
    "a list of rewards": (
        "".join(f"Episode {n} rewards: (1.5, -2.{n})\n" for n in N),
        {"rewards": [1, 2, 3], "rewards 2": [1, 2, 3]},
    ),
    "batches of an evaluation after the training's": (
        "".join(
            f"step {n}: loss 0.5\nEvaluated 1/7 with L2 loss 0.{n}\nEvaluated 7/7 with L2 loss 0.{n}\n"
            for n in N
        ),
        {"loss": [1, 2, 3], "evaluated/L2 loss": [1, 2, 3]},
    ),
    "steps that begin anew with lines of epochs between": (
        "".join(
            f"    step   20/41  loss 0.5{n}\n    step   40/41  loss 0.4{n}\n"
            f"[Tuned] Epoch {n}/9 -- train: 0.5  val: 0.6  ppl: 1.9\n"
            for n in N
        ),
        {"loss": [20, 40, 61, 81, 102, 122], **{name: [40, 81, 122] for name in ("train", "val", "ppl")}},
    ),
    "the bar of an epoch that is reset at its end": (
        "".join(
            f"Epoch {epoch}: 0%| | 0/2 [00:00<?, ?it/s]\n"
            f"Epoch {epoch}: 50%|# | 1/2 [00:01<00:01, 1.2it/s, v_num=1, loss=0.5{epoch}]\n"
            f"Epoch {epoch}: 100%|##| 2/2 [00:02<00:00, 1.2it/s, v_num=1, loss=0.4{epoch}]\n"
            f"Epoch {epoch}: 0%| | 0/2 [00:00<?, ?it/s, v_num=1, loss=0.4{epoch}, val_loss=0.3{epoch}]\n"
            for epoch in range(3)
        ),
        {"loss": [1, 2, 3, 4, 5, 6], "val_loss": [2, 4, 6]},
    ),
    "a character before the epoch": (
        "".join(f"{'0' if n == 2 else ''}epoch: {n}  loss: 0.5  time: 2.5 s\n" for n in N),
        {"loss": [1, 2, 3], "time": [1, 2, 3]},
    ),
    "headings of training and evaluation in turn": (
        "".join(
            f"Epoch {n}\n Learning rate is 0.00{n}\n  Training measures:\n    loss = 0.5, accuracy = 0.7{n}\n"
            f"  Validation measures:\n    accuracy = 0.78, AUC = 0.5\n"
            for n in N
        ),
        {
            "Learning rate": [1, 2, 3],
            **{name: [1, 2, 3] for name in ("loss", "accuracy", "validation/accuracy", "validation/AUC")},
        },
    ),
    "means in a row": (
        "".join(f"Iter [{n}/900], loss: 0.5, mean_loss: 0.5/0.4/0.{n}\n" for n in N),
        {name: [1, 2, 3] for name in ("loss", "mean_loss", "mean_loss 2", "mean_loss 3")},
    ),
    "names in brackets": (
        "".join(
            f"({n}/9) LR: 0.1 | Loss: 0.6 | Loss(text/kernel): 0.4/0.{n} | IoU(text/kernel): 0.2/0.3\n"
            for n in N
        ),
        {name: [1, 2, 3] for name in ("LR", "Loss", "Loss/text", "Loss/kernel", "IoU/text", "IoU/kernel")},
    ),
    "a report on a classification": (
        "".join(f"epoch {n}: loss 0.5\n" for n in N) + "2026-01-01 10:00:00 - INFO - Classification Report:\n"
        "              precision    recall  f1-score   support\n\n"
        "        bike       0.53      0.52      0.53        63\n"
        "     the bus       0.86      0.88      0.87       288\n\n"
        "    accuracy                           0.89      1158\n"
        "   macro avg       0.84      0.75      0.78      1158\n",
        {
            "loss": [1, 2, 3],
            "eval/accuracy": [3],
            **{
                f"eval/{name}/{metric}": [3]
                for name in ("bike", "the bus", "macro avg")
                for metric in ("precision", "recall", "f1")
            },
        },
    ),
    "a number within a name": (
        "".join(f"Episode {n}0/90 | Reward: -1.5 | Avg (10): -0.{n} | Loss: 2.5\n" for n in N),
        {name: [10, 20, 30] for name in ("Reward", "Avg", "Loss")},
    ),
    "a result below a record": (
        "".join(f"step {n}: loss 0.5\nAccuracy: 0.{n}\n" for n in N),
        {"loss": [1, 2, 3], "Accuracy": [1, 2, 3]},
    ),
    "settings below a record are none": (
        "".join(f"step {n}: loss 0.5\nlearning rate: 0.1\nsaved to model.pt, accuracy: 0.5\n" for n in N),
        {"loss": [1, 2, 3]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_at_their_steps(tmp_path: Path, case: str) -> None:
    assert_steps(tmp_path, *CASES[case])


def test_a_launch_that_resumes_in_a_later_epoch_is_at_its_steps(tmp_path: Path) -> None:
    lines = {
        epoch: f"Training at Epoch #{epoch}...\n"
        + "".join(f"\tIteration:{n} | Loss:0.5\n" for n in (0, 10, 20))
        for epoch in range(4)
    }
    run = read_log(tmp_path, "".join(lines[epoch] for epoch in (0, 1, 2, 1, 2, 3)))
    (series,) = run.data.series.values()
    assert run.attempts == 2
    assert series.step[series.attempt == 1].tolist() == [21, 31, 41, 42, 52, 62, 63, 73, 83]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("".join(f"Epoch {n}\n0.{n}5\n" for n in range(5)), {"loss": [0, 1, 2, 3, 4]}),
        ("".join(f"Epoch {n}\n0.{n}5\n0.5\n" for n in N), {"loss": [1, 2, 3], "loss_2": [1, 2, 3]}),
        ("".join(f"Evaluated {n}/287 with L2 loss 0.{n}\n" for n in N), {"evaluated/L2 loss": [0, 1, 2]}),
    ],
    ids=["bare numbers below epochs", "two numbers below each", "an evaluation alone"],
)
def test_texts_without_records_are_guessed(tmp_path: Path, text: str, expected: dict[str, list[int]]) -> None:
    assert steps_of(read_log(tmp_path, text, "loss.txt")) == expected
    (report,) = explain_files(tmp_path / "loss.txt")
    assert report.is_guessed


def test_the_last_record_before_the_end_is_not_lost(tmp_path: Path) -> None:
    run = read_log(tmp_path, f"{bar(10, 20)}\n{{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': 0.5}}\n")
    assert len(run.data.series[SeriesKey("train/loss")]) == 1

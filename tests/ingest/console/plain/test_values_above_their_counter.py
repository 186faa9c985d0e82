"""Values above the line that counts: at the epoch or step that this line states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holter.ingest import formats
from tests.support.log_runs import read_log, steps_of

N = range(6)
OPENING = "Loading the data of the model\nusing device cuda, seed set to 0\nstart of the training program\n"
_STEPS = "".join(f"step : {n} | loss : 10.{n} | tok/sec : 8204.9\n" for n in range(4))

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "results above the end of their epoch": (
        "".join(f"train loss: 0.{n}\nval acc: 0.8{n}\nFinished epoch {n}\n" for n in N),
        {"train loss": [*N], "val acc": [*N]},
    ),
    "opening lines before them": (
        "learning rate: 0.01\nNumber of images: 500\n"
        + "".join(f"train loss: 0.{n}\nval acc: 0.8{n}\nEpoch {n} done\n" for n in N),
        {"train loss": [*N], "val acc": [*N]},
    ),
    "rows above the end of their epoch": (
        "".join(
            f"A Loss : 2.{n} | B Loss : 1.{n}\nmAP : 0.{n} | Recall : 0.2\n----- end of epoch {n} -----\n"
            for n in N
        ),
        {name: [*N] for name in ("A Loss", "B Loss", "mAP", "Recall")},
    ),
    "unknown names above a completed iteration": (
        "".join(f"Fraction of games: 0.{n}1\nModels so far: {n}\nIteration {n} complete\n" for n in N),
        {"Fraction of games": [*N], "Models so far": [*N]},
    ),
    "an epoch and nothing else below its loss": (
        "".join(f"loss: 2.{n}\nacc: 0.{n}\n\nepoch {n}\n" for n in N),
        {"loss": [*N], "acc": [*N]},
    ),
    "an epoch of all in Chinese": (
        "".join(f"训练图片数： 55000\n平均训练损失： 1.{n}\n准确率： 0.{n}5\n第{n}/10轮\n" for n in N),
        {"平均训练损失": [*N], "准确率": [*N]},
    ),
    "losses of batches above the end of their epoch": (
        "".join(
            "".join(f"Loss: {9 - n}.{b:02}\n" for b in range(20)) + f"Epoch {n}/3 complete.\n"
            for n in (1, 2, 3)
        ),
        {"Loss": [*range(1, 61)]},
    ),
    "an evaluation below the end of an epoch whose loss is above it": (
        "".join(f"train loss: 0.{n}\nEpoch {n} finished\ntest accuracy: 0.5{n}\n" for n in N),
        {"train loss": [*N], "test accuracy": [*N]},
    ),
    "a heading of the evaluation among them": (
        "".join(
            f"loss: 1.{n}\nEvaluating ...\nacc: 0.{n}\nloss: 2.{n}\n---- Epoch {n} completed ----\n"
            for n in N
        ),
        {"loss": [*N], "evaluating/acc": [*N], "evaluating/loss": [*N]},
    ),
    "a heading of the evaluation above them": (
        "".join(f"----- Validation -----\nacc: 0.{n}\nFinished epoch {n}\n" for n in N),
        {"validation/acc": [*N]},
    ),
    "an evaluation above the first step": (
        f"validation loss : 10.9\nHellaSwag accuracy : 2435/10042=0.2425\n{_STEPS}"
        "validation loss : 5.4\nHellaSwag accuracy : 2535/10042=0.2525\n",
        {
            "validation loss": [0, 3],
            "HellaSwag accuracy": [0, 3],
            "loss": [*range(4)],
            "tok/sec": [*range(4)],
        },
    ),
    "an evaluation between the announced epoch and its first step": (
        "Epoch [1/9]\n"
        + "".join(
            f"accuracy: 8{n}.5; recall: 9{n}.1\n"
            f"  BIRD: precision: 7{n}.2; recall: 6{n}.3\n"
            f"Iter: {100 * n} | Train Loss: 2.{n} | Dev Loss: 3.{n}\n"
            for n in N
        ),
        {
            name: [*range(0, 600, 100)]
            for name in ("accuracy", "recall", "BIRD/precision", "BIRD/recall", "Train Loss", "Dev Loss")
        },
    ),
    "results between the announced epoch and a step without an evaluation": (
        "Epoch [1/9]\naccuracy: 8.5\n"
        + "".join(f"Iter: {100 * n} | Train Loss: 2.{n}\naccuracy: 1{n}.5\n" for n in N[1:]),
        {"accuracy": [1, *range(100, 600, 100)], "Train Loss": [*range(100, 600, 100)]},
    ),
    "an end of each epoch above its results": (
        "".join(f"Epoch {n}/10 finished. 12.3078s elapsed.\naccuracy: 0.{n}\n" for n in N),
        {"accuracy": [*N]},
    ),
    "an evaluation before the first epoch, in the same words": (
        "Test Error: Accuracy: 9.5%, Avg loss: 2.3\n"
        + "".join(
            f"Epoch {n}\n-------\nloss: 2.{n} train acc: 0.5\nTest Error: Accuracy: 6{n}%, Avg loss: 1.{n}\n"
            for n in N
        ),
        {
            "loss": [*N],
            "train acc": [*N],
            "test/Accuracy": [*N],
            "test/Avg loss": [*N],
            "initial/test/Accuracy": [0],
            "initial/test/Avg loss": [0],
        },
    ),
    "a rate before the first epoch, in the same words": (
        "lr: 0.01\n" + "".join(f"epoch {n}\nlr: 0.0{n}\ntrain loss: 2.{n}\n" for n in N),
        {"lr": [*N], "train loss": [*N]},
    ),
    "the memory right above each step with values of its own": (
        "".join(f"memory: 1{n}92\nstep: {n}, loss: 9.{n}\n" for n in N),
        {"memory": [*N], "loss": [*N]},
    ),
    "the memory and a time, with an evaluation between some of them": (
        "".join(
            f"memory: 1{n}92\ntime: {n}.5\nepoch: {n}, loss: 9.{n}\n"
            + (f"val loss: 8.{n}\n" if n % 2 == 0 else "")
            for n in N
        ),
        {"memory": [*N], "time": [*N], "loss": [*N], "val loss": [0, 2, 4]},
    ),
    "the memory before the training and behind each step": (
        "memory: 92\nStart\n" + "".join(f"step: {n}, loss: 9.{n}\nmemory: 1{n}92\n" for n in N),
        {"memory": [*N], "loss": [*N]},
    ),
    "an accuracy before the training and behind each step": (
        "accuracy: 0.1\n" + "".join(f"step: {n}, loss: 9.{n}\naccuracy: 0.{n}\n" for n in N),
        {"accuracy": [*N], "loss": [*N], "initial/accuracy": [0]},
    ),
    "losses before the first step, which announces those below it": (
        "Train loss: 9.5\nTest loss: 9.6\n"
        + "".join(f"Step {n} of 40:\nTrain loss: 1.{n}\nTest loss: 2.{n}\n" for n in N),
        {"Train loss": [*N], "Test loss": [*N], "initial/Train loss": [0], "initial/Test loss": [0]},
    ),
    "values above each hundredth step": (
        "".join(f"loss: 2.{n}\nmean reward: 0.{n}\nstep: {100 * n}\n" for n in range(1, 7)),
        {name: [*range(100, 601, 100)] for name in ("loss", "mean reward")},
    ),
    "the rest of another text that states its steps": (
        "".join(f"loss: 2.{n}\nmean reward: 0.{n}\nstep: {5000 + 100 * n}\n" for n in range(1, 7)),
        {name: [*range(5100, 5600, 100)] for name in ("loss", "mean reward")},
    ),
    "the rest of another text": (
        "loss: 2.5\n" + "".join(f"epoch {n}\nloss: 2.{n}\n" for n in range(3, 8)),
        {"loss": [*range(3, 8)]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_at_the_counter_that_they_belong_to(tmp_path: Path, case: str) -> None:
    text, expected = CASES[case]
    run = read_log(tmp_path, text)
    assert steps_of(run) == expected
    assert run.attempts == 1


@pytest.mark.parametrize("case", CASES)
def test_the_values_are_the_same_however_the_text_comes(reading: Any, case: str) -> None:
    content, chosen = CASES[case][0].encode(), formats()["key-value"]
    complete = reading.read_growing("train.log", content, [len(content)], chosen=chosen)
    sizes = [*range(0, len(content), 7), len(content)]
    assert reading.read_growing("train.log", content, sizes, chosen=chosen).points == complete.points
    assert reading.read_restarted("train.log", content, every=1, chosen=chosen).points == complete.points


def test_each_launch_has_its_values_above_its_counters(tmp_path: Path) -> None:
    text, expected = CASES["results above the end of their epoch"]
    run = read_log(tmp_path, (OPENING + text) * 2)
    assert run.attempts == 2
    assert steps_of(run) == {name: steps * 2 for name, steps in expected.items()}


def test_launches_with_an_evaluation_above_each_step_are_told_apart(tmp_path: Path) -> None:
    text, expected = CASES["an evaluation between the announced epoch and its first step"]
    alone = OPENING + "Epoch [1/9]\naccuracy: 8.5; recall: 9.1\n"
    run = read_log(tmp_path, OPENING + text + alone + OPENING + text)
    assert run.attempts == 3
    assert len(steps_of(run)["accuracy"]) == 2 * len(N) + 1
    assert steps_of(run)["Dev Loss"] == expected["Dev Loss"] * 2


def test_launches_with_the_memory_above_each_step_are_told_apart(tmp_path: Path) -> None:
    text = "".join(f"memory: 1{n}92\nstep: {n}, loss: 9.{n}\n" for n in (0, 100, 200))
    run = read_log(tmp_path, f"Start\n{text}" * 3)
    assert run.attempts == 3
    assert steps_of(run) == {name: [0, 100, 200] * 3 for name in ("loss", "memory")}


def test_losses_above_the_first_step_are_not_those_of_the_steps(tmp_path: Path) -> None:
    text = "".join(f"Step {n} of 40:\nTrain loss: 1.{n}\n" for n in N)
    run = read_log(tmp_path, f"Train loss: 9.5\n{text}")
    [series] = run.data.series.values()
    assert series.value.tolist() == [float(f"1.{n}") for n in N]


def test_a_test_behind_the_last_counter_is_read(tmp_path: Path) -> None:
    text = "".join(f"train loss: 0.{n}\ntest acc: 0.8{n}\nFinished epoch {n}\n" for n in N)
    run = read_log(tmp_path, text + "test acc: 0.95\n")
    assert 0.95 in [value for series in run.data.series.values() for value in series.value.tolist()]


def test_many_lines_above_the_first_counter_are_not_kept(reading: Any) -> None:
    text = "".join(f"Loss: 1.{n}\n" for n in range(500)) + "Epoch 1 complete\n" * 2 + "Loss: 0.5\n"
    chosen = formats()["key-value"]
    points = reading.read_growing("train.log", text.encode(), [len(text)], chosen=chosen).points
    assert len(points) < 70


def _pass(n: int, batch: int, heading: str = "") -> str:
    rows = "".join(f"{name} : {n}{digit}.2%\n" for name, digit in (("sand", 1), ("gravel", 2)))
    results = f"Evaluating\nTest IoU per class:\n{rows}mean val iou is {n}3.1\nMean val loss is 1.{n}\n"
    return f"{heading}{results}epoch {n // 3} iter {batch}, loss: 0.{9 - n}\nno errors\n"


@pytest.mark.parametrize("heading", ["", "#### Epoch : {}\n"])
def test_results_above_the_first_batch_and_each_later_one_are_of_them(tmp_path: Path, heading: str) -> None:
    text = "".join(_pass(n, n % 3 * 50, heading.format(n // 3 + 1) if n % 3 == 0 else "") for n in range(6))
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps["Test IoU/sand"] == steps["loss"]
    [loss] = [points.value.tolist() for key, points in run.data.series.items() if "val loss" in key.metric]
    assert loss == [float(f"1.{n}") for n in range(6)]


def test_results_above_the_first_batch_alone_are_of_the_untrained_model(tmp_path: Path) -> None:
    batches = "".join(f"epoch 0 iter {n}, loss: 0.{9 - n // 50}\n" for n in (0, 50, 100))
    run = read_log(tmp_path, f"val acc: 0.1\n{batches}val acc: 0.5\n")
    assert steps_of(run)["val acc"] == [0, 100]


def test_results_above_the_first_batch_of_each_epoch_are_of_the_epoch_above(tmp_path: Path) -> None:
    text = "".join(f"val acc: 0.{n}\nepoch {n} iter 0, loss: 0.{9 - n}\n" for n in range(1, 6))
    steps = steps_of(read_log(tmp_path, text))
    assert steps["val acc"] == steps["loss"][:-1]  # that above the first is apart, at the same step

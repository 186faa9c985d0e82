"""What was measured before the training, above the first line that states a position."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holter.ingest import formats
from holter.types import SeriesKey
from tests.support.log_runs import assert_steps, read_log, steps_of

N, N0 = range(1, 6), range(5)
EPOCHS = "".join(f"Epoch {n}: train loss {2 - n / 8}, val loss {2.25 - n / 8}\n" for n in N)
TRAINED = {"train loss": [*N], "val loss": [*N]}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Initial validation loss: 2.375", ["Initial validation loss"]),
        (
            "[Initial] validation: accuracy=0.25, loss=2.5",
            ["initial/validation/accuracy", "initial/validation/loss"],
        ),
        ("Before training: loss = 2.5, acc = 0.125", ["initial/loss", "initial/acc"]),
        ("Accuracy before training: 0.125", ["Accuracy before training"]),
        ("Test accuracy at initialization: 12.5%", ["Test accuracy at initialization"]),
    ],
)
def test_it_is_at_the_step_0(tmp_path: Path, line: str, names: list[str]) -> None:
    assert_steps(tmp_path, f"Using device: cpu\n{line}\n{EPOCHS}", TRAINED | {name: [0] for name in names})


@pytest.mark.parametrize(
    "line", ["Initial learning rate: 0.125", "Initial temperature: 0.5", "Loss weights before training: none"]
)
def test_settings_are_none_of_it(tmp_path: Path, line: str) -> None:
    assert steps_of(read_log(tmp_path, f"Using device: cpu\n{line}\n{EPOCHS}")) == TRAINED


def test_that_of_each_launch_is_its_own(tmp_path: Path) -> None:
    opening = "Reading the images of data/train\nBuilding the network of 12 layers\nUsing device: cpu\n"
    text = "".join(f"{opening}Initial validation loss: 2.{n}\n{EPOCHS}" for n in (1, 2, 3))
    run = read_log(tmp_path, text)
    initial = run.data.series[SeriesKey("Initial validation loss")]
    assert (initial.attempt.tolist(), initial.value.tolist()) == ([0, 1, 2], [2.1, 2.2, 2.3])
    assert run.attempts == 3


_BATCHES = "".join(
    "".join(f"Epoch {n} [{b}/30] loss {2 - n / 8 - b / 512}\n" for b in (10, 20, 30))
    + f"Validation results:\nloss = {2.25 - n / 8}\nacc = 0.{n}\n"
    for n in N
)
_STEPS = "".join(
    "".join(f"iter {10 * n + b}: loss {4 - n / 8}\n" for b in (-5, 0)) + f"eval loss 3.{n}, eval acc 0.{n}\n"
    for n in N
)
_BELOW_HEADINGS = "".join(
    f"Epoch {n}/5 - loss: {2 - n / 8} lr: 0.001\nEvaluation:\n  loss: {2.25 - n / 8}\n  accuracy: 0.{n}\n"
    for n in N
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            f"Sanity check: val loss 2.5\n{EPOCHS}",
            {"train loss": [*N], "val loss": [0, *N]},
            id="sanity-check",
        ),
        pytest.param(
            f"Zero-shot evaluation:\nloss: 2.5\naccuracy: 0.125\n{EPOCHS}",
            TRAINED | {"evaluation/loss": [0], "evaluation/accuracy": [0]},
            id="below-a-heading",
        ),
        pytest.param(
            f"Evaluation:\n  loss: 2.5\n  accuracy: 0.125\n{_BELOW_HEADINGS}",
            {name: [*N] for name in ("loss", "lr")}
            | {f"evaluation/{name}": [0, *N] for name in ("loss", "accuracy")},
            id="below-a-heading-that-comes-again",
        ),
        pytest.param(
            f"Validation results:\nloss = 2.5\nacc = 0.125\n{_BATCHES}",
            {name: [*range(10, 151, 10)] for name in ("loss", "Epoch")}
            | {f"validation/{name}": [*range(0, 151, 30)] for name in ("loss", "acc")},
            id="before-batches",
        ),
        pytest.param(
            f"eval loss 4.5, eval acc 0.125\n{_STEPS}",
            {"loss": [*range(5, 51, 5)]}
            | {name: [0, 10, 20, 30, 40, 50] for name in ("eval loss", "eval acc")},
            id="before-steps",
        ),
    ],
)
def test_an_evaluation_above_the_first_epoch_is_at_the_step_0(
    tmp_path: Path, text: str, expected: dict[str, list[int]]
) -> None:
    assert_steps(tmp_path, f"Using device: cpu\n{text}", expected)


@pytest.mark.parametrize(
    "text",
    [
        f"Sanity check: val loss 2.5\n{EPOCHS}",
        f"Validation results:\nloss = 2.5\nacc = 0.125\n{_BATCHES}",
        f"eval loss 4.5, eval acc 0.125\n{_STEPS}",
        f"# Epoch 25/30 loss: 0.5\n{EPOCHS}",
        f"{EPOCHS}Best epoch: 3, val loss 1.5\n",
    ],
)
def test_it_is_the_same_however_the_text_comes(reading: Any, text: str) -> None:
    content, chosen = f"Using device: cpu\n{text}".encode(), formats()["key-value"]
    complete = reading.read_growing("train.log", content, [len(content)], chosen=chosen)
    sizes = [*range(0, len(content), 7), len(content)]
    assert reading.read_growing("train.log", content, sizes, chosen=chosen).points == complete.points
    assert reading.read_restarted("train.log", content, every=1, chosen=chosen).points == complete.points


@pytest.mark.parametrize(
    "text",
    [
        "val loss: 0.5\n" + "".join(f"Epoch {n}\nloss: 0.{n}\nval loss: 0.{n}5\n" for n in range(3, 8)),
        "eval loss 0.5\n"
        + "".join(f"iter {n}: loss 0.{n}\neval loss 0.{n}5\n" for n in range(300, 800, 100)),
    ],
)
def test_the_rest_of_another_text_is_not_measured_before_the_training(tmp_path: Path, text: str) -> None:
    assert all(0 not in steps for steps in steps_of(read_log(tmp_path, text)).values())


def _epochs(launch: int) -> str:
    return "".join(f"Epoch {n}: train loss {2 - n / 8}\nVal loss: 2.{launch}{n}\n" for n in N)


def _counted_batches(launch: int) -> str:
    return "".join(
        "".join(f"step {10 * n + b}: loss {4 - n / 8}\n" for b in (-5, 0)) + f"Val loss: 2.{launch}{n}\n"
        for n in N
    )


@pytest.mark.parametrize("opening", ["Starting training\n", "Loading oaks\nModel of 3 layers\nDevice: cpu\n"])
@pytest.mark.parametrize("training", [_epochs, _counted_batches])
def test_the_initial_result_of_each_launch_is_at_the_step_0(
    tmp_path: Path, opening: str, training: Callable[[int], str]
) -> None:
    text = "".join(f"{opening}Val loss: 3.{launch}\n{training(launch)}" for launch in (1, 2, 3))
    run = read_log(tmp_path, text)
    found = run.data.series[SeriesKey("Val loss")]
    assert run.attempts == 3
    assert found.attempt.tolist() == [number for number in (0, 1, 2) for _ in range(6)]
    assert found.value[found.step == 0].tolist() == [3.1, 3.2, 3.3]


def test_that_of_each_launch_has_its_name_above_an_epoch_0(tmp_path: Path) -> None:
    epochs = "".join(f"Epoch {n}\ntrain loss: {2 - n / 8}\nval loss: {2.25 - n / 8}\n" for n in range(3))
    run = read_log(tmp_path, "".join(f"Starting training\nval loss: 3.{n}\n{epochs}" for n in (1, 2)))
    found = run.data.series[SeriesKey("initial/val loss")]
    assert (found.attempt.tolist(), found.value.tolist()) == ([0, 1], [3.1, 3.2])


AGAIN: dict[str, tuple[str, dict[str, list[int]]]] = {
    "a result behind each epoch": (
        "Accuracy on the test images: 12.5%\n"
        + "".join(f"Epoch {n}, Loss: 2.{n}\nAccuracy on the test images: 5{n}.5%\n" for n in N),
        {"Loss": [*N], "Accuracy on the test images": [0, *N]},
    ),
    "results now and then between steps": (
        "PSNR: 9.5, SSIM: 0.25\n"
        + "".join(
            f"iter {n * 50}, loss: 0.{n:02}1\n" + f"PSNR: 2{n}.5, SSIM: 0.5{n}\n" * (n % 4 == 0)
            for n in range(1, 13)
        ),
        {"loss": [*range(50, 650, 50)], "PSNR": [0, 200, 400, 600], "SSIM": [0, 200, 400, 600]},
    ),
    "results below one another, above the epoch 0": (
        "mAP: 0.01\nrecall: 0.02\n"
        + "".join(f"Epoch {n}\nloss: 2.{n}\nmAP: 0.{n}\nrecall: 0.3{n}\n" for n in N0),
        {
            **{name: [*N0] for name in ("loss", "mAP", "recall")},
            **{f"initial/{name}": [0] for name in ("mAP", "recall")},
        },
    ),
    "the values of each epoch": (
        f"train loss 2.25, val loss 2.5\n{EPOCHS}",
        {"train loss": [0, *N], "val loss": [0, *N]},
    ),
    "the rest of another text": (
        "PSNR: 9.5\n"
        + "".join(f"iter {5000 + n * 50}, loss: 0.{n:02}1\n" + f"PSNR: 2{n}.5\n" * (n % 3 == 0) for n in N),
        {"loss": [*range(5050, 5300, 50)], "PSNR": [5150]},
    ),
}


@pytest.mark.parametrize("case", AGAIN)
def test_results_of_which_the_like_come_again_are_at_the_step_0(
    tmp_path: Path, reading: Any, case: str
) -> None:
    text, expected = AGAIN[case]
    assert_steps(tmp_path, f"Using device: cpu\n{text}", expected)
    content = text.encode()
    chosen, complete = reading.format_of("train.log", content), reading.read_complete("train.log", content)
    assert reading.read_restarted("train.log", content, every=1, chosen=chosen).points == complete.points


def evaluated_and_trained(heading: str, back: str, *, first: int = 0) -> str:
    """Epochs of which the training and the evaluation below `heading` are in the same words."""
    row = "epoch: {}, loss is: {}, acc is: {}\n"
    evaluated = "".join(
        row.format(n, f"{2.5 - n / 8}", f"0.{n}5")
        + f"{heading}\n"
        + row.format(n, f"{2.75 - n / 8}", f"0.{n}25")
        + f"{back}\n"
        for n in range(first, first + 4)
    )
    return f"{heading}\n{row.format(first, 3.5, 0.125)}{evaluated}"


EVALUATED_FIRST = ["initial/testing/loss", "initial/testing/acc"]


@pytest.mark.parametrize(
    ("heading", "back"),
    [
        ("testing in eval mode……", "Now continue training……"),
        ("testing …", "continue training"),
        ("testing ...", "resuming training ..."),
    ],
)
def test_an_evaluation_in_the_words_of_the_training_is_initial(
    tmp_path: Path, reading: Any, heading: str, back: str
) -> None:
    text, epochs = evaluated_and_trained(heading, back), [0, 1, 2, 3]
    trained = {name: epochs for name in ("loss", "acc", "testing/loss", "testing/acc")}
    assert_steps(tmp_path, text, trained | {name: [0] for name in EVALUATED_FIRST})
    content = text.encode()
    chosen, complete = reading.format_of("train.log", content), reading.read_complete("train.log", content)
    assert reading.read_restarted("train.log", content, every=1, chosen=chosen).points == complete.points


def test_an_evaluation_before_an_epoch_1_is_at_the_step_0(tmp_path: Path) -> None:
    run = read_log(tmp_path, evaluated_and_trained("testing ...", "Starting training...", first=1))
    assert steps_of(run)["testing/loss"] == [0, 1, 2, 3, 4]
    assert steps_of(run)["loss"] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "rows",
    [
        "".join(f"epoch: {n}, loss is: {3 - n / 8}\n" for n in range(5)),
        "epoch: 0, loss is: 3.5\n",
        "epoch: 0, loss is: 3.5\nepoch: 0, loss is: 3.25\nepoch: 1, loss is: 3.0\n",
    ],
)
def test_an_epoch_below_a_heading_that_comes_once_is_of_the_training(tmp_path: Path, rows: str) -> None:
    run = read_log(tmp_path, f"testing ...\n{rows}")
    [loss] = [points for key, points in run.data.series.items() if str(key) == "loss"]
    assert 3.5 in loss.value.tolist() or loss.value[0] == 3.0
    assert all(str(key).startswith("loss") for key in run.data.series)


@pytest.mark.parametrize(
    "first", ["acc 0.5\nep 93720368547758070K\n", "Test accuracy: 0.5\nEpoch 93720368547758070K loss 0.9\n"]
)
def test_a_step_that_is_too_large_below_results_leaves_the_lines_below_it(tmp_path: Path, first: str) -> None:
    run = read_log(tmp_path, f"{first}Epoch 1 loss 0.5\nEpoch 2 loss 0.4\n")
    assert steps_of(run)["loss"] == [1, 2]
    [problem] = run.unreadable
    assert "expected a step or an epoch, found a larger number" in problem.reason


def test_a_setting_that_is_too_large_for_a_step_leaves_the_lines_below_it(tmp_path: Path) -> None:
    settings = "steps = 9\n" * 3 + "steps = 9999999999999999999\n"
    run = read_log(tmp_path, f"{settings}Epoch 1 loss 0.5\nEpoch 2 loss 0.4\n")
    assert steps_of(run)["loss"] == [1, 2]

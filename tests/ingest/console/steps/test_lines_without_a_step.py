"""Lines that state no step of their own, or that of something else, next to the rows that count."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 7)


def _validated(steps: range, first: int = 0) -> str:
    """An epoch of steps and the batches of its validation below them."""
    trained = "".join(f"step {first + n} loss 2.{first + n:03}\n" for n in steps)
    return trained + "Validation:\n" + "".join(f"Batch {n}/3 loss 3.{first + n:03}\n" for n in range(1, 4))


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "the count of an evaluation that the training has passed": (
        "".join(
            "".join(f"Epoch: [{e}] [{b:3}/300] loss: 2.{e}{b:03}\n" for b in range(0, 300, 50))
            + "".join(f"Eval iter: {b}\n" for b in (0, 100, 200))
            + f"mAP: 0.{e}1\n"
            for e in range(1, 4)
        ),
        {
            "loss": [e * 300 + b for e in range(3) for b in range(0, 300, 50)],
            "Epoch": [e * 300 + b for e in range(3) for b in range(0, 300, 50)],
            "eval/mAP": [250, 550, 850],
        },
    ),
    "batches of a validation below steps that no line has a total of": (
        "".join(_validated(range(5, 45, 5), 40 * e) for e in range(3)),
        {
            "loss": [*range(5, 125, 5)],
            "validation/loss": [40 * e + b for e in (1, 2, 3) for b in range(3)],
        },
    ),
    "steps that begin anew behind the batches of each validation": (
        "".join(f"{_validated(range(0, 40, 5))}" for e in range(3)),
        {
            "loss": [36 * e + b for e in range(3) for b in range(0, 40, 5)],
            "validation/loss": [36 * e + 35 + b for e in range(3) for b in range(3)],
        },
    ),
    "updates of several batches beside these, in the same epochs": (
        "".join(
            "".join(f"E={e} B={b} ppl={900 - b}.5\n" for b in range(60 * e + 10, 60 * e + 70, 10))
            + f"Checkpoint Updates={30 * (e + 1)} Epoch={e} dev-ppl=7{e}.5\n"
            for e in range(4)
        ),
        {
            "ppl": [*range(10, 250, 10)],
            "Epoch": [*range(10, 250, 10)],
            "dev-ppl": [60, 120, 180, 240],
        },
    ),
    "a rate and a time above each epoch": (
        "Using the first device\n"
        + "".join(f"lr 0.0{n}\nTime per epoch: 3.{n}\nEpoch {n}: loss 2.{n} acc 0.{n}\n" for n in N),
        {"lr": [*N], "Time per epoch": [*N], "loss": [*N], "acc": [*N]},
    ),
    "a rate alone above each epoch": (
        "".join(f"learning_rate = 0.0{n}\nEpoch {n}/6 - loss: 2.{n}\n" for n in N),
        {"learning_rate": [*N], "loss": [*N]},
    ),
    "a rate behind each epoch": (
        "".join(f"Epoch {n}/6 - loss: 2.{n}\nCurrent learning rate: 0.0{n}\n" for n in N),
        {"Current learning rate": [*N], "loss": [*N]},
    ),
    "the norm of gradients above each epoch, and a test below it": (
        "".join(f"grad norm: 1.{n}\nEpoch {n}/6 - loss: 2.{n}\ntest acc: 0.{n}1\n" for n in N),
        {"grad norm": [*N], "loss": [*N], "test acc": [*N]},
    ),
    "parts of each epoch above its line": (
        "".join(
            "".join(
                f"0.{part}0417283 perplexity: 2{9 - n}{part}.5 speed: 81{part}0.5 wps\n" for part in (0, 3, 7)
            )
            + f"Train perplexity at epoch {n}: 1{9 - n}0.5\n"
            for n in range(5)
        ),
        {
            "perplexity": [*range(1, 16)],
            "speed": [*range(1, 16)],
            "Train perplexity": [3, 6, 9, 12, 15],
        },
    ),
    "several lines of each batch above the line of their epoch": (
        "".join(
            "".join(f"D loss: 0.5{n}\nG loss: 0.8{n}\n" for n in range(12))
            + f"Epoch {e} finished, mean D loss: 0.5{e}\n"
            for e in range(1, 4)
        ),
        {"D loss": [*range(1, 37)], "G loss": [*range(1, 37)], "mean D loss": [12, 24, 36]},
    ),
    "the terms of an autoencoder's loss above the line of their epoch": (
        "".join(
            "".join(f"BCE:  tensor(60.5{n})\nKLD:  tensor(8.2{n})\n" for n in range(12))
            + f"epoch [{e}/3], loss:68.{e}\n"
            for e in range(1, 4)
        ),
        {"BCE": [*range(1, 37)], "KLD": [*range(1, 37)], "loss": [12, 24, 36]},
    ),
    "a tensor with an unknown name below every twentieth epoch": (
        "".join(f"Training epoch {20 * n}\nMisfit tensor(0.{n}31)\n" for n in N),
        {"Misfit": [20 * n for n in N]},
    ),
    "a call as the name of what it returns": (
        "".join(f"Epoch {n}\nmse(forecast, truth) = 0.{n}\nmse(y, y_hat) = 0.3{n}\n" for n in N),
        {"mse(forecast, truth)": [*N], "mse(y, y_hat)": [*N]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_value_is_at_its_step(tmp_path: Path, case: str) -> None:
    text, expected = CASES[case]
    run = read_log(tmp_path, text)
    assert steps_of(run) == expected
    assert run.attempts == 1


def test_a_rate_that_never_changes_is_a_setting(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"Epoch {n}/6 - loss: 2.{n}\nlearning rate: 0.1\n" for n in N))
    assert steps_of(run) == {"loss": [*N]}


def test_thresholds_before_a_score_are_no_parts_of_epochs(tmp_path: Path) -> None:
    text = "".join(f"0.5 cost: 0.{n}2\n0.75 cost: 0.{n}3\nepoch {n}: loss 2.{n}\n" for n in N)
    assert steps_of(read_log(tmp_path, text))["loss"] == [*N]


def test_steps_that_begin_anew_where_the_training_went_on_are_another_launch(tmp_path: Path) -> None:
    text = _validated(range(5, 45, 5)) + _validated(range(5, 45, 5), 40)
    assert read_log(tmp_path, text * 2).attempts == 2


@pytest.mark.parametrize(("length", "distance"), [(361, 10), (360, 10), (197, 25), (640, 100)])
def test_epochs_are_as_long_as_lines_that_count_on_say(tmp_path: Path, length: int, distance: int) -> None:
    at = range(distance, 4 * length, distance)
    text = "".join(
        f"(epoch: {(step - 1) // length + 1}, iters: {(step - 1) % length + 1}, time: 0.1) G: 0.{step}\n"
        for step in at
    )
    assert steps_of(read_log(tmp_path, text))["G"] == [*at]


def test_losses_of_clients_above_an_epoch_are_of_this(tmp_path: Path) -> None:
    clients = "".join(f"Client {c} train loss: 0.5{c}\nClient {c} acc: 0.6{c}\n" for c in range(10))
    run = read_log(tmp_path, "".join(f"{clients}Epoch {e}: test loss: 0.4{e}\n" for e in range(1, 5)))
    assert {tuple(steps) for steps in steps_of(run).values()} == {(1, 2, 3, 4)}


def test_many_lines_behind_all_steps_in_their_words_are_steps(tmp_path: Path) -> None:
    launch = "Adam\n" + "".join(f"Step: {n}0, loss: 2.{n}01, mu: 0.{n}\n" for n in range(6))
    launch += "L-BFGS\n" + "".join(f"loss: 1.{n}02, mu: 0.5{n}\n" for n in range(20))
    first = [*range(0, 60, 10), *range(51, 63)]  # the first eight may be of processes
    assert steps_of(read_log(tmp_path, launch))["loss"] == first
    run = read_log(tmp_path, launch * 2)
    assert run.attempts == 2
    assert steps_of(run)["loss"] == [*first, *range(0, 60, 10), *range(51, 71)]


def test_lines_of_processes_below_each_step_are_no_steps(tmp_path: Path) -> None:
    text = "".join(
        f"step {n}, loss: 2.{n}\n" + "".join(f"loss: 2.{n}{rank:02}\n" for rank in range(16)) for n in N
    )
    assert steps_of(read_log(tmp_path, text))["loss"] == [*N]


def test_an_epoch_may_have_hundreds_of_lines_above_its_end(tmp_path: Path) -> None:
    text = "Loading 40 images\n" + "".join(
        "".join(f"Batch loss: {2 / epoch + at / 1000:.4f}\n" for at in range(300))
        + f"Validation loss: {3 / epoch:.4f}\nEpoch {epoch} finished\n"
        for epoch in (1, 2, 3)
    )
    expected = {"Batch loss": [*range(1, 901)], "Validation loss": [300, 600, 900]}
    assert_steps(tmp_path, text, expected)

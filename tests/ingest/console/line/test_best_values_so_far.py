"""The best value so far: what improved, with its old value, and what is above the line of its epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.types import SeriesKey
from tests.support.log_runs import read_log, steps_of

N = range(1, 6)
LOSSES = ["inf", "0.9312", "0.7255", "0.5123", "0.4447", "0.4119"]


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("val_loss improved ({old} -> {new}), saving model", "val_loss"),
        ("Validation loss improved from {old} to {new}", "Validation loss"),
        ("The validation loss decreased ({old} --> {new}).  Saving model ...", "validation loss"),
        ("Accuracy improved: {old} => {new}", "Accuracy"),
        ("[INFO] mIoU has increased from {old} to {new}, new best", "mIoU"),
        ("Epoch {n}: val_loss improved from {old} to {new}, saving model to best.h5", "val_loss"),
    ],
)
def test_the_new_value_of_a_metric_that_improved_is_read(tmp_path: Path, form: str, name: str) -> None:
    lines = (form.format(old=LOSSES[n - 1], new=LOSSES[n], n=n) for n in N)
    text = "".join(f"Epoch {n}/5 loss: 1.{n}\n{line}\n" for n, line in zip(N, lines, strict=True))
    run = read_log(tmp_path, f"Using device: cpu\n{text}")
    assert steps_of(run) == {"loss": [*N], f"best/{name}": [*N]}
    values = run.data.series[SeriesKey(f"best/{name}")].value.tolist()
    assert values == [float(loss) for loss in LOSSES[1:]]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Epoch {n} | Loss=0.2{n} | Mae=0.3{n} | Psnr=9.{n} | Best=0.2{n}", "Best"),
        ("Epoch {n} | Loss=0.2{n} | Psnr=9.{n} | Best=9.{n}", "best/Psnr"),
        ("Epoch {n}: loss 0.2{n}, mae 0.3{n}, psnr 9.{n} (best 9.{n})", "best/psnr"),
    ],
)
def test_a_best_value_behind_a_row_of_metrics_names_none_of_them(
    tmp_path: Path, line: str, name: str
) -> None:
    run = read_log(tmp_path, "".join(line.format(n=n) + "\n" for n in N))
    assert [each for each in steps_of(run) if "best" in each.lower()] == [name]


@pytest.mark.parametrize(
    "behind", ["New best model saved with ROUGE-2: ", "best checkpoint was saved with f1 = "]
)
def test_what_a_model_was_saved_with_is_a_best_value(tmp_path: Path, behind: str) -> None:
    text = "".join(
        f"Epoch {n} - train loss: 1.{n}\nEpoch {n} - val f1: 0.{n}\nEpoch {n} - {behind}0.{n}\n" for n in N
    )
    names = {*steps_of(read_log(tmp_path, text))} - {"train loss", "val f1"}
    assert names == {"best/ROUGE-2" if "ROUGE" in behind else "best/f1"}


def test_a_rate_that_was_reduced_is_no_best_value(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}/5 loss: 1.{n}\nlr reduced from 0.{n}2 to 0.{n}1\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {name: [*N] for name in ("loss", "lr")}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Best model saved! Acc={acc}", ["best/Acc"]),
        ("Validation loss decreased ({old} --> {loss}). Saving model ...", ["best/Validation loss"]),
    ],
)
def test_what_repeats_a_value_of_the_epoch_below_it_is_of_that(
    tmp_path: Path, line: str, names: list[str]
) -> None:
    text = ""
    for n in N:
        best = line.format(acc=f"0.{n}12", old=LOSSES[n - 1], loss=LOSSES[n])
        text += f"{best}\nEpoch {n}/5 loss={LOSSES[n]}00 acc=0.{n}12\n"
    run = read_log(tmp_path, f"Using device: cpu\n{text}")
    assert steps_of(run) == {name: [*N] for name in ("loss", "acc", *names)}


@pytest.mark.parametrize(
    ("form", "best"),
    [
        ("Epoch {n}: loss 1.{n}, acc 0.{n}\n", "Best epoch: 3, acc 0.35\n"),
        ("Epoch {n}: loss 1.{n}, acc 0.{n}\n", "Best acc 0.35 at epoch 3\n"),
        ("iter {n}: loss 1.{n}, acc 0.{n}\n", "Best iteration: 3, acc 0.35\n"),
        ("[{n}]\ttrain-acc:1.{n}\teval-acc:0.{n}\n", "Stopping. Best iteration:\n[3]\ttrain-acc:1.35\n"),
    ],
)
def test_the_best_step_is_the_one_that_its_line_names(tmp_path: Path, form: str, best: str) -> None:
    run = read_log(tmp_path, "Using device: cpu\n" + "".join(form.format(n=n) for n in N) + best)
    assert run.attempts == 1
    assert [steps for name, steps in steps_of(run).items() if "best" in name.lower()] == [[3]]


def test_a_best_step_that_comes_again_is_read_once(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}: loss 1.{n}\nBest epoch: {min(n, 3)}, acc 0.{min(n, 3)}5\n" for n in N)
    assert steps_of(read_log(tmp_path, text)) == {"loss": [*N], "best/acc": [1, 2, 3]}


@pytest.mark.parametrize(
    ("below", "steps"),
    [
        ("Best score: 0.81\n", [120]),
        ("Iteration 200: loss 0.5\nBest score: 0.81\n", [200]),  # the training went on
    ],
)
def test_a_score_is_at_the_best_step_of_the_line_above(tmp_path: Path, below: str, steps: list[int]) -> None:
    rows = "".join(f"Iteration {n}: loss {2 - n / 256}\n" for n in range(0, 200, 10))
    run = read_log(tmp_path, f"{rows}Best iteration: 120\n{below}")
    assert run.attempts == 1
    assert steps_of(run)["Best score"] == steps


@pytest.mark.parametrize(
    "tag", ["[NEW BEST] ", "*** new best *** ", "[Best!] ", "[SAVED] ", "[checkpoint saved] "]
)
@pytest.mark.parametrize("tagged", [{1, 2, 3}, {2, 5}, {4}])
def test_a_tag_before_the_line_of_an_epoch_makes_no_other_series(
    tmp_path: Path, tag: str, tagged: set[int]
) -> None:
    text = "".join(
        f"{tag if n in tagged else ''}Epoch #{n}: train_loss=0.{9 - n}, val_loss=0.{9 - n}1\n"
        for n in range(1, 7)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {name: [*range(1, 7)] for name in ("train_loss", "val_loss")}


def test_a_tagged_line_of_an_epoch_that_is_over_repeats_the_best_values(tmp_path: Path) -> None:
    rows = "".join(f"Epoch #{n}: loss=0.{9 - n}\n" for n in range(1, 7))
    run = read_log(tmp_path, rows + "[BEST] Epoch #4: loss=0.5\n")
    assert run.attempts == 1
    assert steps_of(run) == {"loss": [*range(1, 7)], "best/loss": [4]}


@pytest.mark.parametrize(
    "line",
    [
        "Metric {0} improved by 0.010 >= min_delta = 0.0. New best score: 0.{1}1",
        "Metric {0} improved. New best score: 0.{1}1",
        "Model is improving {0}: 0.{2}1 --> 0.{1}1.",
        "The network improves {0}: inf ==> 0.{1}1",
    ],
)
def test_the_metric_that_improved_names_the_new_best_value(tmp_path: Path, line: str) -> None:
    line = f"[2021-03-01 10:00:00,120 INFO] {line}"
    text = "".join(
        f"Step {n}00: loss 0.{9 - n}\n{line.format('dev_nll', 9 - n, 10 - n)}\n" for n in range(1, 6)
    )
    run = read_log(tmp_path, text)
    steps = [*range(100, 600, 100)]
    assert steps_of(run) == {"loss": steps, "best/dev_nll": steps}
    best = run.data.series[SeriesKey("best/dev_nll")].value.tolist()
    assert best == [0.81, 0.71, 0.61, 0.51, 0.41]

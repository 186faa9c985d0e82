"""Lines that name the number of their training: a fold, a run, a split."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps

OPENING = "Using device: cuda\nReading the samples of data/heart\n"
E, K = range(1, 4), (1, 2, 3)

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "steps with a total that begin anew with each": (
        "".join(f"Run {k} [{s}/40] mae: 2.{k}{s}\n" for k in K for s in range(10, 50, 10)),
        {f"mae/run={k}": [10, 20, 30, 40] for k in K},
    ),
    "batches of an epoch in brackets": (
        "".join(f"[Fold {k}] [{e}][{b}/20] loss: 1.{k}{e}{b}\n" for k in K for e in E for b in (10, 20)),
        {f"loss/fold={k}": [10, 20, 30, 40, 50, 60] for k in K},
    ),
    "results behind their steps": (
        "".join(
            "".join(f"Trial {k} step {s}/40 loss: 2.{k}{s}\n" for s in (20, 40))
            + f"Trial {k} val acc 0.{k}\n"
            for k in K
        ),
        {f"loss/trial={k}": [20, 40] for k in K} | {f"val acc/trial={k}": [40] for k in K},
    ),
    "a split before an epoch": (
        "".join(f"Split {k}, epoch {e}/3, loss 2.{k}{e}, auc 0.{k}{e}\n" for k in K for e in E),
        {f"{name}/split={k}": [*E] for k in K for name in ("loss", "auc")},
    ),
    "an epoch between the names of the fold and of the time, as Keras prints it": (
        "".join(
            f"[Fold {k}/3] Epoch {e}/3 - 12s - loss: 1.{k}{e} - val_loss: 1.{e}{k}\n" for k in K for e in E
        ),
        {f"{name}/fold={k}": [*E] for k in K for name in ("loss", "val_loss")},
    ),
    "a fold with its number as one word, which is no host": (
        "".join(f"fold{k}: epoch {e} loss 1.{k}{e} val_loss 1.{e}{k}\n" for k in K for e in E),
        {f"{name}/fold={k}": [*E] for k in K for name in ("loss", "val_loss")},
    ),
    "a seed with its number as one word, without a sign behind it": (
        "".join(f"[seed_{k}] epoch {e} loss 1.{k}{e}\n" for k in K for e in E),
        {f"loss/seed={k}": [*E] for k in K},
    ),
    "names of tasks before each of several values of a line": (
        "".join(f"task1: loss 0.{e}1, task2: loss 0.{e}2, step {e}\n" for e in range(1, 7)),
        {f"task{k}/loss": [*range(1, 7)] for k in (1, 2)},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_trainings_of_which_lines_state_the_number_are_series_from_their_first_step(
    tmp_path: Path, case: str
) -> None:
    text, expected = CASES[case]
    assert_steps(tmp_path, OPENING + text, expected)


LAYERS: dict[str, tuple[str, dict[str, list[int]]]] = {
    "values of a line of the epoch 0": (
        "".join(
            f"Training layer {k}\nEpoch 0: val loss 3.{k}\n"
            + "".join(f"Epoch {e}: train loss 1.{k}{e} val loss 2.{k}{e}\n" for e in E)
            for k in K
        ),
        {f"train loss{label}": [*E] for label in ("", "/layer=2", "/layer=3")}
        | {f"val loss{label}": [0, *E] for label in ("", "/layer=2", "/layer=3")},
    ),
    "a line of the evaluation": (
        "".join(
            f"--- Pretraining layer {k} ---\n[Test] epoch 0 auc 0.{k}\n"
            + "".join(f"[Train] epoch {e} loss 1.{k}{e}\n[Test] epoch {e} auc 0.{k}{e}\n" for e in E)
            for k in K
        ),
        {f"loss{label}": [*E] for label in ("", "/layer=2", "/layer=3")}
        | {f"test/auc{label}": [0, *E] for label in ("", "/layer=2", "/layer=3")},
    ),
}


@pytest.mark.parametrize("case", LAYERS)
def test_an_evaluation_before_each_layer_is_at_the_epoch_0_of_its_training(tmp_path: Path, case: str) -> None:
    text, expected = LAYERS[case]
    assert_steps(tmp_path, OPENING + text, expected)


def test_batches_that_are_trained_by_themselves_have_labels_and_results_of_a_run_have_none(
    tmp_path: Path,
) -> None:
    text = "".join(
        "".join(
            f"-----run {run} training batch {batch}-----\n"
            + "".join(f"=> it: {step}, avg. loss: 3.{run}{batch}, acc: 0.5\n" for step in (1, 51, 101))
            for batch in range(3)
        )
        + f"----run {run}----end_acc 0.5{run}----train time 40.5\n"
        for run in range(2)
    )
    labels = ("", "/batch=1", "/batch=2", "/batch=1/run=1", "/batch=2/run=1", "/run=1")
    steps = {f"{name}{label}": [1, 51, 101] for name in ("avg. loss", "acc") for label in labels}
    results = ("end_acc/run=0", "end_acc/run=1", "Mean_End_Acc", "Mean_End_Acc 2")
    text += "----- Mean_End_Acc (0.51, 0.02)-----\n"
    assert_steps(tmp_path, text, steps | {name: [101] for name in results})


@pytest.mark.parametrize("words", ["Total group models: 1", "Number of folds: 5"])
def test_how_many_trainings_there_are_names_none(tmp_path: Path, words: str) -> None:
    text = f"{words}\n".join("".join(f"Epoch {n} loss: {k}.{n}\n" for n in E) for k in K)
    assert_steps(tmp_path, OPENING + text, {f"loss{of}": [*E] for of in ("", "/training=2", "/training=3")})

"""Searches for parameters: fits of scikit-learn, and the best iteration of boosted trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of


def fits(results: str, place: str = "") -> str:
    return "Fitting 3 folds for each of 2 candidates, totalling 6 fits\n" + "".join(
        f"[CV {fold}/3{place}] END ....alpha={alpha}, degree=2;, {results.format(fold)} total time=   0.1s\n"
        for alpha in (0.1, 1)
        for fold in (1, 2, 3)
    )


@pytest.mark.parametrize(
    ("results", "names"),
    [
        ("score=0.8{}", ("score",)),
        ("score=-0.8{}", ("score",)),
        ("score=(train=0.9{0}, test=0.8{0})", ("score", "train/score")),
        ("accuracy: (test=0.8{0}) f1: (train=0.9{0}, test=0.7{0})", ("accuracy", "f1", "train/f1")),
    ],
)
@pytest.mark.parametrize("place", ["", "; 1/2"])
def test_fits_of_a_search_are_counted(
    tmp_path: Path, results: str, names: tuple[str, ...], place: str
) -> None:
    assert_steps(tmp_path, fits(results, place), {name: [*range(1, 7)] for name in names})


def test_the_best_iteration_is_no_step_of_the_next_fold(tmp_path: Path) -> None:
    fold = (
        "".join(f"[{n}0]\tlearn-auc:0.6{n}\tvalid-auc:0.5{n}\n" for n in range(4))
        + "Stopping. Best iteration:\n[21]\tlearn-auc:0.625\tvalid-auc:0.525\n\n"
    )
    run = read_log(tmp_path, "Using 9 threads\n" + "".join(f"fold {n}\n{fold}" for n in (1, 2)))
    assert run.attempts == 1
    steps = [[*s.step] for key, s in run.data.series.items() if key.metric == "valid-auc"]
    assert steps == [[0, 10, 20, 30]] * 2
    assert steps_of(run)["best/valid-auc"] == [21]


@pytest.mark.parametrize("is_trained", [True, False])
def test_trials_of_a_search_have_steps_of_their_own(tmp_path: Path, *, is_trained: bool) -> None:
    text = "".join(
        "".join(f"trial {n} epoch {epoch}: train_loss 1.{epoch}\n" for epoch in range(1, 4) if is_trained)
        + f"[I 2024-03-05 14:0{n}:11,123] Trial {n} finished with value: 0.{n} and parameters: "
        f"{{'lr': 0.0012, 'layers': 3}}. Best is trial 1 with value: 0.1.\n"
        for n in range(1, 5)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps["trial/value"] == [1, 2, 3, 4]
    trained = {f"train_loss/trial={n}": [1, 2, 3] for n in range(1, 5) if is_trained}
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

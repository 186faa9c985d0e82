"""Results that are measured once a training, where several trainings of one launch follow one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of


@pytest.mark.parametrize("count", [3, 5, 9])
def test_results_are_of_the_training_that_they_are_behind(tmp_path: Path, count: int) -> None:
    text = "Namespace(rate=0.1, seed=3)\nUsing device: cuda\n" + "".join(
        f"Pruned {part}0 % of the weights\nAccuracy after pruning: 0.4{part}\n"
        + "".join(f"Epoch {epoch}/4 loss: {part / epoch:.3f} acc: 0.{epoch}\n" for epoch in range(1, 5))
        + f"Accuracy after tuning: 0.8{part}\n"
        for part in range(1, count + 1)
    )
    run = read_log(tmp_path, text)
    found = {
        name: steps for name, steps in steps_of(run).items() if name.startswith(("loss", "Accuracy aft"))
    }
    labels = ["", *(f"/training={number}" for number in range(2, count + 1))]
    assert run.attempts == 1
    assert {name for name in found if "tuning" in name} == {f"Accuracy after tuning{each}" for each in labels}
    assert {name for name in found if "loss" in name} == {f"loss{each}" for each in labels}
    assert not any("repeat" in name for name in found)
    values = {key.labels: series.value.tolist() for key, series in run.data.series.items()}
    assert len(values) == count


@pytest.mark.parametrize(
    ("line", "result", "word"),
    [
        ("Fold {0} | Epoch {1}/4 | loss {0}.{1}", "Best val acc: 0.8{0}", "fold"),
        ("[Fold {0}] Epoch {1} loss {0}.{1}", "Test accuracy: 0.8{0}", "fold"),
        ("Task {0}, Epoch {1}/4 => Loss {0}.{1}", "Average Accuracy (SVM): 5{0}.25", "task"),
        ("Session {0}, Epoch {1}/4, loss {0}.{1}", "Test acc: 0.8{0}", "session"),
        ("Run: 0{0}, Epoch: 0{1}, Loss: {0}.{1}", "Highest Valid: 7{0}.25", "run"),
    ],
)
def test_results_are_of_the_training_that_the_lines_above_state(
    tmp_path: Path, line: str, result: str, word: str
) -> None:
    text = "Using device: cuda\n" + "".join(
        "".join(f"{line.format(part, epoch)}\n" for epoch in range(1, 5)) + f"{result.format(part)}\n"
        for part in range(1, 5)
    )
    name, _, _ = result.partition(":")
    steps = steps_of(read_log(tmp_path, f"{text}Mean score: 0.75\n"))
    assert {each for each in steps if each.startswith(name)} == {
        f"{name}/{word}={part}" for part in range(1, 5)
    }
    assert steps["Mean score"] == [4]


def test_results_of_all_runs_are_of_none(tmp_path: Path) -> None:
    text = "Namespace(runs=3)\n" + "".join(
        "".join(f"Run: 0{run}, Epoch: 0{epoch}, Loss: {run}.{epoch}\n" for epoch in range(1, 5))
        + f"Run 0{run}:\nHighest Valid: 7{run}.25\n  Final Test: 6{run}.5\n"
        for run in range(1, 4)
    )
    text += "All runs:\nHighest Valid: 72.25 ± 0.81\n  Final Test: 62.50 ± 0.79\n"
    steps = steps_of(read_log(tmp_path, text))
    for name in ("Highest Valid", "Final Test"):
        found = {each for each in steps if each.startswith(name)}
        assert found == {name, f"{name} (std)", *(f"{name}/run={run}" for run in range(1, 4))}


def test_results_behind_the_lines_of_all_folds_at_an_epoch_are_of_none(tmp_path: Path) -> None:
    text = "".join(
        "".join(f"Fold {fold}, epoch {epoch}: loss {fold}.{epoch}\n" for fold in range(1, 4))
        + f"Mean accuracy: 0.7{epoch}\n"
        for epoch in range(1, 6)
    )
    steps = steps_of(read_log(tmp_path, text))
    assert {name for name in steps if "accuracy" in name} == {"Mean accuracy"}

"""Trainings of one task after another, and the tests on all tasks so far behind each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

STARS = "*" * 90
EPOCHS = range(1, 5)


def _log(heading: str, epoch: str, test: str) -> str:
    """Three tasks, the heading of each between stars."""
    lines: list[str] = []
    for task, name in enumerate(("digits", "svhn", "cifar10-1")):
        lines += [STARS, heading.format(task=task, name=name), STARS]
        lines += [epoch.format(n=n) for n in EPOCHS]
        for number, other in enumerate(("digits", "svhn", "cifar10-1")[: task + 1]):
            lines.append(test.format(task=number, name=other, n=task))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("heading", ["Task {task:2d} ({name})", "Task {task:2d}"])
@pytest.mark.parametrize("test", [">>> Test on task {task:2d} - {name:12s}: loss=0.4{n}, acc= 8{n}.5% <<<"])
def test_tasks_with_names_label_their_trainings_and_tests(tmp_path: Path, heading: str, test: str) -> None:
    epoch = "| Epoch {n:3d} | Train: loss=0.9{n}, acc= 6{n}.5% | Valid: loss=0.8{n}, acc= 5{n}.5% | *"
    run = read_log(tmp_path, _log(heading, epoch, test))
    steps = steps_of(run)
    assert run.attempts == 1
    assert {name.partition("/task=")[0] for name in steps} == {
        *("loss", "acc", "valid/loss", "valid/acc", "test/loss", "test/acc")
    }
    for name in ("loss", "valid/acc"):
        assert [steps[f"{name}{label}"] for label in ("", "/task=1", "/task=2")] == 3 * [[*EPOCHS]]
    assert steps["test/acc/task=1"] == steps["test/acc/task=0/training=task 2"] == [4]


def test_data_behind_a_part_that_was_skipped_name_what_follows(tmp_path: Path) -> None:
    text = "".join(
        f"| Epoch {n:3d}, time= 1{n}.5s | Train: skip eval | Valid: time= 2.{n}s loss=0.5{n}, acc= 7{n}.5%\n"
        for n in EPOCHS
    )
    assert steps_of(read_log(tmp_path, text)) == {
        name: [*EPOCHS] for name in ("time", "valid/time", "valid/loss", "valid/acc")
    }

"""Caffe's iterations by the process that glog names: another one is another launch."""

from __future__ import annotations

from pathlib import Path

from tests.support.log_runs import read_log


def _iteration(process: int, step: int) -> str:
    start = f"I0401 08:05:55.118290 {process:5} "
    return (
        f"{start}solver.cpp:218] Iteration {step} (2.9 iter/s, 6.7s/20 iters), loss = 0.{step}\n"
        f"{start}solver.cpp:237]     Train net output #0: cls = 0.{step} (* 1 = 0.{step} loss)\n"
        f"{start}sgd_solver.cpp:105] Iteration {step}, lr = 1e-05\n"
    )


def _points(tmp_path: Path, text: str) -> dict[str, list[tuple[int, int]]]:
    """The attempt and the step of each point of each series."""
    series = read_log(tmp_path, text).data.series
    return {
        key.metric: [*zip(points.attempt.tolist(), points.step.tolist(), strict=True)]
        for key, points in series.items()
    }


def test_a_process_that_goes_on_behind_another_one_is_another_launch(tmp_path: Path) -> None:
    text = "".join(_iteration(process, step) for process in (71, 5002, 9) for step in _steps_of(process))
    points = [(0, 20), (0, 40), (1, 60), (1, 80), (2, 60), (2, 80)]
    assert _points(tmp_path, text) == dict.fromkeys(("loss", "train/cls", "lr"), points)


def _steps_of(process: int) -> list[int]:
    return [20, 40] if process == 71 else [60, 80]


def test_processes_that_print_in_turn_from_the_first_iteration_on_are_one_launch(tmp_path: Path) -> None:
    text = "".join(_iteration(process, step) for step in (20, 40, 60, 80) for process in (71, 5002))
    assert {attempt for points in _points(tmp_path, text).values() for attempt, _ in points} == {0}


def test_outputs_above_the_first_iteration_of_a_process_are_of_the_rate_below(tmp_path: Path) -> None:
    part = _iteration(5002, 60).split("\n", 1)[1]
    points = _points(tmp_path, _iteration(71, 20) + _iteration(71, 40) + part + _iteration(5002, 80))
    assert points == {
        "loss": [(0, 20), (0, 40), (1, 80)],
        **{name: [(0, 20), (0, 40), (1, 60), (1, 80)] for name in ("train/cls", "lr")},
    }

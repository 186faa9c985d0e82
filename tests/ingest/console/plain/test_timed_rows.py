"""Rows of a process that states the time since the start and no step, next to those of steps."""

from __future__ import annotations

from pathlib import Path

from tests.support.log_runs import read_log


def _row(minute: int) -> str:
    return (
        f"INFO:root:Time 00h {minute:02d}m 05s, Mean Return 0.{minute % 7}, Mean Accuracy 0.{minute % 3}5\n"
    )


def _steps(thousands: int) -> str:
    return "".join(
        f"INFO:root:Training thread: {n} Iters: {thousands}K policy loss: 0.{n}{thousands} kl loss: 1.{n}\n"
        for n in (0, 1)
    )


def _numbered(metric: str, text: str, folder: Path) -> list[int]:
    series = read_log(folder, text).data.series
    return [int(step) for key, points in series.items() if key.metric == metric for step in points.step]


def test_rows_without_a_step_above_the_first_step_and_between_others_are_numbered(tmp_path: Path) -> None:
    rows = [*map(_row, range(1, 31))]
    text = "".join([*rows[:10], _steps(1), *rows[10:25], _steps(2), *rows[25:], _steps(3)])
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    rows_alone = {key.labels for key in run.data.series if key.metric.startswith("Mean")}
    assert rows_alone == {(("steps", "evaluations"),)}
    assert _numbered("Mean Return", text, tmp_path) == [*range(1, 31)]
    assert _numbered("Mean Accuracy", text, tmp_path) == [*range(1, 31)]
    losses = [key for key in run.data.series if key.metric == "policy loss"]
    assert [dict(key.labels) for key in sorted(losses)] == [{}, {"thread": "1"}]
    assert all(run.data.series[key].step.tolist() == [1000, 2000, 3000] for key in losses)


def test_rows_that_are_equal_are_several(tmp_path: Path) -> None:
    same = [_row(minute).replace(f"0.{minute % 7}", "0.0") for minute in range(1, 21)]
    assert _numbered("Mean Return", "".join([*same[:9], _steps(1), *same[9:], _steps(2)]), tmp_path) == [
        *range(1, 21)
    ]


def test_as_few_rows_as_processes_print_are_at_the_steps_above(tmp_path: Path) -> None:
    text = "".join(_row(n) + _steps(n) + _row(n + 20) for n in range(1, 5))
    assert set(_numbered("Mean Return", text, tmp_path)) <= {1000, 2000, 3000, 4000}


def test_durations_that_do_not_go_up_number_no_rows(tmp_path: Path) -> None:
    rows = "".join(f"Time 00m 0{n % 3}s, Mean Return 0.{n}, Mean Accuracy 0.5\n" for n in range(1, 10))
    text = rows + "".join(f"step: {n}00 q loss: 0.{n}\n{rows}" for n in (1, 2, 3))
    assert set(_numbered("Mean Return", text, tmp_path)) == {100, 200, 300}


def test_another_launch_behind_it_replaces_nothing(tmp_path: Path) -> None:
    rows = [*map(_row, range(1, 31))]
    launch = ["import ok\n", *rows[:10], _steps(1), *rows[10:], _steps(2), _steps(3)]
    text = "".join(launch)
    run = read_log(tmp_path, text + text.replace("loss: ", "loss: 4"))
    assert run.attempts == 2
    losses = next(series for key, series in run.data.series.items() if key.metric == "policy loss")
    assert losses.step.tolist() == [1000, 2000, 3000] * 2
    assert len(_numbered("Mean Return", text * 2, tmp_path)) == 60

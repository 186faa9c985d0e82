"""When a run falls silent: by its own rhythm."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import fingerprint
from holter.detectors.detector import DetectorContext
from holter.detectors.throughput.stall import StallDetector
from holter.types import Finding, RunData
from tests.support.curves import START, run, series


def logged(gaps: np.ndarray, *, now: float | None = None, attempt: object = 0) -> RunData:
    time = START + np.concatenate([[0.0], np.cumsum(gaps)])
    late = None if now is None else float(time[-1]) + now
    return run(series("loss", np.ones(len(time)), time=time, attempt=attempt), now=late)  # type: ignore[arg-type]


def found(data: RunData) -> list[Finding]:
    return list(StallDetector().detect(data, DetectorContext()))


STEADY = np.full(500, 10.0)


def test_a_run_that_is_over_does_not_stall() -> None:
    assert found(logged(STEADY)) == []


def test_silence_far_beyond_the_usual_intervals_is_a_stall_from_the_last_step() -> None:
    assert found(logged(STEADY, now=300)) == []
    (finding,) = found(logged(STEADY, now=900))
    assert (finding.start_step, finding.end_step, finding.severity) == (500, None, "critical")


def test_regular_pauses_are_no_stall() -> None:
    gaps = STEADY.copy()
    gaps[50::50] = 500.0
    assert found(logged(gaps, now=1200)) == []
    assert len(found(logged(gaps, now=1600))) == 1


def test_a_stall_ends_when_points_arrive_and_stays_reported() -> None:
    gaps = STEADY.copy()
    gaps[300] = 4000.0
    (before,) = found(logged(gaps[:300], now=3999.0))
    (after,) = found(logged(gaps))
    assert (before.start_step, before.attempt, before.metric) == (
        after.start_step,
        after.attempt,
        after.metric,
    )
    assert (before.end_step, after.end_step) == (None, 301)
    assert after.severity == "info"


def test_a_restart_ends_a_stall() -> None:
    gaps = STEADY.copy()
    gaps[300] = 4000.0
    (finding,) = found(logged(gaps, attempt=np.repeat([0, 1], [301, 200])))
    assert "attempt 1" in finding.summary


def test_points_of_another_series_prevent_a_stall() -> None:
    gaps = STEADY.copy()
    gaps[300] = 4000.0
    data = logged(gaps)
    begin = START + 3000.0
    alive = series("eval/loss", np.ones(40), step=np.arange(300, 340), time=begin + 100.0 * np.arange(40))
    assert found(run(*data.series.values(), alive)) == []


@pytest.mark.parametrize("points", [2, 5, 8])
def test_without_known_intervals_there_is_no_stall(points: int) -> None:
    assert found(logged(np.full(points - 1, 10.0), now=1e6)) == []


def test_without_a_clock_there_is_no_stall() -> None:
    silent = series("loss", np.ones(50), time=np.full(50, np.nan))
    assert found(run(silent, now=1e12)) == []


def test_the_identity_of_a_stall_stays_when_another_series_becomes_the_longest() -> None:
    time = 1.7e9 + np.cumsum(np.where(np.arange(600) == 200, 7200.0, 1.0))
    loss = series("loss", np.ones(600), time=time)
    extra_time = np.sort(np.concatenate((time[250:], time[250:] + 0.3, time[250:] + 0.6)))
    extra = series(
        "zz_extra", np.ones(len(extra_time)), step=np.arange(250, 250 + len(extra_time)), time=extra_time
    )
    (before,) = found(run(loss))
    (after,) = found(run(loss, extra))
    assert fingerprint(before) == fingerprint(after)

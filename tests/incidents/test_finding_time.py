"""Where findings stand in a run: when they began, and whether a rollback has replaced them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from holter.server.alerting.finding_time import replaced_by, wall_time_of
from holter.types import Kind, Series, SeriesKey, labels_of
from tests.support.alerting import SPIKE

LOSS = SeriesKey("loss")


def series(*attempts: tuple[int, int]) -> Series:
    """Attempts from a first to a last step, a point a second, the last without a clock."""
    step = np.concatenate([np.arange(first, last + 1) for first, last in attempts])
    number = np.repeat(np.arange(len(attempts)), [last - first + 1 for first, last in attempts])
    time = 1000.0 + np.arange(len(step))
    time[-1] = np.nan
    return Series(key=LOSS, attempt=number, step=step, time=time, value=np.ones(len(step)))


def test_a_finding_begins_when_its_point_was_logged() -> None:
    run = {LOSS: series((0, 99), (50, 80))}
    assert wall_time_of(run, replace(SPIKE, start_step=10)) == 1010.0
    assert wall_time_of(run, replace(SPIKE, attempt=1, start_step=50)) == 1100.0
    assert wall_time_of(run, replace(SPIKE, attempt=1, start_step=80)) is None
    assert wall_time_of(run, replace(SPIKE, metric="derived", start_step=10)) == 1010.0
    assert wall_time_of({}, SPIKE) is None
    assert wall_time_of(run, replace(SPIKE, start_step=100)) is None
    assert wall_time_of(run, replace(SPIKE, start_step=10, evidence={"wall_time": 5.0})) == 5.0


def test_other_series_have_the_time_only_if_they_are_logged_by_training_step() -> None:
    by_clock = SeriesKey("gpu_power", labels_of({"steps": "ms"}))
    run = {by_clock: replace(series((0, 99)), key=by_clock)}
    assert wall_time_of(run, replace(SPIKE, start_step=10)) is None
    later = replace(series((0, 99)), time=2000.0 + np.arange(100))
    assert wall_time_of({SeriesKey("grad_norm"): later, **run}, replace(SPIKE, start_step=10)) == 2010.0
    both = {SeriesKey("grad_norm"): later, LOSS: series((0, 99))}
    assert wall_time_of(both, replace(SPIKE, start_step=10)) == 1010.0, "its own series first"


@pytest.mark.parametrize(
    ("sentence", "attempts", "expected"),
    [
        ("nothing came after it", [(0, 99)], None),
        ("the new attempt began behind it and has passed it", [(0, 99), (50, 90)], 1),
        ("the new attempt has not passed it yet", [(0, 99), (50, 82)], None),
        ("it has, by a step", [(0, 99), (50, 83)], 1),
        ("the new attempt went on after it", [(0, 99), (90, 200)], None),
        ("the new attempt went on from its next step", [(0, 99), (81, 200)], None),
        ("the new attempt began with its first step", [(0, 99), (80, 200)], 1),
        ("an attempt between replaced it, the newest went on", [(0, 99), (50, 150), (140, 200)], 1),
        ("the newest of several that replaced it", [(0, 99), (50, 150), (60, 200)], 2),
    ],
)
def test_a_rollback_replaces_what_it_passes_again(
    sentence: str, attempts: list[tuple[int, int]], expected: int | None
) -> None:
    spike = replace(SPIKE, start_step=80, peak_step=82, detected_step=81)
    assert replaced_by({LOSS: series(*attempts)}, spike) == expected


def test_going_back_mends_no_slow_node() -> None:
    slow = replace(SPIKE, kind=Kind.THROUGHPUT_REGRESSION, start_step=80, peak_step=82, detected_step=81)
    assert replaced_by({LOSS: series((0, 99), (50, 90))}, slow) is None


def test_a_spike_without_a_peak_yet_is_passed_after_its_detection() -> None:
    spike = replace(SPIKE, start_step=80, peak_step=None, detected_step=81)
    assert replaced_by({LOSS: series((0, 99), (50, 81))}, spike) is None
    assert replaced_by({LOSS: series((0, 99), (50, 82))}, spike) == 1
    other = {SeriesKey("grad_norm"): series((0, 99), (50, 82))}
    assert replaced_by(other, replace(spike, metric="derived")) == 1
    assert replaced_by({}, spike) is None

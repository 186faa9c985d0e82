"""Where findings stand in a run: when they began, and whether a rollback has replaced them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from holter.server.alerting.finding_time import replaced_by, wall_time_of
from holter.types import Kind, Series, SeriesKey
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


@pytest.mark.parametrize(
    ("sentence", "attempts", "expected"),
    [
        ("nothing came after it", [(0, 99)], None),
        ("the new attempt began behind it and has passed it", [(0, 99), (50, 90)], 1),
        ("the new attempt has not passed it yet", [(0, 99), (50, 82)], None),
        ("the new attempt went on after it", [(0, 99), (90, 200)], None),
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

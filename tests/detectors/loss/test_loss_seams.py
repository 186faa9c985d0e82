"""Restarts within one attempt: told by what the rest of the log did there, and only if the loss jumped."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from holter.types import Kind, RunData
from tests.detectors.loss.curves import curve, decay, found_in, identity, prefix, run_of, the_one_in

POINTS, AT = 3000, 1800


def with_clock(run: RunData, *, silences: dict[int, float]) -> RunData:
    """The run with a row every two seconds, and some silences before rows."""
    apart = np.full(POINTS, 2.0)
    apart[list(silences)] = list(silences.values())
    time = 1.7e9 + np.cumsum(apart)
    return RunData(series={key: dataclasses.replace(one, time=time) for key, one in run.series.items()})


def jumping(**others: np.ndarray) -> RunData:
    return run_of(curve(seed=4) + decay(POINTS, AT, 1.0, 60), **others)


def test_a_jump_after_a_long_silence_is_the_restarts() -> None:
    one = the_one_in(with_clock(jumping(), silences={AT: 5400.0}))
    assert (one.kind, one.start_step) == (Kind.RESUME_ARTIFACT, AT)
    assert (one.evidence["seam"], one.evidence["seam_size"]) == ("silence", 5400.0)
    assert "a pause of 1 h 30 min before step 1,800" in one.summary


def test_a_jump_later_than_the_silence_is_a_spike() -> None:
    one = the_one_in(with_clock(jumping(), silences={AT - 30: 5400.0}))
    assert one.kind is Kind.SPIKE_SLOW
    assert "seam" not in one.evidence


def test_a_jump_at_a_pause_that_is_routine_is_a_spike() -> None:
    pauses = {row: 600.0 for row in range(300, POINTS, 300)}
    assert AT in pauses
    assert the_one_in(with_clock(jumping(), silences=pauses)).kind is Kind.SPIKE_SLOW


def test_a_short_pause_is_no_restart() -> None:
    assert the_one_in(with_clock(jumping(), silences={AT: 60.0})).kind is Kind.SPIKE_SLOW


def test_a_silence_alone_is_nothing() -> None:
    assert found_in(with_clock(run_of(curve(seed=4)), silences={AT: 90_000.0})) == []


def test_a_jump_where_steps_are_missing_is_the_restarts() -> None:
    step = np.arange(POINTS) + np.where(np.arange(POINTS) >= AT - 20, 500, 0)
    one = the_one_in(run_of(curve(seed=4) + decay(POINTS, AT, 1.0, 60), step=step))
    assert (one.kind, one.evidence["seam"]) == (Kind.RESUME_ARTIFACT, "gap")
    assert one.evidence["seam_step"] == AT - 20 + 500


def test_a_learning_rate_that_warms_up_anew_is_a_restart() -> None:
    since = np.arange(POINTS) - (AT - 10)
    rate = np.where(since < 0, 3e-4, 3e-4 * np.clip(since / 100 + 0.01, 0, 1))
    one = the_one_in(jumping(lr=rate))
    assert (one.kind, one.evidence["seam"]) == (Kind.RESUME_ARTIFACT, "warm-up")
    assert "warm up again at step 1,790" in one.summary


@pytest.mark.parametrize("after", [3e-5, 3e-4])
def test_a_learning_rate_that_is_lowered_or_kept_is_none(after: float) -> None:
    rate = np.where(np.arange(POINTS) < AT - 10, 3e-4, after)
    assert the_one_in(jumping(lr=rate)).kind is Kind.SPIKE_SLOW


def test_what_was_spoken_at_a_seam_stays() -> None:
    rate = np.where(np.arange(POINTS) < AT - 1, 3e-4, 3e-6 * 1.05 ** (np.arange(POINTS) - AT + 1).clip(0, 90))
    run = with_clock(jumping(lr=rate), silences={AT: 5400.0})
    whole = {(identity(one), one.kind) for one in found_in(run)}
    assert {kind for _, kind in whole} == {Kind.RESUME_ARTIFACT}
    for step in [*range(AT - 2, AT + 12), AT + 200, AT + 900]:
        early = {(identity(one), one.kind) for one in found_in(prefix(run, attempt=0, step=step))}
        assert early == (whole if step >= AT else set())

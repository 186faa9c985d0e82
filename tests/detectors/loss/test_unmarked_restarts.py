"""Unmarked restarts within one attempt: recognized by other signs, and only if the loss jumped."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from holter.types import Kind, RunData
from tests.support.loss_curves import curve, decay, detect_all, identity, prefix, run_of, single_finding

POINTS, AT = 3000, 1800


def with_clock(run: RunData, *, silences: dict[int, float]) -> RunData:
    """The run with a row every two seconds, and some pauses before rows."""
    apart = np.full(POINTS, 2.0)
    apart[list(silences)] = list(silences.values())
    time = 1.7e9 + np.cumsum(apart)
    return RunData(series={key: dataclasses.replace(series, time=time) for key, series in run.series.items()})


def jumping(**others: np.ndarray) -> RunData:
    return run_of(curve(seed=4) + decay(POINTS, AT, 1.0, 60), **others)


def test_a_jump_after_a_long_pause_belongs_to_a_restart() -> None:
    finding = single_finding(with_clock(jumping(), silences={AT: 5400.0}))
    assert (finding.kind, finding.start_step) == (Kind.RESUME_ARTIFACT, AT)
    assert (finding.evidence["seam"], finding.evidence["seam_size"]) == ("silence", 5400.0)
    assert "a pause of 1 h 30 min before step 1,800" in finding.summary


def test_a_jump_later_than_the_pause_is_a_spike() -> None:
    finding = single_finding(with_clock(jumping(), silences={AT - 30: 5400.0}))
    assert finding.kind is Kind.SPIKE_SLOW
    assert "seam" not in finding.evidence


def test_a_jump_at_a_routine_pause_is_a_spike() -> None:
    pauses = {row: 600.0 for row in range(300, POINTS, 300)}
    assert AT in pauses
    assert single_finding(with_clock(jumping(), silences=pauses)).kind is Kind.SPIKE_SLOW


def test_a_short_pause_is_no_restart() -> None:
    assert single_finding(with_clock(jumping(), silences={AT: 60.0})).kind is Kind.SPIKE_SLOW


def test_a_pause_alone_is_no_finding() -> None:
    assert detect_all(with_clock(run_of(curve(seed=4)), silences={AT: 90_000.0})) == []


def test_a_jump_where_steps_are_missing_belongs_to_a_restart() -> None:
    step = np.arange(POINTS) + np.where(np.arange(POINTS) >= AT - 20, 500, 0)
    finding = single_finding(run_of(curve(seed=4) + decay(POINTS, AT, 1.0, 60), step=step))
    assert (finding.kind, finding.evidence["seam"]) == (Kind.RESUME_ARTIFACT, "gap")
    assert finding.evidence["seam_step"] == AT - 20 + 500


def test_a_larger_logging_interval_is_no_restart() -> None:
    row = np.arange(POINTS)
    step = np.where(row < AT - 20, row, AT - 20 + 500 * (row - AT + 21))
    finding = single_finding(run_of(curve(seed=4) + decay(POINTS, AT, 1.0, 60), step=step))
    assert finding.kind is not Kind.RESUME_ARTIFACT


def test_a_learning_rate_that_warms_up_again_is_a_restart() -> None:
    since = np.arange(POINTS) - (AT - 10)
    rate = np.where(since < 0, 3e-4, 3e-4 * np.clip(since / 100 + 0.01, 0, 1))
    finding = single_finding(jumping(lr=rate))
    assert (finding.kind, finding.evidence["seam"]) == (Kind.RESUME_ARTIFACT, "warm-up")
    assert "warm up again at step 1,790" in finding.summary


@pytest.mark.parametrize("after", [3e-5, 3e-4])
def test_a_learning_rate_that_is_lowered_or_constant_is_no_restart(after: float) -> None:
    rate = np.where(np.arange(POINTS) < AT - 10, 3e-4, after)
    assert single_finding(jumping(lr=rate)).kind is Kind.SPIKE_SLOW


def test_findings_at_an_unmarked_restart_stay() -> None:
    rate = np.where(np.arange(POINTS) < AT - 1, 3e-4, 3e-6 * 1.05 ** (np.arange(POINTS) - AT + 1).clip(0, 90))
    run = with_clock(jumping(lr=rate), silences={AT: 5400.0})
    final = {(identity(finding), finding.kind) for finding in detect_all(run)}
    assert {kind for _, kind in final} == {Kind.RESUME_ARTIFACT}
    for step in [*range(AT - 2, AT + 12), AT + 200, AT + 900]:
        early = {
            (identity(finding), finding.kind) for finding in detect_all(prefix(run, attempt=0, step=step))
        }
        assert early == (final if step >= AT else set())


def test_rows_that_become_rarer_later_on_do_not_reach_back_to_missing_steps() -> None:
    close, apart = np.arange(600) * 8, 4800 + 452 + np.concatenate(([0, 8], 400 * np.arange(1, 200)))
    step = np.concatenate((close, apart))
    value = curve(seed=4)[: len(step)]
    value[640:643] += 1.0
    finding = single_finding(run_of(value, step=step))
    assert (finding.kind, finding.start_step) == (Kind.SPIKE_SLOW, step[640])

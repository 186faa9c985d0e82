"""Restarts with another learning rate: the fault itself, known before the loss shows any effect."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.positions import AttemptRows, attempt_rows, rows_up_to
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import RunData, Series


@dataclass(frozen=True, kw_only=True)
class RateMismatchThresholds(Thresholds):
    """When a restart counts as one with another learning rate."""

    share: float = 0.2
    """Share by which a rate differs from what it was at that step; schedules move by less from point to
    point."""
    points: int = 2
    """Points that must agree: the first of an attempt is sometimes logged before the schedule is set."""
    strength: float = 2.0
    """Strength of the evidence of a mismatch (an alarm from 1 on) that the loss does not show yet."""


@dataclass(frozen=True, kw_only=True)
class LearningRateMismatch:
    """The learning rate an attempt should have begun with, the actual one, and the step that showed it."""

    expected: float
    actual: float
    detected_step: int


RateMismatches = Mapping[int, LearningRateMismatch]
"""Mismatches by attempt."""


def find_rate_mismatches(
    run: RunData, state: IncrementalState, thresholds: RateMismatchThresholds
) -> RateMismatches:
    """The attempts whose learning rate began off the value that earlier attempts had at that step."""
    rates = [run.series[key] for key in sorted(run.series) if role_of(key) is Role.LEARNING_RATE]
    mismatches: dict[int, LearningRateMismatch] = {}
    for series in reversed(rates):
        mismatches |= _mismatches_in(series, state, thresholds)
    return mismatches


def _mismatches_in(
    series: Series, state: IncrementalState, thresholds: RateMismatchThresholds
) -> RateMismatches:
    """The mismatches in one series; only attempts that began since the last checkpoint are examined."""
    checkpoints: ScanCheckpoints[RateMismatches] = state.checkpoints(
        ("rate_mismatches", series.key), [series]
    )
    checkpoint = checkpoints.latest([series]) or Checkpoint({}, (0,))
    found, examined = dict(checkpoint.state), checkpoint.rows[0]
    spans = attempt_rows(series)
    earliest = list(accumulate((int(series.step[span.first]) for span in spans), min))
    for number in range(bisect_left(spans, examined, key=lambda span: span.first), len(spans)):
        span = spans[number]
        if span.after - span.first < thresholds.points:
            continue
        examined = span.first + thresholds.points
        # a program that was started anew restores nothing: its settings are its own
        if number and series.step[span.first] > earliest[number - 1]:
            mismatch = _mismatch(series, spans[:number], span, thresholds)
            if mismatch is not None:
                found[span.attempt] = mismatch
    checkpoints.save(Checkpoint(found, (examined,)))
    return found


def _mismatch(
    series: Series, earlier: Sequence[AttemptRows], span: AttemptRows, thresholds: RateMismatchThresholds
) -> LearningRateMismatch | None:
    """How the first points of an attempt differ from those that the attempts before had at their steps."""
    steps = series.step[span.first : span.first + thresholds.points].tolist()
    actual = series.value[span.first : span.first + thresholds.points].tolist()
    first: float | None = None
    for step, now in zip(steps, actual, strict=True):
        rate = _rate_before(series, earlier, step)
        if rate is None or not abs(now - rate) > thresholds.share * max(abs(now), abs(rate)):
            return None  # as at most restarts, at the first step
        first = rate if first is None else first
    return (
        None
        if first is None
        else LearningRateMismatch(expected=first, actual=actual[0], detected_step=steps[-1])
    )


def _rate_before(series: Series, earlier: Sequence[AttemptRows], step: int) -> float | None:
    """The rate at a step, or last before it, of the newest attempt that reached it."""
    for span in reversed(earlier):
        for row in range(rows_up_to(series, (span.attempt, step)) - 1, span.first - 1, -1):
            if np.isfinite(series.value[row]):
                return float(series.value[row])
    return None

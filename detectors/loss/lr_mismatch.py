"""Restarts with another learning rate: the fault itself, known before the loss shows any effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

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


def find_rate_mismatches(run: RunData, thresholds: RateMismatchThresholds) -> RateMismatches:
    """The attempts whose learning rate began off the value that earlier attempts had at that step."""
    rates = [run.series[key] for key in sorted(run.series) if role_of(key) is Role.LEARNING_RATE]
    return {
        attempt: mismatch
        for series in reversed(rates)
        for attempt, mismatch in _mismatches_in(series, thresholds)
    }


def _mismatches_in(
    series: Series, thresholds: RateMismatchThresholds
) -> Iterator[tuple[int, LearningRateMismatch]]:
    spans = attempt_rows(series)
    earliest = list(accumulate((int(series.step[span.first]) for span in spans), min))
    for number, span in enumerate(spans[1:], start=1):
        # a program that was started anew restores nothing: its settings are its own
        is_fresh = series.step[span.first] <= earliest[number - 1]
        if is_fresh or span.after - span.first < thresholds.points:
            continue
        steps = series.step[span.first : span.first + thresholds.points].tolist()
        actual = series.value[span.first : span.first + thresholds.points].tolist()
        expected = [_rate_before(series, spans[:number], step) for step in steps]
        differs = [
            rate is not None and abs(now - rate) > thresholds.share * max(abs(now), abs(rate))
            for now, rate in zip(actual, expected, strict=True)
        ]
        if all(differs) and expected[0] is not None:
            mismatch = LearningRateMismatch(expected=expected[0], actual=actual[0], detected_step=steps[-1])
            yield span.attempt, mismatch


def _rate_before(series: Series, earlier: Sequence[AttemptRows], step: int) -> float | None:
    """The rate at a step, or last before it, of the newest attempt that reached it."""
    for span in reversed(earlier):
        for row in range(rows_up_to(series, (span.attempt, step)) - 1, span.first - 1, -1):
            if np.isfinite(series.value[row]):
                return float(series.value[row])
    return None

"""Restarts with another learning rate: the fault itself, known before the loss shows anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from holter.metrics import Role, role_of
from holter.types import RunData, Series

_OFF = 0.2
"""Share by which a rate lies off what it was at that step; schedules move by less from point to point."""
_POINTS = 2
"""Points that must agree: the first of an attempt is sometimes logged before the schedule is set."""


@dataclass(frozen=True, kw_only=True)
class OtherRate:
    """The learning rate an attempt should have begun with and the one it has, and the step that told."""

    expected: float
    found: float
    seen_step: int


OtherRates = Mapping[int, OtherRate]
"""By attempt."""


def other_rates(run: RunData) -> OtherRates:
    """By attempt, where its learning rate began elsewhere than the attempts before had it at that step."""
    rates = [run.series[key] for key in sorted(run.series) if role_of(key) is Role.LEARNING_RATE]
    return {number: other for series in reversed(rates) for number, other in _jumps(series)}


def _jumps(series: Series) -> Iterator[tuple[int, OtherRate]]:
    for number in np.unique(series.attempt)[1:].tolist():
        first = int(np.searchsorted(series.attempt, number))
        steps = series.step[first : first + _POINTS]
        if len(steps) < _POINTS or series.attempt[first + _POINTS - 1] != number:
            continue
        found = series.value[first : first + _POINTS]
        expected = [_before(series, number, step) for step in steps.tolist()]
        off = [
            rate is not None and abs(now - rate) > _OFF * max(abs(now), abs(rate))
            for now, rate in zip(found.tolist(), expected, strict=True)
        ]
        if all(off) and expected[0] is not None:
            yield number, OtherRate(expected=expected[0], found=float(found[0]), seen_step=int(steps[-1]))


def _before(series: Series, number: int, step: int) -> float | None:
    """What the newest attempt that had reached this step had as its rate there, or last before it."""
    earlier = np.flatnonzero((series.attempt < number) & (series.step <= step) & np.isfinite(series.value))
    return float(series.value[earlier[-1]]) if len(earlier) else None

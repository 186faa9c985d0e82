"""Restarts with another learning rate: the fault itself, known before the loss shows anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from holter.detectors.positions import AttemptRows, attempt_rows, rows_up_to
from holter.roles import Role, role_of
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
    spans = attempt_rows(series)
    for number, span in enumerate(spans[1:], start=1):
        if span.after - span.first < _POINTS:
            continue
        steps = series.step[span.first : span.first + _POINTS].tolist()
        found = series.value[span.first : span.first + _POINTS].tolist()
        expected = [_before(series, spans[:number], step) for step in steps]
        off = [
            rate is not None and abs(now - rate) > _OFF * max(abs(now), abs(rate))
            for now, rate in zip(found, expected, strict=True)
        ]
        if all(off) and expected[0] is not None:
            yield span.attempt, OtherRate(expected=expected[0], found=found[0], seen_step=steps[-1])


def _before(series: Series, earlier: Sequence[AttemptRows], step: int) -> float | None:
    """What the newest attempt that had reached this step had as its rate there, or last before it."""
    for span in reversed(earlier):
        for row in range(rows_up_to(series, (span.attempt, step)) - 1, span.first - 1, -1):
            if np.isfinite(series.value[row]):
                return float(series.value[row])
    return None

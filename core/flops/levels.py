"""Newest, typical and best level of a curve, without branches that were rolled back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holter.attempts.superseded import AttemptSpan, superseded_points
from holter.types import FloatArray, Series

WINDOW = 50
"""Points whose median is a level: enough that single slow points do not matter."""
_WARM_UP_POINTS = 5
"""Points at the beginning of each attempt that are left out: compilation, caches, first allocations."""


@dataclass(frozen=True, kw_only=True)
class CurveLevel:
    """Medians of a curve: over its newest window, over all points, and the best over any window."""

    newest: float
    typical: float
    best: float


def level_of(series: Series, values: FloatArray, spans: Sequence[AttemptSpan]) -> CurveLevel | None:
    """The level of `values` [n] at the points of `series`; None where no point is usable."""
    usable = _usable(series, values, spans)
    if not len(usable):
        return None
    in_windows = len(usable) // WINDOW * WINDOW
    blocks = usable[-in_windows:].reshape(-1, WINDOW) if in_windows else usable[np.newaxis]
    return CurveLevel(
        newest=float(np.median(usable[-WINDOW:])),
        typical=float(np.median(usable)),
        best=float(np.median(blocks, axis=1).max()),
    )


def typical_level(series: Series, values: FloatArray, spans: Sequence[AttemptSpan]) -> float | None:
    """The median of `values` [n] without warm-up, as of `level_of`; None where no point is usable."""
    usable = _usable(series, values, spans)
    return float(np.median(usable)) if len(usable) else None


def _usable(series: Series, values: FloatArray, spans: Sequence[AttemptSpan]) -> FloatArray:
    valid = np.isfinite(values) & (values > 0) & ~superseded_points(series.attempt, series.step, spans)
    warm = valid & ~_warm_up_points(series)
    return values[warm if warm.any() else valid]


def attempt_spans(series: Series) -> list[AttemptSpan]:
    """The range of steps of each attempt, by the points of one series."""
    if not len(series):
        return []
    starts = np.flatnonzero(np.diff(series.attempt, prepend=series.attempt[0] - 1))
    ends = [*(starts[1:] - 1).tolist(), len(series) - 1]
    return [
        AttemptSpan(int(series.attempt[begin]), int(series.step[begin]), int(series.step[end]))
        for begin, end in zip(starts.tolist(), ends, strict=True)
    ]


def _warm_up_points(series: Series) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    first = np.zeros(len(series), dtype=bool)
    for begin in np.flatnonzero(np.diff(series.attempt, prepend=-1)).tolist():
        first[begin : begin + _WARM_UP_POINTS] = True
    return first

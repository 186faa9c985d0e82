"""How high a curve lies: now, usually, and at its best, without the branches that were rolled back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holter.attempts.superseded import Span, superseded
from holter.types import FloatArray, Series

WINDOW = 50
"""Points that make a level: what a run shows over so many is no accident."""
_WARMING_UP = 5
"""Points at the beginning of each attempt that say little: compilation, caches, first allocations."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """Medians of a curve: over its newest window, over everything, and the best over any window."""

    newest: float
    usual: float
    best: float


def level_of(series: Series, values: FloatArray, spans: Sequence[Span]) -> Level | None:
    """The level of a series' `values` [n]; None where no point is usable."""
    kept = np.isfinite(values) & (values > 0) & ~superseded(series.attempt, series.step, spans)
    warm = kept & ~_first_of_attempts(series)
    usable = values[warm if warm.any() else kept]
    if not len(usable):
        return None
    whole = len(usable) // WINDOW * WINDOW
    blocks = usable[-whole:].reshape(-1, WINDOW) if whole else usable[np.newaxis]
    return Level(
        newest=float(np.median(usable[-WINDOW:])),
        usual=float(np.median(usable)),
        best=float(np.median(blocks, axis=1).max()),
    )


def spans_of(series: Series) -> list[Span]:
    """The steps that attempts cover, as far as one series knows."""
    if not len(series):
        return []
    starts = np.flatnonzero(np.diff(series.attempt, prepend=series.attempt[0] - 1))
    ends = [*(starts[1:] - 1).tolist(), len(series) - 1]
    return [
        Span(int(series.attempt[begin]), int(series.step[begin]), int(series.step[end]))
        for begin, end in zip(starts.tolist(), ends, strict=True)
    ]


def _first_of_attempts(series: Series) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    first = np.zeros(len(series), dtype=bool)
    for begin in np.flatnonzero(np.diff(series.attempt, prepend=-1)).tolist():
        first[begin : begin + _WARMING_UP] = True
    return first

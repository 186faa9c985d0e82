"""Stretches: the attempts of a series, without points that are no numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.positions import attempt_rows
from holter.types import FloatArray, IntArray, Series

_HUGE = 1e30
"""Values are bounded by it, so that their sums stay finite."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Stretch:
    """One attempt's points [n] of a series, finite, in the order of their steps.

    Point i stands in row `rows[i]` of the series; None: in row `first + i`.
    """

    attempt: int
    step: IntArray
    value: FloatArray
    first: int = 0
    rows: IntArray | None = None

    def row(self, point: int) -> int:
        """The row of the series in which a point stands."""
        return self.first + point if self.rows is None else int(self.rows[point])

    def spacing(self, first: int, after: int) -> IntArray:
        """Steps since the point before, of the points from `first` to `after` (not included); the first
        point's is that of the second."""
        if len(self.step) < 2:
            return np.ones(after - first, dtype=np.int64)
        apart = np.diff(self.step[max(first - 1, 0) : max(after, 2)])
        spacing: IntArray = np.maximum(apart if first else np.concatenate((apart[:1], apart)), 1)
        return spacing[: after - first]

    def apart(self, point: int) -> int:
        """Steps between a point and the one before."""
        return int(self.spacing(point, point + 1)[0])


def stretches_of(series: Series, state: IncrementalState) -> list[Stretch]:
    """A series cut into its attempts, without what is not finite, and with huge values bounded."""
    checkpoints: ScanCheckpoints[frozenset[int]] = state.checkpoints(("stretches", series.key), [series])
    checkpoint = checkpoints.latest([series]) or Checkpoint(frozenset(), (0,))
    news = slice(checkpoint.rows[0], len(series))
    unfit = ~(np.abs(series.value[news]) <= _HUGE)
    unfit_in = checkpoint.state | set(series.attempt[news][unfit].tolist())
    checkpoints.save(Checkpoint(unfit_in, (len(series),)))
    found = []
    for attempt, first, after in attempt_rows(series):
        step, value, rows = series.step[first:after], series.value[first:after], None
        if attempt in unfit_in:
            finite = np.flatnonzero(np.isfinite(value))
            step, value, rows = step[finite], np.clip(value[finite], -_HUGE, _HUGE), first + finite
        if len(step):
            found.append(Stretch(attempt=attempt, step=step, value=value, first=first, rows=rows))
    return found

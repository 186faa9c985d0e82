"""Clipped cumulative sums (CUSUM) of each peer's distance from the others.

Several sums with different parameters detect large distances quickly and small ones after many rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class CusumThresholds(Thresholds):
    """Parameters of a clipped CUSUM over the rows of all ranks; these detect large distances within rows."""

    allowance: float = 1.5
    """Noise units. Subtracted from the distance at every row, so that smaller distances let the sum fall."""
    alarm: float = 10.0
    """Noise units. A peer whose sum exceeds this is behind: it takes three rows, however far out they are."""
    tolerated_correlation: float = 0.3
    """Lag-1 correlation of rows up to which the alarm holds; beyond it is raised (`alarm_at`)."""
    clip: float = 5.0
    """Noise units. The most that one row counts, so that a single outlier raises no alarm."""
    max_correlation: float = 0.9
    """Lag-1 correlation. Higher estimates count as this one, which bounds the alarm at 19 times its value."""


@dataclass(frozen=True, kw_only=True)
class SlowCusumThresholds(CusumThresholds):
    """Parameters of the CUSUM for distances below two noises, which the fast one forgives."""

    allowance: float = 0.5
    """Noise units. Subtracted from the distance at every row."""
    alarm: float = 25.0
    """Noise units. By chance exceeded at one row of a peer in 1e11."""
    tolerated_correlation: float = 0.0
    """Lag-1 correlation. The long sums have no room for any correlation of rows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ClippedCusum:
    """One sum for each peer [p], after the rows so far.

    A row adds its distance less the allowance, in units of noise; a sum never falls below zero. Where
    neighbouring rows are more correlated than tolerated, the alarm is raised by the factor by which random
    excursions then last longer. `sums` are the present sums, `highest` their maxima in the last rows, and
    `start` is the row after which each was last at zero.
    """

    thresholds: CusumThresholds
    sums: FloatArray
    highest: FloatArray
    start: IntArray

    @classmethod
    def initial(cls, peers: int, thresholds: CusumThresholds) -> ClippedCusum:
        """Sums of zero for this number of peers."""
        zero = np.zeros(peers)
        return cls(thresholds=thresholds, sums=zero, highest=zero, start=np.zeros(peers, dtype=np.int64))

    def values_over(self, distance: FloatArray) -> FloatArray:
        """The sums after each of the rows that follow [n, p], by their distances [n, p]; NaN adds nothing."""
        clip = self.thresholds.clip
        z = np.clip(distance, -clip, clip) - self.thresholds.allowance
        z[np.isnan(distance)] = 0.0
        # the recursion max(0, sum + z) over the rows, unrolled: the height above the lowest point so far
        walk = np.cumsum(z, axis=0)
        return np.asarray(walk + np.maximum(self.sums, -np.minimum.accumulate(walk, axis=0)))

    def after(self, values: FloatArray, stop: int, reset: list[int]) -> ClippedCusum:
        """The state after rows up to `stop` with these values [n, p]; the sums of peers `reset` are zero."""
        at_zero = values <= 0
        last_zero = stop - 1 - np.argmax(at_zero[::-1], axis=0)
        return replace(
            self,
            sums=np.where(np.isin(np.arange(len(self.sums)), reset), 0.0, values[-1]),
            highest=values.max(axis=0),
            start=np.where(at_zero.any(axis=0), last_zero + 1, self.start),
        )

    def start_row(self, rank: int, row: int, values: FloatArray) -> int:
        """The row from which on a peer's sum has been above zero, with its values [n] up to `row`."""
        zeros = np.flatnonzero(values <= 0)
        return row - len(values) + 2 + int(zeros[-1]) if len(zeros) else int(self.start[rank])

    def alarm_at(self, correlation: float) -> float:
        """The alarm for this correlation r of rows: excursions last (1 + r) / (1 - r) times as long."""
        r = min(correlation, self.thresholds.max_correlation)
        raised = r > self.thresholds.tolerated_correlation
        return self.thresholds.alarm * ((1 + r) / (1 - r) if raised else 1.0)

    def exceeded(self, alarm: float) -> NDArray[np.bool_]:
        """The peers [p] that were above an alarm in the last rows."""
        return np.asarray(self.highest > alarm)

    def reset(self, peers: NDArray[np.bool_]) -> ClippedCusum:
        """The state with the sums of these peers [p] at zero."""
        return replace(self, sums=np.where(peers, 0.0, self.sums))

"""Clipped sums (CUSUM) of how far peers are behind: impatient ones for much, patient ones for little."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holter.types import FloatArray, IntArray

_CLIP = 5.0
"""In units of noise: one row far out counts for so much and no more."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ClippedCusum:
    """One sum for each peer [p], as it stands after the rows so far.

    A row adds its distance less `allowance`, in units of noise; a sum never falls below zero. Above `alarm`
    the peer is behind. `least` is the correlation of noise that the alarm has room for; above it the alarm
    is raised by how much longer chance runs last then. `now` are the sums, `highest` their maxima in the
    last rows, `begun` the row after which each was last at zero.
    """

    allowance: float
    alarm: float
    least: float
    now: FloatArray
    highest: FloatArray
    begun: IntArray

    @classmethod
    def of(cls, peers: int, *, allowance: float, alarm: float, least: float) -> ClippedCusum:
        """For so many peers that nothing is known of."""
        zero = np.zeros(peers)
        return cls(
            allowance=allowance,
            alarm=alarm,
            least=least,
            now=zero,
            highest=zero,
            begun=np.zeros(peers, dtype=np.int64),
        )

    def over(self, distance: FloatArray) -> FloatArray:
        """The sums after each of the rows that follow [n, p], by their distances [n, p]; NaN adds nothing."""
        z = np.clip(distance, -_CLIP, _CLIP) - self.allowance
        z[np.isnan(distance)] = 0.0
        # the recursion max(0, sum + z) over the rows, unrolled: how far above its lowest point so far
        walk = np.cumsum(z, axis=0)
        return np.asarray(walk + np.maximum(self.now, -np.minimum.accumulate(walk, axis=0)))

    def after(self, sums: FloatArray, stop: int, without: list[int]) -> ClippedCusum:
        """As they stand after rows up to `stop`, those of some peers at zero."""
        at_zero = sums <= 0
        last_zero = stop - 1 - np.argmax(at_zero[::-1], axis=0)
        return replace(
            self,
            now=np.where(np.isin(np.arange(len(self.now)), without), 0.0, sums[-1]),
            highest=sums.max(axis=0),
            begun=np.where(at_zero.any(axis=0), last_zero + 1, self.begun),
        )

    def begin_of(self, rank: int, row: int, sums: FloatArray) -> int:
        """The row from which on a peer's sum has been above zero, with its sums [n] up to `row`."""
        zeros = np.flatnonzero(sums <= 0)
        return row - len(sums) + 2 + int(zeros[-1]) if len(zeros) else int(self.begun[rank])

    def level(self, correlation: float) -> float:
        """The alarm with neighbouring rows so correlated: chance lasts (1 + r) / (1 - r) times as long."""
        r = min(correlation, 0.9)
        return self.alarm * ((1 + r) / (1 - r) if r > self.least else 1.0)

    def restless(self, alarm: float) -> NDArray[np.bool_]:
        """Which peers were above an alarm in the last rows [p]."""
        return np.asarray(self.highest > alarm)

    def calmed(self, which: NDArray[np.bool_]) -> ClippedCusum:
        """With the sums of some peers [p] at zero."""
        return replace(self, now=np.where(which, 0.0, self.now))

"""Rows of timings side by side: every rank's own, how far it is behind its peers, and what they wait."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from holter.detectors.positions import At
from holter.detectors.ranks.rank_matrix import RankMatrix, log_ratio_to_peers, peer_median
from holter.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class TimingRows:
    """Consecutive rows [n] of all ranks [p], `first` being the number of the first of them.

    `own` [n, p] are the ranks' times, `usual` [n] their median, `beyond` [n, p] the logarithm of one over
    the other; `wait` [n, p] are the times in collectives, with no column where none are logged, and
    `waiting` [n] their median.
    """

    first: int
    attempt: IntArray
    step: IntArray
    own: FloatArray
    usual: FloatArray
    beyond: FloatArray
    wait: FloatArray
    waiting: FloatArray

    @property
    def has_waits(self) -> bool:
        return bool(self.wait.shape[1])

    def at(self, row: int) -> At:
        """Where a row stands."""
        return At(row, int(self.attempt[row - self.first]), int(self.step[row - self.first]))

    def and_then(self, others: TimingRows) -> TimingRows:
        """These rows and those that follow them."""
        joined = {name: np.concatenate((getattr(self, name), getattr(others, name))) for name in _COLUMNS}
        return TimingRows(first=self.first, **joined)

    def before(self, row: int, count: int) -> TimingRows:
        """So many rows before one, free of the others."""
        first = max(row - count, self.first)
        part = slice(first - self.first, row - self.first)
        return TimingRows(first=first, **{name: getattr(self, name)[part].copy() for name in _COLUMNS})


_COLUMNS = [one.name for one in fields(TimingRows) if one.name != "first"]


def build_timing_rows(ranks: RankMatrix, wait: RankMatrix | None, first: int) -> TimingRows:
    """The rows of a table, numbered from `first` on, with the waits of the same ranks if they are known."""
    if wait is None:
        waits, waiting = np.empty((len(ranks.step), 0)), np.full(len(ranks.step), np.nan)
    else:
        waits, waiting = _beside(ranks, wait)
    usual = peer_median(ranks)
    return TimingRows(
        first=first,
        attempt=ranks.attempt,
        step=ranks.step,
        own=ranks.value,
        usual=usual,
        beyond=log_ratio_to_peers(ranks, usual),
        wait=waits,
        waiting=waiting,
    )


def _beside(ranks: RankMatrix, wait: RankMatrix) -> tuple[FloatArray, FloatArray]:
    """The waits at the rows of another table [n, p], and their medians [n]; NaN where there are none."""
    median = peer_median(wait)
    if np.array_equal(ranks.step, wait.step) and np.array_equal(ranks.attempt, wait.attempt):
        return wait.value, median
    place = {
        place: row for row, place in enumerate(zip(wait.attempt.tolist(), wait.step.tolist(), strict=True))
    }
    mine = zip(ranks.attempt.tolist(), ranks.step.tolist(), strict=True)
    row = np.array([place.get(one, -1) for one in mine], dtype=np.int64)
    known = row >= 0
    values, medians = np.full((len(row), wait.value.shape[1]), np.nan), np.full(len(row), np.nan)
    values[known], medians[known] = wait.value[row[known]], median[row[known]]
    return values, medians

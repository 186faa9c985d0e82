"""Rows of timings of all ranks: each rank's time, its ratio to the peers, and the waits in collectives."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from holter.detectors.positions import RowPosition
from holter.detectors.ranks.rank_matrix import RankMatrix, log_ratio_to_peers, peer_median
from holter.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class TimingRows:
    """Consecutive rows [n] of all ranks [p]; `first` is the number of the first row.

    `time` [n, p] are the ranks' times, `median_time` [n] their median and `log_ratio` [n, p] the logarithm of
    time over median. `wait` [n, p] are the times in collectives, without columns where none are logged, and
    `median_wait` [n] their median.
    """

    first: int
    attempt: IntArray
    step: IntArray
    time: FloatArray
    median_time: FloatArray
    log_ratio: FloatArray
    wait: FloatArray
    median_wait: FloatArray

    @property
    def has_waits(self) -> bool:
        """Whether times in collectives are logged."""
        return bool(self.wait.shape[1])

    def position(self, row: int) -> RowPosition:
        """The position of a row."""
        return RowPosition(row, int(self.attempt[row - self.first]), int(self.step[row - self.first]))

    def append(self, others: TimingRows) -> TimingRows:
        """These rows and those that follow them."""
        joined = {name: np.concatenate((getattr(self, name), getattr(others, name))) for name in _ARRAYS}
        return TimingRows(first=self.first, **joined)

    def before(self, row: int, count: int) -> TimingRows:
        """A copy of the last `count` rows before a row."""
        first = max(row - count, self.first)
        part = slice(first - self.first, row - self.first)
        return TimingRows(first=first, **{name: getattr(self, name)[part].copy() for name in _ARRAYS})


_ARRAYS = [column.name for column in fields(TimingRows) if column.name != "first"]


def build_timing_rows(ranks: RankMatrix, wait: RankMatrix | None, first: int) -> TimingRows:
    """The rows of a matrix of times, numbered from `first` on, with the waits of the same ranks if known."""
    if wait is None:
        waits, median_wait = np.empty((len(ranks.step), 0)), np.full(len(ranks.step), np.nan)
    else:
        waits, median_wait = _align_waits(ranks, wait)
    median = peer_median(ranks)
    return TimingRows(
        first=first,
        attempt=ranks.attempt,
        step=ranks.step,
        time=ranks.value,
        median_time=median,
        log_ratio=log_ratio_to_peers(ranks, median),
        wait=waits,
        median_wait=median_wait,
    )


def _align_waits(ranks: RankMatrix, wait: RankMatrix) -> tuple[FloatArray, FloatArray]:
    """The waits at the rows of another matrix [n, p], and their medians [n]; NaN where there are none."""
    median = peer_median(wait)
    if np.array_equal(ranks.step, wait.step) and np.array_equal(ranks.attempt, wait.attempt):
        return wait.value, median
    positions = zip(wait.attempt.tolist(), wait.step.tolist(), strict=True)
    row_at = {position: row for row, position in enumerate(positions)}
    wanted = zip(ranks.attempt.tolist(), ranks.step.tolist(), strict=True)
    row = np.array([row_at.get(position, -1) for position in wanted], dtype=np.int64)
    known = row >= 0
    values, medians = np.full((len(row), wait.value.shape[1]), np.nan), np.full(len(row), np.nan)
    values[known], medians[known] = wait.value[row[known]], median[row[known]]
    return values, medians

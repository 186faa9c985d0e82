"""One quantity of all ranks as a matrix, and each rank's ratio to its peers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from holter.detectors.positions import Position
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series, SeriesKey

_HOST_LABELS = ("host", "hostname", "node")
"""Labels that name the machine."""
_PER_RANK_LABELS = frozenset({"rank", "local_rank", "gpu", "process", "folder", *_HOST_LABELS})
"""Labels that differ from rank to rank."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RankMatrix:
    """Values [rows, ranks] of one quantity, NaN where a rank logged nothing; rows by attempt, then step."""

    keys: tuple[SeriesKey, ...]
    attempt: IntArray
    step: IntArray
    value: FloatArray

    def slice_rows(self, first: int, last: int) -> RankMatrix:
        """The rows from `first` to `last`, the latter not included."""
        rows = slice(first, last)
        return RankMatrix(
            keys=self.keys, attempt=self.attempt[rows], step=self.step[rows], value=self.value[rows]
        )

    def rows_up_to(self, place: Position) -> int:
        """The number of rows at a position or before it."""
        first, after = map(int, np.searchsorted(self.attempt, (place[0], place[0] + 1)))
        return first + int(np.searchsorted(self.step[first:after], place[1], side="right"))

    def position_before(self, row: int) -> Position | None:
        """The position of the row before this one; None for the first."""
        return (int(self.attempt[row - 1]), int(self.step[row - 1])) if row > 0 else None


def hosts_by_rank(run: RunData) -> dict[str, str]:
    """The host of each rank, where a label of any of its series names it."""
    hosts: dict[str, str] = {}
    for key in sorted(key for key in run.series if key.rank is not None):
        labels = dict(key.labels)
        host = next((labels[name] for name in _HOST_LABELS if name in labels), None)
        if host is not None:
            hosts.setdefault(labels["rank"], host)
    return hosts


def hosts_of_ranks(run: RunData, ranks: Iterable[str]) -> list[str]:
    """The hosts of these ranks, sorted; ranks whose host is unknown are left out."""
    hosts = hosts_by_rank(run)
    return sorted({hosts[rank] for rank in ranks if rank in hosts})


def series_by_rank(run: RunData, role: Role) -> list[list[Series]]:
    """The ranks' series of every metric of this role that at least three ranks log.

    Collectives of different kind, size or communicator are not compared: they differ in other labels.
    """
    by_common_key: dict[SeriesKey, list[SeriesKey]] = {}
    chosen = [key for key in run.series if role_of(key) is role and key.rank is not None]
    for key in sorted(chosen, key=_by_number):
        if len(run.series[key]):
            by_common_key.setdefault(common_key(key), []).append(key)
    return [[run.series[key] for key in keys] for keys in by_common_key.values() if len(keys) >= 3]


def common_key(key: SeriesKey) -> SeriesKey:
    """The part of the key that the series of several ranks share: without the rank and its host."""
    return SeriesKey(key.metric, tuple(label for label in key.labels if label[0] not in _PER_RANK_LABELS))


def _by_number(key: SeriesKey) -> tuple[str, int, SeriesKey]:
    rank = key.rank
    return key.metric, int(rank) if rank is not None and rank.isdecimal() else -1, key


def build_rank_matrix(
    series: Sequence[Series], first: Sequence[int] = (), last: Sequence[int] = ()
) -> RankMatrix:
    """The series of the ranks as one matrix; of each the rows from `first` to before `last`, where given."""
    begins, ends = first or [0] * len(series), last or [len(each) for each in series]
    parts = [slice(begin, end) for begin, end in zip(begins, ends, strict=True)]
    steps = [each.step[part] for each, part in zip(series, parts, strict=True)]
    attempts = [each.attempt[part] for each, part in zip(series, parts, strict=True)]
    values = [each.value[part] for each, part in zip(series, parts, strict=True)]
    keys = tuple(each.key for each in series)
    if len({len(step) for step in steps}) == 1 and _all_equal(steps) and _all_equal(attempts):
        return RankMatrix(keys=keys, attempt=attempts[0], step=steps[0], value=np.stack(values, axis=1))
    both = np.stack([np.concatenate(attempts), np.concatenate(steps)])
    positions, row = np.unique(both, axis=1, return_inverse=True)
    value = np.full((positions.shape[1], len(keys)), np.nan)
    column = np.repeat(np.arange(len(keys)), [len(step) for step in steps])
    value[row.ravel(), column] = np.concatenate(values)
    return RankMatrix(keys=keys, attempt=positions[0], step=positions[1], value=value)


def _all_equal(arrays: list[IntArray]) -> bool:
    return bool((np.stack(arrays) == arrays[0]).all())


def peer_median(ranks: RankMatrix) -> FloatArray:
    """Median over the ranks, row by row [rows]; NaN where fewer than three of them, or than half, logged."""
    good = np.isfinite(ranks.value) & (ranks.value > 0)
    # sorting puts NaN last: the median of the finite ones, without nanmedian's slow path
    ordered = np.sort(np.where(good, ranks.value, np.nan), axis=1)
    count = good.sum(axis=1)
    row, middle = np.arange(len(ordered)), np.maximum(count, 1)
    median = 0.5 * ordered[row, (middle - 1) // 2] + 0.5 * ordered[row, middle // 2]
    return np.where(count >= max(3, (len(ranks.keys) + 1) // 2), median, np.nan)


def log_ratio_to_peers(ranks: RankMatrix, median: FloatArray) -> FloatArray:
    """Logarithm of each value over the median of its row [rows, ranks]; NaN where a value is unusable."""
    good = np.isfinite(ranks.value) & (ranks.value > 0)
    log_ratio: FloatArray = np.log(np.where(good, ranks.value, np.nan)) - np.log(median)[:, None]
    return log_ratio

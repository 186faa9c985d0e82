"""One quantity over all ranks as a matrix, and each rank's distance from its peers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from holter.detectors.positions import Place
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series, SeriesKey

_HOSTS = ("host", "hostname", "node")
"""Labels that name the machine."""
_OWN = frozenset({"rank", "local_rank", "gpu", "process", "folder", *_HOSTS})
"""Labels that differ from rank to rank."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RankMatrix:
    """`value` [rows, ranks], NaN where a rank logged nothing; rows by attempt, then step."""

    keys: tuple[SeriesKey, ...]
    attempt: IntArray
    step: IntArray
    value: FloatArray

    def part(self, first: int, last: int) -> RankMatrix:
        """The rows from `first` to `last`, the latter not included."""
        rows = slice(first, last)
        return RankMatrix(
            keys=self.keys, attempt=self.attempt[rows], step=self.step[rows], value=self.value[rows]
        )

    def rows_upto(self, place: Place) -> int:
        """How many rows stand at a place or before it."""
        first, after = map(int, np.searchsorted(self.attempt, (place[0], place[0] + 1)))
        return first + int(np.searchsorted(self.step[first:after], place[1], side="right"))

    def place_before(self, row: int) -> Place | None:
        """Where the row before one stands, None where there is none."""
        return (int(self.attempt[row - 1]), int(self.step[row - 1])) if row > 0 else None


def hosts_by_rank(run: RunData) -> dict[str, str]:
    """The host of each rank, where a label of any of its series names it."""
    found: dict[str, str] = {}
    for key in sorted(key for key in run.series if rank_of(key) is not None):
        labels = dict(key.labels)
        host = next((labels[name] for name in _HOSTS if name in labels), None)
        if host is not None:
            found.setdefault(labels["rank"], host)
    return found


def hosts_of_ranks(run: RunData, ranks: Iterable[str]) -> list[str]:
    """The hosts of some ranks, as far as they are named, in their order."""
    hosts = hosts_by_rank(run)
    return sorted({hosts[rank] for rank in ranks if rank in hosts})


def rank_of(key: SeriesKey) -> str | None:
    """The rank a series belongs to, None if it speaks for the whole run."""
    return next((value for name, value in key.labels if name == "rank"), None)


def series_by_rank(run: RunData, role: Role) -> list[list[Series]]:
    """The ranks' series of every metric of this role that at least three ranks log.

    Collectives of another kind, size or communicator are not compared: they differ in other labels.
    """
    alike: dict[SeriesKey, list[SeriesKey]] = {}
    chosen = [key for key in run.series if role_of(key) is role and rank_of(key) is not None]
    for key in sorted(chosen, key=_by_number):
        if len(run.series[key]):
            alike.setdefault(common_key(key), []).append(key)
    return [[run.series[key] for key in keys] for keys in alike.values() if len(keys) >= 3]


def common_key(key: SeriesKey) -> SeriesKey:
    """What the series of several ranks have in common: all but the rank, and where it runs."""
    return SeriesKey(key.metric, tuple(label for label in key.labels if label[0] not in _OWN))


def _by_number(key: SeriesKey) -> tuple[str, int, SeriesKey]:
    rank = rank_of(key)
    return key.metric, int(rank) if rank is not None and rank.isdecimal() else -1, key


def build_rank_matrix(
    series: Sequence[Series], first: Sequence[int] = (), last: Sequence[int] = ()
) -> RankMatrix:
    """What the ranks logged as one table; of each only the rows from `first` to `last`, the latter not
    included, where they are given."""
    begins, ends = first or [0] * len(series), last or [len(one) for one in series]
    parts = [slice(begin, end) for begin, end in zip(begins, ends, strict=True)]
    steps = [one.step[part] for one, part in zip(series, parts, strict=True)]
    attempts = [one.attempt[part] for one, part in zip(series, parts, strict=True)]
    values = [one.value[part] for one, part in zip(series, parts, strict=True)]
    keys = tuple(one.key for one in series)
    if len({len(step) for step in steps}) == 1 and _all_equal(steps) and _all_equal(attempts):
        return RankMatrix(keys=keys, attempt=attempts[0], step=steps[0], value=np.stack(values, axis=1))
    both = np.stack([np.concatenate(attempts), np.concatenate(steps)])
    places, row = np.unique(both, axis=1, return_inverse=True)
    value = np.full((places.shape[1], len(keys)), np.nan)
    column = np.repeat(np.arange(len(keys)), [len(step) for step in steps])
    value[row.ravel(), column] = np.concatenate(values)
    return RankMatrix(keys=keys, attempt=places[0], step=places[1], value=value)


def _all_equal(arrays: list[IntArray]) -> bool:
    return bool((np.stack(arrays) == arrays[0]).all())


def peer_median(ranks: RankMatrix) -> FloatArray:
    """Median over the ranks, row by row [rows]; NaN where fewer than three of them, or than half, logged."""
    good = np.isfinite(ranks.value) & (ranks.value > 0)
    # sorting puts NaN last: the median of the first so many, without nanmedian's slow path
    ordered = np.sort(np.where(good, ranks.value, np.nan), axis=1)
    count = good.sum(axis=1)
    row, middle = np.arange(len(ordered)), np.maximum(count, 1)
    median = 0.5 * ordered[row, (middle - 1) // 2] + 0.5 * ordered[row, middle // 2]
    return np.where(count >= max(3, (len(ranks.keys) + 1) // 2), median, np.nan)


def log_ratio_to_peers(ranks: RankMatrix, median: FloatArray) -> FloatArray:
    """Logarithm of each value over the median of its row [rows, ranks]; NaN where it says nothing."""
    good = np.isfinite(ranks.value) & (ranks.value > 0)
    beyond: FloatArray = np.log(np.where(good, ranks.value, np.nan)) - np.log(median)[:, None]
    return beyond

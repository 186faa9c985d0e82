"""One quantity over all ranks as a matrix, and each rank's distance from its peers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from holter.metrics import Role, role_of
from holter.types import FloatArray, IntArray, RunData, SeriesKey


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranks:
    """`value` [rows, ranks], NaN where a rank logged nothing; rows by attempt, then step."""

    keys: tuple[SeriesKey, ...]
    attempt: IntArray
    step: IntArray
    value: FloatArray


def rank_of(key: SeriesKey) -> str | None:
    """The rank a series belongs to, None if it speaks for the whole run."""
    return next((value for name, value in key.labels if name == "rank"), None)


def by_rank(run: RunData, role: Role) -> Iterator[Ranks]:
    """Every metric of this role that at least three ranks log, with what all of them logged."""
    metrics: dict[str, list[SeriesKey]] = {}
    for key in sorted(run.series, key=_by_number):
        if rank_of(key) is not None and role_of(key) is role and len(run.series[key]):
            metrics.setdefault(key.metric, []).append(key)
    for keys in metrics.values():
        if len(keys) >= 3:
            yield _matrix(run, tuple(keys))


def _by_number(key: SeriesKey) -> tuple[str, int, SeriesKey]:
    rank = rank_of(key)
    return key.metric, int(rank) if rank is not None and rank.isdecimal() else -1, key


def _matrix(run: RunData, keys: tuple[SeriesKey, ...]) -> Ranks:
    series = [run.series[key] for key in keys]
    first = series[0]
    if all(
        np.array_equal(one.step, first.step) and np.array_equal(one.attempt, first.attempt) for one in series
    ):
        value = np.stack([one.value for one in series], axis=1)
        return Ranks(keys=keys, attempt=first.attempt, step=first.step, value=value)
    attempts = np.concatenate([one.attempt for one in series])
    steps = np.concatenate([one.step for one in series])
    places, row = np.unique(np.stack([attempts, steps]), axis=1, return_inverse=True)
    value = np.full((places.shape[1], len(keys)), np.nan)
    column = np.repeat(np.arange(len(keys)), [len(one) for one in series])
    value[row.ravel(), column] = np.concatenate([one.value for one in series])
    return Ranks(keys=keys, attempt=places[0], step=places[1], value=value)


def peer_median(ranks: Ranks) -> FloatArray:
    """Median over the ranks, row by row [rows]; NaN where fewer than three of them, or than half, logged."""
    good = np.isfinite(ranks.value) & (ranks.value > 0)
    # sorting puts NaN last: the median of the first so many, without nanmedian's slow path
    ordered = np.sort(np.where(good, ranks.value, np.nan), axis=1)
    count = good.sum(axis=1)
    row, middle = np.arange(len(ordered)), np.maximum(count, 1)
    median = 0.5 * ordered[row, (middle - 1) // 2] + 0.5 * ordered[row, middle // 2]
    return np.where(count >= max(3, (len(ranks.keys) + 1) // 2), median, np.nan)


def beyond_peers(ranks: Ranks) -> FloatArray:
    """Logarithm of each value over the median of its row [rows, ranks]; NaN where it says nothing."""
    good = np.isfinite(ranks.value) & (ranks.value > 0)
    beyond: FloatArray = np.log(np.where(good, ranks.value, np.nan)) - np.log(peer_median(ranks))[:, None]
    return beyond

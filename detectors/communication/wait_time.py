"""Who waits for whom: the rank whose time in a collective is shortest came last, and the others waited."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import bdtrc

from holter.detectors.ranks.naming import whose
from holter.detectors.ranks.rank_matrix import common_key, hosts_of, table_of
from holter.types import FloatArray, RunData, Series, SeriesKey

TIMES = {"collective_time (us)": 1e-6, "time_us": 1e-6}
"""Series of times in collectives, with their unit in seconds. The second are a trace's means by size."""
_FEWEST = 8
"""Calls from which on it means something who is last."""
_OFTEN, _CHANCE = 1.5, 1e-6
"""A rank is last often: so many times as chance has it, and more often than chance ever has it."""


@dataclass(frozen=True, kw_only=True)
class Waits:
    """A rank that the others of its communicator wait for: in `last` of `calls` it came last, and each other
    waited `mean_wait` seconds for it then, in the median of the others; `waited` seconds altogether."""

    communicator: str
    rank: str
    host: str | None
    last: int
    calls: int
    mean_wait: float
    waited: float

    @property
    def share(self) -> float:
        """In which part of the calls it came last."""
        return self.last / self.calls if self.calls else 0.0


def waits(run: RunData) -> list[Waits]:
    """The ranks that came last more often than chance has it, those that cost most first."""
    hosts = hosts_of(run)
    found = [one for series in _side_by_side(run) for one in _in(run, series, hosts)]
    joined: dict[tuple[str, str], Waits] = {}
    for one in found:
        known = joined.get((one.communicator, one.rank))
        joined[one.communicator, one.rank] = one if known is None else _together(known, one)
    return sorted(joined.values(), key=lambda one: -one.waited)


def _often(calls: int, ranks: int) -> float:
    """How many times last is more than chance."""
    return float(max(_OFTEN * calls / ranks, _by_chance(calls, 1 / ranks) + 1))


def _by_chance(calls: int, share: float) -> int:
    """How many of the calls chance alone does not exceed (scipy.stats would cost every server 60 MB)."""
    return bisect_left(range(calls + 1), -_CHANCE, key=lambda count: -float(bdtrc(count, calls, share)))


def _side_by_side(run: RunData) -> list[list[Series]]:
    """The times of the ranks in the same collectives."""
    alike: dict[SeriesKey, list[Series]] = {}
    for key in sorted(run.series):
        labels = dict(key.labels)
        of_ranks = "rank" in labels and ("comm" in labels or "process_group" in labels)
        if key.metric in TIMES and of_ranks and len(run.series[key]):
            alike.setdefault(common_key(key), []).append(run.series[key])
    return [series for series in alike.values() if len(series) > 1]


def _in(run: RunData, series: list[Series], hosts: Mapping[str, str]) -> Iterator[Waits]:
    key = common_key(series[0].key)
    counts = _calls(run, series)
    time: FloatArray = table_of(series).value * TIMES[key.metric]
    time = time[(np.isfinite(time) & (time > 0)).all(axis=1)]
    if not len(time) or (counts is None and len(time) < _FEWEST):
        return
    weight = np.ones(len(time)) if counts is None else np.full(len(time), counts)
    last = time.argmin(axis=1)
    wait = np.median(time, axis=1) - time.min(axis=1)
    calls = int(weight.sum())
    labels = dict(key.labels)
    for rank in np.unique(last).tolist():
        mine = last == rank
        times = int(weight[mine].sum())
        if calls >= _FEWEST and times >= _often(calls, len(series)):
            name = whose(series[rank].key)
            yield Waits(
                communicator=labels.get("comm_name") or labels.get("comm") or labels.get("process_group", ""),
                rank=name,
                host=hosts.get(name),
                last=times,
                calls=calls,
                mean_wait=float(np.average(wait[mine], weights=weight[mine])),
                waited=float((wait[mine] * weight[mine]).sum()),
            )


def _calls(run: RunData, series: list[Series]) -> float | None:
    """How many calls a point of a trace stands for; None where each call is a point."""
    if series[0].key.metric != "time_us":
        return None
    counts = run.series.get(SeriesKey("calls", series[0].key.labels))
    return (
        float(np.nanmedian(counts.value)) if counts is not None and np.isfinite(counts.value).any() else 1.0
    )


def _together(one: Waits, other: Waits) -> Waits:
    last, waited = one.last + other.last, one.waited + other.waited
    return replace(
        one, last=last, calls=one.calls + other.calls, waited=waited, mean_wait=waited / max(last, 1)
    )

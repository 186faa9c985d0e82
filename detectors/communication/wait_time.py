"""Finds ranks that others wait for.

The rank with the shortest time in a collective came last, and a rank whose last logged call is behind that of
the other ranks has not come after a hang.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import bdtrc

from holter.detectors.ranks.naming import rank_or_process
from holter.detectors.ranks.rank_matrix import build_rank_matrix, common_key, hosts_by_rank
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, RunData, Series, SeriesKey

CALL_METRICS = frozenset({"collective_time (us)", "nccl_op_count"})
_CALL_STEPS = frozenset({"sequence number", "opCount"})
TIMES = {"collective_time (us)": 1e-6, "time_us": 1e-6}
"""Metrics of times in collectives, with their unit in seconds. The second has a trace's means by size."""


@dataclass(frozen=True, kw_only=True)
class WaitedForThresholds(Thresholds):
    """When a rank that comes last in collectives counts as one that the others wait for."""

    min_calls: int = 8
    """Calls. With fewer, the rank that comes last is a matter of chance."""
    min_ratio_to_chance: float = 1.5
    """Times. A rank must come last this many times as often as each rank would by chance."""
    chance: float = 1e-6
    """Probability. It must also come last more often than chance explains at this probability (binomial)."""


@dataclass(frozen=True, kw_only=True)
class WaitedForRank:
    """A rank that the others of its communicator wait for.

    It came last in `last` of `calls`. Each of the others (their median) then waited `mean_wait` seconds for
    it, `waited` seconds in total.
    """

    communicator: str
    rank: str
    host: str | None
    last: int
    calls: int
    mean_wait: float
    waited: float

    @property
    def share(self) -> float:
        """The share of the calls in which it came last."""
        return self.last / self.calls if self.calls else 0.0


def waited_for_ranks(
    run: RunData, thresholds: WaitedForThresholds = WaitedForThresholds()
) -> list[WaitedForRank]:
    """The ranks that came last more often than by chance, those that cost most first."""
    hosts = hosts_by_rank(run)
    joined: dict[tuple[str, str], WaitedForRank] = {}
    for series in _series_by_collective(run):
        for rank in _ranks_of_collective(run, series, hosts, thresholds):
            known = joined.get((rank.communicator, rank.rank))
            joined[rank.communicator, rank.rank] = rank if known is None else _add(known, rank)
    return sorted(joined.values(), key=lambda rank: -rank.waited)


def _min_times_last(calls: int, ranks: int, thresholds: WaitedForThresholds) -> float:
    """The number of times that a rank must come last to count as waited for."""
    by_chance = _max_by_chance(calls, 1 / ranks, thresholds.chance)
    return float(max(thresholds.min_ratio_to_chance * calls / ranks, by_chance + 1))


def _max_by_chance(calls: int, share: float, chance: float) -> int:
    """The number of calls that chance alone does not exceed (importing scipy.stats would cost 60 MB)."""
    return bisect_left(range(calls + 1), -chance, key=lambda count: -float(bdtrc(count, calls, share)))


def _series_by_collective(run: RunData) -> list[list[Series]]:
    """The times of the ranks in the same collectives."""
    by_key: dict[SeriesKey, list[Series]] = {}
    for key in sorted(run.series):
        labels = dict(key.labels)
        of_ranks = "rank" in labels and ("comm" in labels or "process_group" in labels)
        if key.metric in TIMES and of_ranks and len(run.series[key]):
            by_key.setdefault(common_key(key), []).append(run.series[key])
    return [series for series in by_key.values() if len(series) > 1]


def _ranks_of_collective(
    run: RunData, series: list[Series], hosts: Mapping[str, str], thresholds: WaitedForThresholds
) -> Iterator[WaitedForRank]:
    key = common_key(series[0].key)
    counts = _calls_per_point(run, series)
    time: FloatArray = build_rank_matrix(series).value * TIMES[key.metric]
    time = time[(np.isfinite(time) & (time > 0)).all(axis=1)]
    if not len(time) or (counts is None and len(time) < thresholds.min_calls):
        return
    weight = np.ones(len(time)) if counts is None else np.full(len(time), counts)
    last = time.argmin(axis=1)
    wait = np.median(time, axis=1) - time.min(axis=1)
    calls = int(weight.sum())
    labels = dict(key.labels)
    for rank in np.unique(last).tolist():
        is_last = last == rank
        times = int(weight[is_last].sum())
        if calls >= thresholds.min_calls and times >= _min_times_last(calls, len(series), thresholds):
            name = rank_or_process(series[rank].key)
            yield WaitedForRank(
                communicator=labels.get("comm_name") or labels.get("comm") or labels.get("process_group", ""),
                rank=name,
                host=hosts.get(name),
                last=times,
                calls=calls,
                mean_wait=float(np.average(wait[is_last], weights=weight[is_last])),
                waited=float((wait[is_last] * weight[is_last]).sum()),
            )


def _calls_per_point(run: RunData, series: list[Series]) -> float | None:
    """The number of calls that a point of a trace summarises; None where each call is a point."""
    if series[0].key.metric != "time_us":
        return None
    counts = run.series.get(SeriesKey("calls", series[0].key.labels))
    return (
        float(np.nanmedian(counts.value)) if counts is not None and np.isfinite(counts.value).any() else 1.0
    )


def _add(left: WaitedForRank, right: WaitedForRank) -> WaitedForRank:
    last, waited = left.last + right.last, left.waited + right.waited
    return replace(
        left, last=last, calls=left.calls + right.calls, waited=waited, mean_wait=waited / max(last, 1)
    )


@dataclass(frozen=True, kw_only=True)
class RankBehind:
    """A rank whose last call in a communicator is number `last`, while all other ranks reached `others`.

    After a hang this is the rank that the others wait for. In a job that continues, ranks are merely observed
    at different calls.
    """

    communicator: str
    rank: str
    host: str | None
    last: int
    others: int
    ranks: int


def find_ranks_behind(run: RunData) -> list[RankBehind]:
    """The ranks behind of each communicator in which they are a minority."""
    last: dict[tuple[str, int, str], dict[str, int]] = {}
    for key in run.series:
        labels = dict(key.labels)
        group = labels.get("comm") or labels.get("process_group")
        series = run.series[key] if key.metric in CALL_METRICS and key.step_unit in _CALL_STEPS else None
        if series is None or group is None or not len(series) or not rank_or_process(key):
            continue
        of_ranks = last.setdefault((group, int(series.attempt[-1]), key.step_unit or ""), {})
        of_ranks[rank_or_process(key)] = max(of_ranks.get(rank_or_process(key), -1), int(series.step[-1]))
    hosts = hosts_by_rank(run) if last else {}
    return [rank for identity in sorted(last) for rank in _behind(hosts, identity[0], last[identity])]


def _behind(hosts: Mapping[str, str], communicator: str, last: dict[str, int]) -> Iterator[RankBehind]:
    furthest = max(last.values())
    behind = sorted((number, rank) for rank, number in last.items() if number < furthest)
    if behind and 2 * len(behind) < len(last):
        for number, rank in behind:
            yield RankBehind(
                communicator=communicator,
                rank=rank,
                host=hosts.get(rank),
                last=number,
                others=furthest,
                ranks=len(last),
            )

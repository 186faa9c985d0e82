"""How fast collectives are, by operation, size and communicator, and what the hardware between them gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace

import numpy as np

from holter.bus_bandwidth import bus_bandwidth
from holter.detectors.communication.hardware_links import Link, between_nodes, nodes_of, within_node
from holter.detectors.ranks.rank_matrix import common_key, table_of
from holter.types import FloatArray, RunData, Series, SeriesKey

SMALL = 2**20
"""Bytes of a call below which links are not measured: nccl-tests reach half of a link's bandwidth only from
some megabytes on.
"""


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Calls of one collective that are alike. `bytes` of one call, None where the log tells only a class.

    `seconds` of all calls on a rank, waiting included. `busbw` in GB/s is that of the rank that waited
    least, in the median of the calls. `link` is what it goes over at best, None where that is not known.
    """

    source: str
    collective: str
    communicator: str
    size: str
    bytes: float
    ranks: int
    calls: int
    seconds: float
    busbw: float
    link: Link | None = None

    @property
    def is_small(self) -> bool:
        """Whether latency takes the time, not bandwidth; what is of no known size is not."""
        return 0 < self.bytes < SMALL

    @property
    def share(self) -> float | None:
        """Of what the link gives; NVLink SHARP may reach more than all. None for small calls."""
        return None if self.link is None or self.is_small else self.busbw / self.link.gbs


def speeds(run: RunData) -> list[Speed]:
    """Every kind of call whose bandwidth is told, those that take the longest first."""
    found = [*_benchmarks(run), *_trials(run), *_traces(run), *_calls(run)]
    over = _Links(within=within_node(run), between=between_nodes(run), nodes=nodes_of(run), hosts=_hosts(run))
    linked = [replace(one, link=over.link(one.communicator)) for one in found]
    return sorted(
        linked, key=lambda one: (-one.seconds * (one.calls > 0), one.source, one.collective, -one.bytes)
    )


@dataclass(frozen=True, kw_only=True)
class _Links:
    """What is known of the hardware: links, how many nodes there are, the hosts of each communicator."""

    within: Link | None
    between: Link | None
    nodes: int
    hosts: Mapping[str, Set[str]]

    def link(self, communicator: str) -> Link | None:
        """What a communicator goes over: the slower of both where it leaves a node; None where unknown."""
        hosts = len(self.hosts.get(communicator, ()))
        if self.nodes == 1 or hosts == 1:
            return self.within
        if self.between is None or (self.nodes < 2 and hosts < 2):
            return None
        return min((link for link in (self.within, self.between) if link), key=lambda link: link.gbs)


def _hosts(run: RunData) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for key in run.series:
        labels = dict(key.labels)
        if "comm" in labels and "host" in labels:
            found.setdefault(labels["comm"], set()).add(labels["host"])
    return found


def _benchmarks(run: RunData) -> Iterator[Speed]:
    """Rows of nccl-tests' and all_reduce_bench's tables: out of place."""
    for key, series in _named(run, "busbw_gbs", "message bytes"):
        labels = dict(key.labels)
        if "process_group" in labels or labels.get("in_place") == "yes":
            continue
        times = run.series.get(SeriesKey("time_us", key.labels))
        for row in np.flatnonzero(np.isfinite(series.value) & (series.value > 0)).tolist():
            step = int(series.step[row])
            yield Speed(
                source="benchmark",
                collective=labels.get("collective") or "collective",
                communicator="",
                size=str(step),
                bytes=float(step),
                ranks=_number(labels.get("ranks")),
                calls=0,
                seconds=_at(times, step) / 1e6,
                busbw=float(series.value[row]),
            )


def _trials(run: RunData) -> Iterator[Speed]:
    """What each rank of an old all_reduce_bench.py said of its own trials; their payload is not told."""
    alike: dict[SeriesKey, list[Series]] = {}
    for key, series in _named(run, "busbw_gbs", "trials"):
        alike.setdefault(common_key(key), []).append(series)
    for key, ranks in alike.items():
        told = np.concatenate([one.value for one in ranks])
        told = told[np.isfinite(told) & (told > 0)]
        if len(told):
            yield Speed(
                source="benchmark",
                collective=dict(key.labels).get("collective", ""),
                communicator="",
                size="trials",
                bytes=0.0,
                ranks=len(ranks),
                calls=0,
                seconds=0.0,
                busbw=float(np.median(told)),
            )


def _traces(run: RunData) -> Iterator[Speed]:
    """Kernels in traces by size; of several ranks the one that waited least tells the speed."""
    alike: dict[SeriesKey, list[Series]] = {}
    for key, series in _named(run, "best_busbw_gbs", "message bytes"):
        alike.setdefault(common_key(key), []).append(series)
    for key, ranks in alike.items():
        labels, table = dict(key.labels), table_of(ranks)
        for row, step in enumerate(table.step.tolist()):
            best = table.value[row][np.isfinite(table.value[row])]
            calls = _over(run, "calls", ranks, step)
            yield Speed(
                source="trace",
                collective=labels.get("collective", ""),
                communicator=labels.get("process_group", ""),
                size=str(step),
                bytes=float(step),
                ranks=_number(labels.get("ranks")),
                calls=int(calls),
                seconds=_over(run, "time_us", ranks, step) * calls / 1e6,
                busbw=float(best.max(initial=0)),
            )


def _calls(run: RunData) -> Iterator[Speed]:
    """Calls one by one, as NCCL's Inspector and PyTorch's Flight Recorder time them."""
    alike: dict[SeriesKey, list[Series]] = {}
    for key, series in _named(run, "collective_time (us)", "sequence number"):
        alike.setdefault(common_key(key), []).append(series)
    groups = _sizes(run)
    for key, ranks in alike.items():
        labels = dict(key.labels)
        sizes = [run.series.get(SeriesKey("message_bytes", one.key.labels)) for one in ranks]
        told = [float(np.nanmedian(one.value)) for one in sizes if one is not None and len(one)]
        size = float(np.median(told)) if told else 0.0
        time = table_of(ranks).value
        good: FloatArray = np.where(np.isfinite(time) & (time > 0), time, np.nan)
        good = good[np.isfinite(good).any(axis=1)]
        if not len(good):
            continue
        shortest = np.nanmin(good, axis=1)
        yield Speed(
            source="calls",
            collective=labels.get("collective", ""),
            communicator=labels.get("comm") or labels.get("process_group", ""),
            size=labels.get("size", str(int(size))),
            bytes=size,
            ranks=len(ranks),
            calls=len(good),
            seconds=float(np.nansum(np.nanmedian(good, axis=1))) / 1e6,
            busbw=_told(run, ranks)
            or bus_bandwidth(
                labels.get("collective", ""),
                size,
                float(np.median(shortest)),
                max(groups.get(labels.get("process_group", ""), 0), len(ranks)),
            ),
        )


def _told(run: RunData, ranks: list[Series]) -> float:
    """The bus bandwidth that the log tells of the fastest rank, in the median of the calls; 0 for none."""
    told = [run.series[key] for one in ranks if (key := SeriesKey("busbw_gbs", one.key.labels)) in run.series]
    if not told:
        return 0.0
    value = table_of(told).value
    best = np.where(np.isfinite(value), value, 0).max(axis=1)
    return float(np.median(best[best > 0])) if (best > 0).any() else 0.0


def _sizes(run: RunData) -> dict[str, int]:
    """How many ranks each process group has, as dumps say."""
    found: dict[str, int] = {}
    for key in run.series:
        group = dict(key.labels).get("process_group")
        if key.metric == "process_group_ranks" and group is not None and len(run.series[key]):
            size = float(run.series[key].value[-1])
            found[group] = max(found.get(group, 0), int(size) if 0 < size < 1e7 else 0)
    return found


def _named(run: RunData, metric: str, steps: str) -> Iterator[tuple[SeriesKey, Series]]:
    for key in sorted(run.series):
        if key.metric == metric and key.own_steps == steps and len(run.series[key]):
            yield key, run.series[key]


def _over(run: RunData, metric: str, ranks: list[Series], step: int) -> float:
    """The median over ranks of another metric of the same kernels."""
    values = [_at(run.series.get(SeriesKey(metric, one.key.labels)), step) for one in ranks]
    known = [value for value in values if value]
    return float(np.median(known)) if known else 0.0


def _at(series: Series | None, step: int) -> float:
    """The newest value at a step, 0 where there is none."""
    rows = np.flatnonzero(series.step == step) if series is not None else np.empty(0, dtype=np.int64)
    value = float(series.value[rows[-1]]) if series is not None and len(rows) else 0.0
    return value if np.isfinite(value) else 0.0


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 9 else 0

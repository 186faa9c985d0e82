"""Bandwidth of collectives by operation, size and communicator, and the bandwidth of the hardware link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace

import numpy as np

from holter.bus_bandwidth import bus_bandwidth
from holter.detectors.communication.hardware_links import (
    HardwareLink,
    between_nodes,
    count_nodes,
    within_node,
)
from holter.detectors.ranks.rank_matrix import build_rank_matrix, common_key
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, RunData, Series, SeriesKey


@dataclass(frozen=True, kw_only=True)
class BandwidthThresholds(Thresholds):
    """Which collectives are compared with the bandwidth of the hardware."""

    small_call_bytes: int = 2**20
    """Bytes. Smaller calls do not measure a link: nccl-tests reach half of a link's bandwidth only from some
    megabytes on."""


@dataclass(frozen=True, kw_only=True)
class CollectiveBandwidth:
    """The speed of the calls of one collective with the same size and communicator.

    `bytes` is the size of one call, 0 where it is unknown. `seconds` is the time of all calls on a rank,
    waiting included. `busbw` is the bus bandwidth in GB/s of the rank that waited least, the median of the
    calls. `link` is the link that the data passes at best, None where unknown. `is_small`: latency determines
    the time, not bandwidth; False for calls of unknown size.
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
    link: HardwareLink | None = None
    is_small: bool = False

    @property
    def share(self) -> float | None:
        """The share of the link's bandwidth, above 1 with NVLink SHARP; None for small calls."""
        return None if self.link is None or self.is_small else self.busbw / self.link.gbs


def collective_speeds(
    run: RunData, thresholds: BandwidthThresholds = BandwidthThresholds()
) -> list[CollectiveBandwidth]:
    """The speed of every kind of call, those that take the longest first."""
    speeds = [*_benchmarks(run), *_trials(run), *_traces(run), *_calls(run)]
    links = _Links(
        within=within_node(run), between=between_nodes(run), nodes=count_nodes(run), hosts=_hosts(run)
    )
    complete = [
        replace(
            speed,
            link=links.link(speed.communicator),
            is_small=0 < speed.bytes < thresholds.small_call_bytes,
        )
        for speed in speeds
    ]
    return sorted(
        complete,
        key=lambda speed: (-speed.seconds * (speed.calls > 0), speed.source, speed.collective, -speed.bytes),
    )


@dataclass(frozen=True, kw_only=True)
class _Links:
    """The hardware of a run: links within and between nodes, the number of nodes, hosts by communicator."""

    within: HardwareLink | None
    between: HardwareLink | None
    nodes: int
    hosts: Mapping[str, Set[str]]

    def link(self, communicator: str) -> HardwareLink | None:
        """The link of a communicator: the slower of both where it leaves a node; None where unknown."""
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


def _benchmarks(run: RunData) -> Iterator[CollectiveBandwidth]:
    """Out-of-place rows of the tables of nccl-tests and all_reduce_bench."""
    for key, series in _series_of_metric(run, "busbw_gbs", "message bytes"):
        labels = dict(key.labels)
        if "process_group" in labels or labels.get("in_place") == "yes":
            continue
        times = run.series.get(SeriesKey("time_us", key.labels))
        for row in np.flatnonzero(np.isfinite(series.value) & (series.value > 0)).tolist():
            step = int(series.step[row])
            yield CollectiveBandwidth(
                source="benchmark",
                collective=labels.get("collective") or "collective",
                communicator="",
                size=str(step),
                bytes=float(step),
                ranks=_parse_int(labels.get("ranks")),
                calls=0,
                seconds=_newest_value(times, step) / 1e6,
                busbw=float(series.value[row]),
            )


def _trials(run: RunData) -> Iterator[CollectiveBandwidth]:
    """Trials that each rank of an old all_reduce_bench.py reports; their size is not logged."""
    by_key: dict[SeriesKey, list[Series]] = {}
    for key, series in _series_of_metric(run, "busbw_gbs", "trials"):
        by_key.setdefault(common_key(key), []).append(series)
    for key, ranks in by_key.items():
        bandwidths = np.concatenate([series.value for series in ranks])
        bandwidths = bandwidths[np.isfinite(bandwidths) & (bandwidths > 0)]
        if len(bandwidths):
            yield CollectiveBandwidth(
                source="benchmark",
                collective=key.label("collective") or "",
                communicator="",
                size="trials",
                bytes=0.0,
                ranks=len(ranks),
                calls=0,
                seconds=0.0,
                busbw=float(np.median(bandwidths)),
            )


def _traces(run: RunData) -> Iterator[CollectiveBandwidth]:
    """Kernels in traces by size; the speed is that of the rank that waited least."""
    by_key: dict[SeriesKey, list[Series]] = {}
    for key, series in _series_of_metric(run, "best_busbw_gbs", "message bytes"):
        by_key.setdefault(common_key(key), []).append(series)
    for key, ranks in by_key.items():
        labels, table = dict(key.labels), build_rank_matrix(ranks)
        for row, step in enumerate(table.step.tolist()):
            best = table.value[row][np.isfinite(table.value[row])]
            calls = _median_over_ranks(run, "calls", ranks, step)
            yield CollectiveBandwidth(
                source="trace",
                collective=labels.get("collective", ""),
                communicator=labels.get("process_group", ""),
                size=str(step),
                bytes=float(step),
                ranks=_parse_int(labels.get("ranks")),
                calls=int(calls),
                seconds=_median_over_ranks(run, "time_us", ranks, step) * calls / 1e6,
                busbw=float(best.max(initial=0)),
            )


def _calls(run: RunData) -> Iterator[CollectiveBandwidth]:
    """Single calls, as timed by NCCL's Inspector and PyTorch's Flight Recorder."""
    by_key: dict[SeriesKey, list[Series]] = {}
    for key, series in _series_of_metric(run, "collective_time (us)", "sequence number"):
        by_key.setdefault(common_key(key), []).append(series)
    groups = _sizes(run)
    for key, ranks in by_key.items():
        labels = dict(key.labels)
        logged = [run.series.get(SeriesKey("message_bytes", series.key.labels)) for series in ranks]
        sizes = [float(np.nanmedian(series.value)) for series in logged if series is not None and len(series)]
        size = float(np.median(sizes)) if sizes else 0.0
        time = build_rank_matrix(ranks).value
        good: FloatArray = np.where(np.isfinite(time) & (time > 0), time, np.nan)
        good = good[np.isfinite(good).any(axis=1)]
        if not len(good):
            continue
        shortest = np.nanmin(good, axis=1)
        yield CollectiveBandwidth(
            source="calls",
            collective=labels.get("collective", ""),
            communicator=labels.get("comm") or labels.get("process_group", ""),
            size=labels.get("size", str(int(size))),
            bytes=size,
            ranks=len(ranks),
            calls=len(good),
            seconds=float(np.nansum(np.nanmedian(good, axis=1))) / 1e6,
            busbw=_logged_bandwidth(run, ranks)
            or bus_bandwidth(
                labels.get("collective", ""),
                size,
                float(np.median(shortest)),
                max(groups.get(labels.get("process_group", ""), 0), len(ranks)),
            ),
        )


def _logged_bandwidth(run: RunData, ranks: list[Series]) -> float:
    """The logged bus bandwidth of the fastest rank, the median of the calls; 0 where none is logged."""
    keys = [SeriesKey("busbw_gbs", series.key.labels) for series in ranks]
    logged = [run.series[key] for key in keys if key in run.series]
    if not logged:
        return 0.0
    value = build_rank_matrix(logged).value
    best = np.where(np.isfinite(value), value, 0).max(axis=1)
    return float(np.median(best[best > 0])) if (best > 0).any() else 0.0


def _sizes(run: RunData) -> dict[str, int]:
    """The number of ranks of each process group, as dumps state it."""
    sizes: dict[str, int] = {}
    for key in run.series:
        group = key.label("process_group")
        if key.metric == "process_group_ranks" and group is not None and len(run.series[key]):
            size = float(run.series[key].value[-1])
            sizes[group] = max(sizes.get(group, 0), int(size) if 0 < size < 1e7 else 0)
    return sizes


def _series_of_metric(run: RunData, metric: str, steps: str) -> Iterator[tuple[SeriesKey, Series]]:
    for key in sorted(run.series):
        if key.metric == metric and key.step_unit == steps and len(run.series[key]):
            yield key, run.series[key]


def _median_over_ranks(run: RunData, metric: str, ranks: list[Series], step: int) -> float:
    """The median over ranks of another metric of the same kernels."""
    values = [_newest_value(run.series.get(SeriesKey(metric, series.key.labels)), step) for series in ranks]
    known = [value for value in values if value]
    return float(np.median(known)) if known else 0.0


def _newest_value(series: Series | None, step: int) -> float:
    """The newest value at a step, 0 where there is none."""
    rows = np.flatnonzero(series.step == step) if series is not None else np.empty(0, dtype=np.int64)
    value = float(series.value[rows[-1]]) if series is not None and len(rows) else 0.0
    return value if np.isfinite(value) else 0.0


def _parse_int(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 9 else 0

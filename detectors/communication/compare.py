"""Overview of a run's collectives: speed compared with the hardware, cost, and ranks that others wait for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from holter.detectors.communication.bandwidth import CollectiveBandwidth, collective_speeds
from holter.detectors.communication.wait_time import (
    CALL_METRICS,
    RankBehind,
    WaitedForRank,
    find_ranks_behind,
    waited_for_ranks,
)
from holter.types import RunData, SeriesKey

COLLECTIVE_METRICS = frozenset(
    {"busbw_gbs", "best_busbw_gbs", "time_us", "calls", "collective_time (us)", "message_bytes"}
    | {"communication_us", "compute_us", "exposed_communication_us", "process_group_ranks"}
    | CALL_METRICS
)
"""The metrics that are read; other series of a run need not be loaded."""
_MAX_LISTED = 500
_COMMUNICATION, _COMPUTE, _EXPOSED = "communication_us", "compute_us", "exposed_communication_us"


@dataclass(frozen=True, kw_only=True)
class RankOverlap:
    """One rank's trace in seconds: in collectives, in other kernels, and in collectives without any other."""

    rank: str
    communication: float
    compute: float
    exposed: float

    @property
    def exposed_share(self) -> float:
        """The share of the GPU's busy time in which only communication ran."""
        busy = self.compute + self.exposed
        return self.exposed / busy if busy > 0 else 0.0

    @property
    def hidden_share(self) -> float:
        """The share of the time in collectives that computation hides."""
        return 1 - self.exposed / self.communication if self.communication > 0 else 0.0


def rank_overlaps(run: RunData) -> Iterator[RankOverlap]:
    """The overlap of each rank with a trace, in the order of ranks."""
    for key in sorted(run.series, key=_by_rank):
        if key.metric == _COMMUNICATION:
            parts = [
                _last(run, SeriesKey(metric, key.labels)) for metric in (_COMMUNICATION, _COMPUTE, _EXPOSED)
            ]
            if all(part is not None for part in parts):
                communication, compute, exposed = (float(part or 0) / 1e6 for part in parts)
                rank = key.rank or ""
                yield RankOverlap(rank=rank, communication=communication, compute=compute, exposed=exposed)


def _last(run: RunData, key: SeriesKey) -> float | None:
    series = run.series.get(key)
    if series is None or not len(series) or not np.isfinite(series.value[-1]) or series.value[-1] < 0:
        return None
    return float(series.value[-1])


def _by_rank(key: SeriesKey) -> tuple[int, SeriesKey]:
    rank = key.rank or ""
    return int(rank) if rank.isdecimal() and len(rank) < 10 else -1, key


@dataclass(frozen=True, kw_only=True)
class CollectiveComparison:
    """All results on a run's collectives, each list ordered by cost, the highest first."""

    speeds: Sequence[CollectiveBandwidth]
    overlaps: Sequence[RankOverlap]
    waited_for: Sequence[WaitedForRank]
    behind: Sequence[RankBehind]

    def __bool__(self) -> bool:
        return bool(self.speeds or self.overlaps or self.waited_for or self.behind)

    def as_json(self) -> dict[str, Any]:
        """The answer of the REST API: sizes in bytes, times in seconds, bandwidths in GB/s."""
        return {
            "collectives": [_speed_json(speed) for speed in self.speeds[:_MAX_LISTED]],
            "collectives_count": len(self.speeds),
            "overlap": [_overlap_json(overlap) for overlap in self.overlaps[:_MAX_LISTED]],
            "waited_for": [_waited_for_json(rank) for rank in self.waited_for[:_MAX_LISTED]],
            "behind": [asdict(rank) for rank in self.behind[:_MAX_LISTED]],
        }


def compare_collectives(run: RunData) -> CollectiveComparison:
    """Analyse the collectives of a run; only series of `COLLECTIVE_METRICS` are read."""
    with np.errstate(all="ignore"):
        return CollectiveComparison(
            speeds=collective_speeds(run),
            overlaps=list(rank_overlaps(run)),
            waited_for=waited_for_ranks(run),
            behind=find_ranks_behind(run),
        )


def _speed_json(speed: CollectiveBandwidth) -> dict[str, Any]:
    link = speed.link
    return {
        "source": speed.source,
        "collective": speed.collective,
        "communicator": speed.communicator,
        "size": speed.size,
        "bytes": speed.bytes,
        "ranks": speed.ranks,
        "calls": speed.calls,
        "seconds": speed.seconds,
        "busbw_gbs": speed.busbw,
        "link": None if link is None else link.name,
        "link_gbs": None if link is None else link.gbs,
        "link_source": None if link is None else link.source,
        "share": speed.share,
    }


def _overlap_json(overlap: RankOverlap) -> dict[str, Any]:
    return {**asdict(overlap), "exposed_share": overlap.exposed_share, "hidden_share": overlap.hidden_share}


def _waited_for_json(rank: WaitedForRank) -> dict[str, Any]:
    return {**asdict(rank), "share": rank.share}

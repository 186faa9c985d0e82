"""Overlap of communication and computation in traces: the share of communication that computation hides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from holter.types import RunData, SeriesKey

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
                rank = dict(key.labels).get("rank", "")
                yield RankOverlap(rank=rank, communication=communication, compute=compute, exposed=exposed)


def _last(run: RunData, key: SeriesKey) -> float | None:
    series = run.series.get(key)
    if series is None or not len(series) or not np.isfinite(series.value[-1]) or series.value[-1] < 0:
        return None
    return float(series.value[-1])


def _by_rank(key: SeriesKey) -> tuple[int, SeriesKey]:
    rank = dict(key.labels).get("rank", "")
    return int(rank) if rank.isdecimal() and len(rank) < 10 else -1, key

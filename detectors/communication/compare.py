"""Overview of a run's collectives: speed compared with the hardware, cost, and ranks that others wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from holter.detectors.communication.bandwidth import CollectiveBandwidth, collective_speeds
from holter.detectors.communication.last_calls import CALL_METRICS, RankBehind, find_ranks_behind
from holter.detectors.communication.overlap import RankOverlap, rank_overlaps
from holter.detectors.communication.wait_time import WaitedForRank, waited_for_ranks
from holter.types import RunData

COLLECTIVE_METRICS = frozenset(
    {"busbw_gbs", "best_busbw_gbs", "time_us", "calls", "collective_time (us)", "message_bytes"}
    | {"communication_us", "compute_us", "exposed_communication_us", "process_group_ranks"}
    | CALL_METRICS
)
"""The metrics that are read; other series of a run need not be loaded."""
_MAX_LISTED = 500


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

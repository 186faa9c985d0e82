"""A run's collectives at a glance: their speed against the hardware's, their cost, who waits for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from holter.detectors.communication.bandwidth import Speed, speeds
from holter.detectors.communication.last_calls import CALLS, Ends, ends
from holter.detectors.communication.overlap import Overlap, overlaps
from holter.detectors.communication.wait_time import Waits, waits
from holter.types import RunData

READS = frozenset(
    {"busbw_gbs", "best_busbw_gbs", "time_us", "calls", "collective_time (us)", "message_bytes"}
    | {"communication_us", "compute_us", "exposed_communication_us", "process_group_ranks"}
    | CALLS
)
"""The metrics of the series that are looked at."""
_SHOWN = 500


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The slowest first, the most exposed rank first where it matters, the costliest rank first."""

    speeds: Sequence[Speed]
    overlaps: Sequence[Overlap]
    waits: Sequence[Waits]
    ends: Sequence[Ends]

    def __bool__(self) -> bool:
        return bool(self.speeds or self.overlaps or self.waits or self.ends)

    def as_json(self) -> dict[str, Any]:
        """In the words of REST and of reports: sizes in bytes, times in seconds, bandwidths in GB/s."""
        return {
            "collectives": [_speed(one) for one in self.speeds[:_SHOWN]],
            "collectives_count": len(self.speeds),
            "overlap": [_overlap(one) for one in self.overlaps[:_SHOWN]],
            "waited_for": [_waits(one) for one in self.waits[:_SHOWN]],
            "behind": [asdict(one) for one in self.ends[:_SHOWN]],
        }


def compare(run: RunData) -> Comparison:
    """Everything that the logs of collectives in a run tell about it; of other series none is looked at."""
    with np.errstate(all="ignore"):
        return Comparison(speeds=speeds(run), overlaps=list(overlaps(run)), waits=waits(run), ends=ends(run))


def _speed(one: Speed) -> dict[str, Any]:
    return {
        "source": one.source,
        "collective": one.collective,
        "communicator": one.communicator,
        "size": one.size,
        "bytes": one.bytes,
        "ranks": one.ranks,
        "calls": one.calls,
        "seconds": one.seconds,
        "busbw_gbs": one.busbw,
        "link": None if one.link is None else one.link.name,
        "link_gbs": None if one.link is None else one.link.gbs,
        "link_source": None if one.link is None else one.link.source,
        "share": one.share,
    }


def _overlap(one: Overlap) -> dict[str, Any]:
    return {**asdict(one), "exposed_share": one.exposed_share, "hidden_share": one.hidden_share}


def _waits(one: Waits) -> dict[str, Any]:
    return {**asdict(one), "share": one.share}

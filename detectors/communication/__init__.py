"""Analysis of collectives: speed compared with the hardware, cost, and ranks that others wait for."""

from __future__ import annotations

from holter.detectors.communication.bandwidth import CollectiveBandwidth
from holter.detectors.communication.compare import (
    COLLECTIVE_METRICS,
    CollectiveComparison,
    RankOverlap,
    compare_collectives,
)
from holter.detectors.communication.wait_time import RankBehind, WaitedForRank

__all__ = [
    "COLLECTIVE_METRICS",
    "CollectiveBandwidth",
    "CollectiveComparison",
    "RankBehind",
    "RankOverlap",
    "WaitedForRank",
    "compare_collectives",
]

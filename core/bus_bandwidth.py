"""Bus bandwidth: the rate at which a collective uses each link, independent of the number of ranks.

Source: nccl-tests, doc/PERFORMANCE.md. Bus bandwidths are comparable with the bandwidth of a link.
"""

from __future__ import annotations

from collections.abc import Callable

_FACTORS: dict[str, Callable[[int], float]] = {
    "allreduce": lambda n: 2 * (n - 1) / n,
    "allgather": lambda n: (n - 1) / n,
    "reducescatter": lambda n: (n - 1) / n,
    "alltoall": lambda n: (n - 1) / n,
}
"""The factors by the beginning of a collective's name; 1 for all others."""


def bus_factor(collective: str, ranks: int) -> float:
    """The ratio of bus to algorithm bandwidth of a collective of `ranks` >= 1, by its name in any library."""
    name = collective.lower().replace("_", "")
    return next((factor(ranks) for prefix, factor in _FACTORS.items() if name.startswith(prefix)), 1.0)


def bus_bandwidth(collective: str, size: float, microseconds: float, ranks: int) -> float:
    """The bus bandwidth in GB/s (1e9) of a collective of `size` bytes; 0 where no time is given.

    `size` as in nccl-tests: that of all ranks together where each rank begins or ends with a part.
    """
    return size * bus_factor(collective, ranks) / microseconds / 1e3 if microseconds > 0 else 0.0

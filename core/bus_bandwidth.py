"""Bus bandwidth: what a collective moves over each link, whatever the number of ranks.

Source: nccl-tests, doc/PERFORMANCE.md. Bandwidths so told compare with what a link gives.
"""

from __future__ import annotations

from collections.abc import Callable

_FACTORS: dict[str, Callable[[int], float]] = {
    "allreduce": lambda n: 2 * (n - 1) / n,
    "allgather": lambda n: (n - 1) / n,
    "reducescatter": lambda n: (n - 1) / n,
    "alltoall": lambda n: (n - 1) / n,
}
"""By the beginning of a collective's name; for all others what is moved is what is given."""


def bus_factor(collective: str, ranks: int) -> float:
    """Bus over algorithm bandwidth of a collective of `ranks` >= 1, as PyTorch, NCCL or a kernel calls it."""
    plain = collective.lower().replace("_", "")
    return next((factor(ranks) for name, factor in _FACTORS.items() if plain.startswith(name)), 1.0)


def bus_bandwidth(collective: str, size: float, microseconds: float, ranks: int) -> float:
    """GB/s (1e9) of a collective that takes so long for `size` bytes; 0 where no time is told.

    `size` as nccl-tests has it: of all ranks together where each ends with, or begins with, a part.
    """
    return size * bus_factor(collective, ranks) / microseconds / 1e3 if microseconds > 0 else 0.0

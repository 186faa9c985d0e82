"""Planted faults of single ranks, and slow-downs of all ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from simulated_losses import correlated

from holter.types import Finding, FloatArray, Kind, Series
from planted_faults.fault import Fault, PlantedRun, Random, RunFactory, build_run, build_series

STRAGGLER_KINDS = frozenset({Kind.STRAGGLER})
SIZES = {"5 %": 0.05, "10 %": 0.1, "30 %": 0.3}
ROWS, STEPS_PER_ROW = 300, 10
_TRANSFER_NOISE = 0.02


def steady(random: Random, rows: int, ranks: int) -> FloatArray:
    """0.5 % noise."""
    return 0.005 * random.standard_normal((rows, ranks))


def noisy(random: Random, rows: int, ranks: int) -> FloatArray:
    """3 % noise, skewed towards slow, and 5 % that all ranks have in common."""
    noise = 0.03 * (random.gamma(4, 1, (rows, ranks)) - 4) / 2
    return noise + 0.05 * correlated(0.9)(random, rows)[:, None]


def hiccups(random: Random, rows: int, ranks: int) -> FloatArray:
    """1 % noise, and one row in two hundred of every rank is 10 to 100 % slower."""
    is_slow = random.random((rows, ranks)) < 0.005
    return 0.01 * random.standard_normal((rows, ranks)) + is_slow * random.uniform(0.1, 0.7, (rows, ranks))


NOISES: Mapping[str, Callable[[Random, int, int], FloatArray]] = {
    "steady": steady,
    "noisy": noisy,
    "hiccups": hiccups,
}
SlowRanks = Callable[[int, int], FloatArray]
"""Maps rows since the onset `n` and ranks `p` to the fraction of the fault by row and rank [n, p]."""


def straggler(slow: SlowRanks, ranks: int, *, waits_only: bool = False, first: int = 0) -> RunFactory:
    """A run in which `slow` affects ranks in random order; the finding must name the first of them."""

    def make(random: Random, size: float, noise: str) -> PlantedRun:
        onset = int(random.integers(ROWS // 3, ROWS // 2))
        order = random.permutation(ranks)
        cost = NOISES[noise](random, ROWS, ranks) + 0.005 * random.standard_normal(ranks)
        cost[onset:, order] += np.log1p(size * slow(ROWS - onset, ranks))
        expected_rank = str(order[first])
        return PlantedRun(
            run=build_run(*build_timings(random, cost, waits_only=waits_only)),
            kinds=STRAGGLER_KINDS if slow is not all_ranks else frozenset(),
            onset=onset * STEPS_PER_ROW,
            max_delay=20 * STEPS_PER_ROW,
            spacing=STEPS_PER_ROW,
            is_right=lambda finding: is_rank(finding, expected_rank),
        )

    return make


def is_rank(finding: Finding, rank: str) -> bool:
    """Whether a finding names only this rank."""
    return dict(finding.labels)["rank"] == rank and len(finding.evidence["ranks"]) == 1


def build_timings(random: Random, cost: FloatArray, *, waits_only: bool) -> list[Series]:
    """Compute times and collective times of all ranks, or only one of them; `cost` is the log compute time.

    A collective takes until the last rank arrives, plus the transfer.
    """
    compute = np.exp(cost)
    waits = compute.max(axis=1, keepdims=True) - compute
    waits += 0.1 * np.exp(_TRANSFER_NOISE * random.standard_normal(cost.shape))
    both = {"compute_time": compute, "collective_time": waits}
    selection = 1 if waits_only else random.choice([0, 2])
    chosen = [name for index, name in enumerate(both) if selection in (index, 2)]
    step = STEPS_PER_ROW * np.arange(len(cost))
    return [
        build_series(name, both[name][:, rank], step, rank=str(rank))
        for name in chosen
        for rank in range(cost.shape[1])
    ]


def constant(rows: int, ranks: int) -> FloatArray:
    """One rank is slow in every row."""
    table = np.zeros((rows, ranks))
    table[:, 0] = 1.0
    return table


def periodic(period: int, length: int) -> SlowRanks:
    """One rank is slow in the first `length` rows of every `period`."""

    def slow(rows: int, ranks: int) -> FloatArray:
        return constant(rows, ranks) * (np.arange(rows) % period < length)[:, None]

    return slow


def moving(rows: int, ranks: int) -> FloatArray:
    """One rank is slow for forty rows, then the next."""
    table = np.zeros((rows, ranks))
    table[np.arange(rows), np.arange(rows) // 40 % ranks] = 1.0
    return table


def all_ranks(rows: int, ranks: int) -> FloatArray:
    """All ranks are equally slow: there is no straggler."""
    return np.ones((rows, ranks))


def healthy(random: Random, size: float, noise: str) -> PlantedRun:
    """A run of `size` ranks without a fault."""
    ranks = int(size)
    cost = NOISES[noise](random, ROWS, ranks) + 0.005 * random.standard_normal(ranks)
    return PlantedRun(run=build_run(*build_timings(random, cost, waits_only=bool(random.integers(2)))))


_ALL_NOISES = tuple(NOISES)
FAULTS: Mapping[str, Fault] = {
    **{
        f"straggler among {ranks}": Fault(make=straggler(constant, ranks), sizes=SIZES, noises=_ALL_NOISES)
        for ranks in (4, 64, 512)
    },
    "straggler, one row in 8": Fault(make=straggler(periodic(8, 1), 16), sizes=SIZES, noises=_ALL_NOISES),
    "straggler, 3 rows in 20": Fault(make=straggler(periodic(20, 3), 16), sizes=SIZES, noises=_ALL_NOISES),
    "straggler that moves": Fault(make=straggler(moving, 16), sizes=SIZES, noises=_ALL_NOISES),
    "straggler, waits alone": Fault(
        make=straggler(constant, 16, waits_only=True), sizes=SIZES, noises=_ALL_NOISES
    ),
    "all ranks slower": Fault(make=straggler(all_ranks, 16), sizes=SIZES, noises=_ALL_NOISES),
    "healthy ranks": Fault(make=healthy, sizes={"4": 4, "64": 64, "512": 512}, noises=_ALL_NOISES),
}

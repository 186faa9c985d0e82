"""Faults of single ranks, and what slows all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from curves import correlated

from holter.types import Finding, FloatArray, Kind, Series
from plants.plant import Fault, Make, Planted, Random, run_of, series

STRAGGLER = frozenset({Kind.STRAGGLER})
SLOWER = {"5 %": 0.05, "10 %": 0.1, "30 %": 0.3}
ROWS, EVERY = 300, 10
"""Rows of timings, and the steps between two of them."""
_OVERLAP = 0.02


def steady(random: Random, rows: int, ranks: int) -> FloatArray:
    """Half a per cent."""
    return 0.005 * random.standard_normal((rows, ranks))


def noisy(random: Random, rows: int, ranks: int) -> FloatArray:
    """Three per cent, leaning to the slow side, and 5 % that all ranks have in common."""
    noise = 0.03 * (random.gamma(4, 1, (rows, ranks)) - 4) / 2
    return noise + 0.05 * correlated(0.9)(random, rows)[:, None]


def hiccups(random: Random, rows: int, ranks: int) -> FloatArray:
    """1 %, and one row in two hundred of every rank is 10 to 100 % slower."""
    late = random.random((rows, ranks)) < 0.005
    return 0.01 * random.standard_normal((rows, ranks)) + late * random.uniform(0.1, 0.7, (rows, ranks))


NOISES: Mapping[str, Callable[[Random, int, int], FloatArray]] = {
    "steady": steady,
    "noisy": noisy,
    "hiccups": hiccups,
}
Slow = Callable[[int, int], FloatArray]
"""Which ranks are slow in which rows [n, p], by which share of the fault, with `n` rows since it began."""


def lag(slow: Slow, ranks: int, *, waits_only: bool = False, names: int = 0) -> Make:
    """A run in which `slow` happens to ranks in the order of a draw; the first of them is to be named."""

    def make(random: Random, size: float, noise: str) -> Planted:
        begin = int(random.integers(ROWS // 3, ROWS // 2))
        order = random.permutation(ranks)
        cost = NOISES[noise](random, ROWS, ranks) + 0.005 * random.standard_normal(ranks)
        cost[begin:, order] += np.log1p(size * slow(ROWS - begin, ranks))
        named = str(order[names])
        return Planted(
            run=run_of(*timings(random, cost, waits_only=waits_only)),
            kinds=STRAGGLER if slow is not everyone else frozenset(),
            at=begin * EVERY,
            late=20 * EVERY,
            spacing=EVERY,
            is_right=lambda one: is_rank(one, named),
        )

    return make


def is_rank(finding: Finding, rank: str) -> bool:
    """Whether a finding names this rank, and no other."""
    return dict(finding.labels)["rank"] == rank and len(finding.evidence["ranks"]) == 1


def timings(random: Random, cost: FloatArray, *, waits_only: bool) -> list[Series]:
    """Compute times and waits of all ranks, compute times alone, or waits alone; waits are until the last
    has come, and the transfer."""
    compute = np.exp(cost)
    waits = compute.max(axis=1, keepdims=True) - compute
    waits += 0.1 * np.exp(_OVERLAP * random.standard_normal(cost.shape))
    both = {"compute_time": compute, "collective_time": waits}
    how = 1 if waits_only else random.choice([0, 2])
    chosen = [name for at, name in enumerate(both) if how in (at, 2)]
    step = EVERY * np.arange(len(cost))
    return [
        series(name, both[name][:, rank], step, rank=str(rank))
        for name in chosen
        for rank in range(cost.shape[1])
    ]


def constant(rows: int, ranks: int) -> FloatArray:
    """One rank, all the time."""
    table = np.zeros((rows, ranks))
    table[:, 0] = 1.0
    return table


def every(period: int, length: int) -> Slow:
    """One rank, so many rows of every so many."""

    def slow(rows: int, ranks: int) -> FloatArray:
        return constant(rows, ranks) * (np.arange(rows) % period < length)[:, None]

    return slow


def moving(rows: int, ranks: int) -> FloatArray:
    """One rank for forty rows, then another."""
    table = np.zeros((rows, ranks))
    table[np.arange(rows), np.arange(rows) // 40 % ranks] = 1.0
    return table


def everyone(rows: int, ranks: int) -> FloatArray:
    """All ranks alike: there is no straggler."""
    return np.ones((rows, ranks))


def healthy(random: Random, size: float, noise: str) -> Planted:
    """So many ranks, and nothing."""
    ranks = int(size)
    cost = NOISES[noise](random, ROWS, ranks) + 0.005 * random.standard_normal(ranks)
    return Planted(run=run_of(*timings(random, cost, waits_only=bool(random.integers(2)))))


_ALL = tuple(NOISES)
FAULTS: Mapping[str, Fault] = {
    **{
        f"straggler among {ranks}": Fault(make=lag(constant, ranks), sizes=SLOWER, noises=_ALL)
        for ranks in (4, 64, 512)
    },
    "straggler, one row in 8": Fault(make=lag(every(8, 1), 16), sizes=SLOWER, noises=_ALL),
    "straggler, 3 rows in 20": Fault(make=lag(every(20, 3), 16), sizes=SLOWER, noises=_ALL),
    "straggler that moves": Fault(make=lag(moving, 16), sizes=SLOWER, noises=_ALL),
    "straggler, waits alone": Fault(make=lag(constant, 16, waits_only=True), sizes=SLOWER, noises=_ALL),
    "all ranks slower": Fault(make=lag(everyone, 16), sizes=SLOWER, noises=_ALL),
    "healthy ranks": Fault(make=healthy, sizes={"4": 4, "64": 64, "512": 512}, noises=_ALL),
}

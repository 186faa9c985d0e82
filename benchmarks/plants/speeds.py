"""Faults of the speed of a whole run, and what looks like one and is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from curves import correlated, students

from holter.types import FloatArray, Kind, Series
from plants.plant import Fault, Make, Planted, Random, drawn, means, run_of, series

SPEED = frozenset({Kind.THROUGHPUT_REGRESSION})
LOSSES = {"5 %": 0.05, "10 %": 0.1, "30 %": 0.3}
STEPS = {1: 4000, 10: 12_000, 100: 50_000}
"""How long a run is, by the interval of its log."""
_GROWS = 0.5


def steady(random: Random, n: int) -> FloatArray:
    """A cluster of one's own: 1 % from step to step."""
    return 0.01 * random.standard_normal(n)


def wandering(random: Random, n: int) -> FloatArray:
    """2 % that last for tens of steps, and heavy tails."""
    return 0.015 * correlated(0.95)(random, n) + 0.015 * students(4)(random, n)


def sawtooth(random: Random, n: int) -> FloatArray:
    """Garbage that is collected every 200 steps: up to 4 % slower before it, a stall of a step with it."""
    since = (np.arange(n) + random.integers(200)) % 200
    return 0.04 * since / 200 + 0.8 * (since == 0) + 0.01 * random.standard_normal(n)


def neighbours(random: Random, n: int) -> FloatArray:
    """A cloud that is shared: spells of 10 to 60 steps that cost 3 to 20 %, one in 300 steps."""
    noise = 0.02 * random.standard_normal(n)
    for first in random.integers(0, n, n // 300).tolist():
        noise[first : first + int(random.integers(10, 60))] += random.uniform(0.03, 0.2)
    return noise


NOISES: Mapping[str, Callable[[Random, int], FloatArray]] = {
    "steady": steady,
    "wandering": wandering,
    "sawtooth": sawtooth,
    "neighbours": neighbours,
}


def slow_down(shape: Callable[[FloatArray], FloatArray], *, resumed: bool = False) -> Make:
    """A run whose steps take longer; `shape` says by which share of the fault, of steps since it began."""

    def make(random: Random, size: float, noise: str) -> Planted:
        spacing = drawn(random, *STEPS)
        steps = STEPS[spacing]
        at = int(random.uniform(0.45, 0.6) * steps) // spacing * spacing
        cost = NOISES[noise](random, steps)
        cost[at:] -= np.log1p(-size * shape(np.arange(steps - at, dtype=np.float64)))
        attempt = (np.arange(steps) >= at).astype(np.int64) * resumed
        late = 3000 if shape is gradually else max(20 * spacing, 100)
        return Planted(
            run=run_of(*logged(random, cost, attempt, spacing)),
            kinds=SPEED,
            at=at,
            attempt=int(resumed),
            late=late,
            spacing=spacing,
            is_right=lambda one: (
                bool(one.evidence["after_resume"]) == resumed
                and bool(one.evidence["gradual"]) == (shape is gradually)
            ),
        )

    return make


def at_once(since: FloatArray) -> FloatArray:
    """All of it from the first step on."""
    return np.ones(len(since))


def gradually(since: FloatArray) -> FloatArray:
    """Half of the run's steps that are left until it is there."""
    return np.clip(since / (_GROWS * len(since)), 0, 1)


def logged(random: Random, cost: FloatArray, attempt: FloatArray, spacing: int) -> list[Series]:
    """Step times, tokens/s, or both, as means; `cost` [n] is the logarithm of each step's seconds."""
    seconds = np.exp(cost)
    step = np.arange(len(cost))[spacing - 1 :: spacing]
    times, clock = means(seconds, spacing), np.cumsum(seconds)[spacing - 1 :: spacing]
    how = random.integers(3)
    both = {"tokens_per_s": 1e5 / times, "step_time": times}
    chosen = [name for at, name in enumerate(both) if how in (at, 2)]
    own = attempt[spacing - 1 :: spacing]
    return [series(name, both[name], step, attempt=own, seconds=clock) for name in chosen]


def nothing(random: Random, size: float, noise: str) -> Planted:
    """No fault."""
    spacing = drawn(random, *STEPS)
    cost = NOISES[noise](random, STEPS[spacing])
    return Planted(run=run_of(*logged(random, cost, np.zeros(len(cost)), spacing)))


def pauses(random: Random, size: float, noise: str) -> Planted:
    """Checkpoints every 250 steps cost 3 steps, evaluations every 1,000 twenty-fold; in the log they show
    in the point that they are in. `size` is how many steps in sequence each of them slows."""
    spacing = drawn(random, *STEPS)
    cost, many = NOISES[noise](random, STEPS[spacing]), int(size)
    for every, factor in ((250, 4.0), (1000, 20.0)):
        for first in range(every, len(cost), every):
            cost[first : first + many] += np.log(factor)
    return Planted(run=run_of(*logged(random, cost, np.zeros(len(cost)), spacing)))


def more_work(random: Random, size: float, noise: str) -> Planted:
    """Batches `size` times as large from the middle on: steps take as much longer, and tokens/s change by
    up to 8 % either way. The batch size is logged, or shows in tokens/s by the clock."""
    spacing = drawn(random, *STEPS)
    steps = STEPS[spacing]
    half = steps // 2 // spacing * spacing
    cost = NOISES[noise](random, steps)
    work = np.where(np.arange(steps) < half, 1.0, size)
    cost += np.log(work) + (work > 1) * random.uniform(-0.08, 0.08)
    seconds, batch = means(np.exp(cost), spacing), means(work, spacing)
    step, clock = np.arange(steps)[spacing - 1 :: spacing], np.cumsum(np.exp(cost))[spacing - 1 :: spacing]
    rate = series("tokens_per_s", 1e5 * batch / seconds, step, seconds=clock)
    if random.integers(2):
        return Planted(run=run_of(rate))
    times = series("step_time", seconds, step, seconds=clock)
    return Planted(run=run_of(times, series("batch_size", 512 * batch, step, seconds=clock)))


def restarts(random: Random, size: float, noise: str) -> Planted:
    """Restarts that warm up for some steps, twice as slow, and go on as before."""
    spacing = drawn(random, *STEPS)
    steps = STEPS[spacing]
    cost, attempt = NOISES[noise](random, steps), np.zeros(steps, dtype=np.int64)
    for first in (np.sort(random.uniform(0.2, 0.9, int(size))) * steps).astype(int).tolist():
        first = first // spacing * spacing
        cost[first : first + 5] += np.log(2.0)
        attempt[first:] += 1
    return Planted(run=run_of(*logged(random, cost, attempt, spacing)))


_ALL = tuple(NOISES)
FAULTS: Mapping[str, Fault] = {
    "sudden slow-down": Fault(make=slow_down(at_once), sizes=LOSSES, noises=_ALL),
    "gradual slow-down": Fault(make=slow_down(gradually), sizes=LOSSES, noises=_ALL),
    "slow since a restart": Fault(make=slow_down(at_once, resumed=True), sizes=LOSSES, noises=_ALL),
    "healthy speed": Fault(make=nothing, sizes={"-": 0.0}, noises=_ALL),
    "checkpoints, evaluations": Fault(make=pauses, sizes={"1 step": 1.0, "3 steps": 3.0}, noises=_ALL),
    "planned batch size": Fault(make=more_work, sizes={"x 2": 2.0, "x 1.5": 1.5}, noises=_ALL),
    "healthy restarts": Fault(make=restarts, sizes={"3": 3.0}, noises=_ALL),
}

"""Planted faults in the throughput of a run, and harmless changes that resemble them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from simulated_losses import correlated, student_t

from holter.types import FloatArray, Kind, Series
from planted_faults.fault import (
    Fault,
    PlantedRun,
    Random,
    RunFactory,
    block_means,
    build_run,
    build_series,
    choose,
)

THROUGHPUT_KINDS = frozenset({Kind.THROUGHPUT_REGRESSION})
SIZES = {"5 %": 0.05, "10 %": 0.1, "30 %": 0.3}
STEPS_BY_SPACING = {1: 4000, 10: 12_000, 100: 50_000}
"""The number of steps of a run, by the number of steps per logged point."""
_RAMP_FRACTION = 0.5


def steady(random: Random, n: int) -> FloatArray:
    """A dedicated cluster: 1 % noise per step."""
    return 0.01 * random.standard_normal(n)


def wandering(random: Random, n: int) -> FloatArray:
    """2 % that last for tens of steps, with heavy tails."""
    return 0.015 * correlated(0.95)(random, n) + 0.015 * student_t(4)(random, n)


def sawtooth(random: Random, n: int) -> FloatArray:
    """Garbage collection every 200 steps: up to 4 % slower before it, and one slow step."""
    phase = (np.arange(n) + random.integers(200)) % 200
    return 0.04 * phase / 200 + 0.8 * (phase == 0) + 0.01 * random.standard_normal(n)


def neighbours(random: Random, n: int) -> FloatArray:
    """A shared cloud: slow periods of 10 to 60 steps and 3 to 20 %, one in 300 steps."""
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


def slowdown(shape: Callable[[FloatArray], FloatArray], *, resumed: bool = False) -> RunFactory:
    """A run whose steps become slower; `shape` maps steps since the onset to the fraction of the fault."""

    def make(random: Random, size: float, noise: str) -> PlantedRun:
        spacing = choose(random, *STEPS_BY_SPACING)
        steps = STEPS_BY_SPACING[spacing]
        onset = int(random.uniform(0.45, 0.6) * steps) // spacing * spacing
        cost = NOISES[noise](random, steps)
        cost[onset:] -= np.log1p(-size * shape(np.arange(steps - onset, dtype=np.float64)))
        attempt = (np.arange(steps) >= onset).astype(np.int64) * resumed
        max_delay = 3000 if shape is gradual else max(20 * spacing, 100)
        return PlantedRun(
            run=build_run(*log_speed(random, cost, attempt, spacing)),
            kinds=THROUGHPUT_KINDS,
            onset=onset,
            attempt=int(resumed),
            max_delay=max_delay,
            spacing=spacing,
            is_right=lambda finding: (
                bool(finding.evidence["after_resume"]) == resumed
                and bool(finding.evidence["gradual"]) == (shape is gradual)
            ),
        )

    return make


def immediate(since: FloatArray) -> FloatArray:
    """The full fault from the first step on."""
    return np.ones(len(since))


def gradual(since: FloatArray) -> FloatArray:
    """A linear increase over half of the remaining steps."""
    return np.clip(since / (_RAMP_FRACTION * len(since)), 0, 1)


def log_speed(random: Random, cost: FloatArray, attempt: FloatArray, spacing: int) -> list[Series]:
    """Step times, tokens/s, or both, as means per logged point; `cost` [n] is the log of the step times."""
    seconds = np.exp(cost)
    step = np.arange(len(cost))[spacing - 1 :: spacing]
    times, clock = block_means(seconds, spacing), np.cumsum(seconds)[spacing - 1 :: spacing]
    selection = random.integers(3)
    both = {"tokens_per_s": 1e5 / times, "step_time": times}
    chosen = [name for index, name in enumerate(both) if selection in (index, 2)]
    attempts = attempt[spacing - 1 :: spacing]
    return [build_series(name, both[name], step, attempt=attempts, seconds=clock) for name in chosen]


def healthy(random: Random, size: float, noise: str) -> PlantedRun:
    """A run without a fault."""
    spacing = choose(random, *STEPS_BY_SPACING)
    cost = NOISES[noise](random, STEPS_BY_SPACING[spacing])
    return PlantedRun(run=build_run(*log_speed(random, cost, np.zeros(len(cost)), spacing)))


def pauses(random: Random, size: float, noise: str) -> PlantedRun:
    """Checkpoints every 250 steps make a step 4 times, evaluations every 1,000 steps 20 times as long.

    `size` is the number of consecutive steps that each of them slows.
    """
    spacing = choose(random, *STEPS_BY_SPACING)
    cost, slow_steps = NOISES[noise](random, STEPS_BY_SPACING[spacing]), int(size)
    for every, factor in ((250, 4.0), (1000, 20.0)):
        for first in range(every, len(cost), every):
            cost[first : first + slow_steps] += np.log(factor)
    return PlantedRun(run=build_run(*log_speed(random, cost, np.zeros(len(cost)), spacing)))


def larger_batches(random: Random, size: float, noise: str) -> PlantedRun:
    """Batches are `size` times as large from the middle on: steps take that much longer, and tokens/s change
    by up to 8 % up or down. Either the batch size is logged, or it follows from tokens/s and wall times."""
    spacing = choose(random, *STEPS_BY_SPACING)
    steps = STEPS_BY_SPACING[spacing]
    half = steps // 2 // spacing * spacing
    cost = NOISES[noise](random, steps)
    work = np.where(np.arange(steps) < half, 1.0, size)
    cost += np.log(work) + (work > 1) * random.uniform(-0.08, 0.08)
    seconds, batch = block_means(np.exp(cost), spacing), block_means(work, spacing)
    step, clock = np.arange(steps)[spacing - 1 :: spacing], np.cumsum(np.exp(cost))[spacing - 1 :: spacing]
    rate = build_series("tokens_per_s", 1e5 * batch / seconds, step, seconds=clock)
    if random.integers(2):
        return PlantedRun(run=build_run(rate))
    times = build_series("step_time", seconds, step, seconds=clock)
    return PlantedRun(run=build_run(times, build_series("batch_size", 512 * batch, step, seconds=clock)))


def restarts(random: Random, size: float, noise: str) -> PlantedRun:
    """Restarts that are twice as slow for five steps, then as fast as before."""
    spacing = choose(random, *STEPS_BY_SPACING)
    steps = STEPS_BY_SPACING[spacing]
    cost, attempt = NOISES[noise](random, steps), np.zeros(steps, dtype=np.int64)
    for first in (np.sort(random.uniform(0.2, 0.9, int(size))) * steps).astype(int).tolist():
        first = first // spacing * spacing
        cost[first : first + 5] += np.log(2.0)
        attempt[first:] += 1
    return PlantedRun(run=build_run(*log_speed(random, cost, attempt, spacing)))


_ALL_NOISES = tuple(NOISES)
FAULTS: Mapping[str, Fault] = {
    "sudden slow-down": Fault(make=slowdown(immediate), sizes=SIZES, noises=_ALL_NOISES),
    "gradual slow-down": Fault(make=slowdown(gradual), sizes=SIZES, noises=_ALL_NOISES),
    "slow since a restart": Fault(make=slowdown(immediate, resumed=True), sizes=SIZES, noises=_ALL_NOISES),
    "healthy speed": Fault(make=healthy, sizes={"-": 0.0}, noises=_ALL_NOISES),
    "checkpoints, evaluations": Fault(make=pauses, sizes={"1 step": 1.0, "3 steps": 3.0}, noises=_ALL_NOISES),
    "planned batch size": Fault(make=larger_batches, sizes={"x 2": 2.0, "x 1.5": 1.5}, noises=_ALL_NOISES),
    "healthy restarts": Fault(make=restarts, sizes={"3": 3.0}, noises=_ALL_NOISES),
}

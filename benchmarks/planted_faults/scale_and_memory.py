"""Planted faults in the loss scale of half precision and in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from holter.types import FloatArray, Kind
from planted_faults.fault import Fault, PlantedRun, Random, build_run, build_series, choose

_STEPS = 20_000
_GROWTH_INTERVAL = 1000
LIMIT_SPREADS = {"calm": 0.1, "restless": 0.6}
"""Powers of two by which the largest possible scale varies from step to step."""


def loss_scale(random: Random, forced: FloatArray, spread: float) -> FloatArray:
    """Dynamic loss scaling: halved at each overflow, doubled after 1,000 steps without one.

    Gradients overflow above a scale of about 2^15.5, with a deviation of `spread` powers of two, and in steps
    where `forced` [n] is true.
    """
    exponent, good_steps, values = 16.0, 0, np.empty(len(forced))
    limit = 15.5 + spread * random.standard_normal(len(forced))
    for index, (is_forced, maximum) in enumerate(zip(forced.tolist(), limit.tolist(), strict=True)):
        overflows = is_forced or exponent > maximum
        good_steps = 0 if overflows else good_steps + 1
        exponent = max(exponent - 1, 0.0) if overflows else exponent + (good_steps % _GROWTH_INTERVAL == 0)
        values[index] = 2.0**exponent
    return values


def collapse(random: Random, size: float, noise: str) -> PlantedRun:
    """From the onset on, gradients overflow every `size` steps; `noise` names the spread of the limit."""
    onset, spacing = int(random.integers(8000, 12_000)), choose(random, 1, 10)
    forced = np.zeros(_STEPS, dtype=bool)
    if size:
        forced[onset :: int(size)] = True
    step = np.arange(0, _STEPS, spacing)
    value = loss_scale(random, forced, LIMIT_SPREADS[noise])[::spacing]
    kinds = frozenset({Kind.LOSS_SCALE_COLLAPSE}) if size else frozenset()
    max_delay = 6 * int(size) + 10 * spacing
    run = build_run(build_series("loss_scale", value, step))
    return PlantedRun(run=run, kinds=kinds, onset=onset, max_delay=max_delay, spacing=spacing)


def even(random: Random, n: int) -> FloatArray:
    """0.5 % noise per point."""
    return 0.005 * random.standard_normal(n)


def garbage_collected(random: Random, n: int) -> FloatArray:
    """Garbage that grows to a tenth and is collected every 40 to 80 points."""
    return 0.1 * (np.arange(n) % int(random.integers(40, 80))) / 80 + even(random, n)


def peaks(random: Random, n: int) -> FloatArray:
    """Long samples need up to 40 % more in every tenth point."""
    return even(random, n) + 0.4 * random.random(n) * (random.random(n) < 0.1)


MEMORY_NOISES: Mapping[str, Callable[[Random, int], FloatArray]] = {
    "even": even,
    "collected": garbage_collected,
    "peaks": peaks,
}


def leak(random: Random, size: float, noise: str) -> PlantedRun:
    """Memory of 30 GB that grows by a fraction `size` per 1,000 steps from the onset on.

    With size 0 it fills a pool in its first steps and then stays constant.
    """
    spacing, points = choose(random, 1, 10), 4000
    steps = points * spacing
    step, onset = spacing * np.arange(points), int(random.uniform(0.1, 0.3) * steps)
    share = size / 1000 * np.clip(step - onset, 0, None) + MEMORY_NOISES[noise](random, points)
    if not size:
        share -= 0.2 * np.exp(-step / 300.0)
    kinds = frozenset({Kind.MEMORY_LEAK}) if size else frozenset()
    run = build_run(build_series("gpu_mem_gb", 30 * (1 + share), step, seconds=4.0 * step))
    # a leak is located in coarse blocks: up to a sixth of the run too early
    return PlantedRun(
        run=run, kinds=kinds, onset=onset, max_delay=steps, max_lead=steps // 6, spacing=spacing
    )


FAULTS: Mapping[str, Fault] = {
    "loss scale, overflow every": Fault(
        make=collapse,
        sizes={"10 steps": 10.0, "40 steps": 40.0, "300 steps": 300.0},
        noises=tuple(LIMIT_SPREADS),
    ),
    "healthy loss scale": Fault(make=collapse, sizes={"-": 0.0}, noises=tuple(LIMIT_SPREADS)),
    "memory leak, a 1,000 steps": Fault(
        make=leak, sizes={"0.5 %": 0.005, "2 %": 0.02, "10 %": 0.1}, noises=tuple(MEMORY_NOISES)
    ),
    "healthy memory": Fault(make=leak, sizes={"-": 0.0}, noises=tuple(MEMORY_NOISES)),
}

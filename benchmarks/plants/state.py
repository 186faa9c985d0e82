"""Faults of what a run holds: the loss scale of half precision, and memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from holter.types import FloatArray, Kind
from plants.plant import Fault, Planted, Random, drawn, run_of, series

_STEPS = 20_000
_WINDOW = 1000
SCALES = {"calm": 0.1, "restless": 0.6}


def scale(random: Random, forced: FloatArray, restless: float) -> FloatArray:
    """Dynamic scaling as frameworks do it: halved with each overflow, doubled after 1,000 good steps.
    Gradients overflow above a scale of about 2^15.5, by `restless` powers of two more or less, and where
    they are `forced` to [n]."""
    level, good, values = 16.0, 0, np.empty(len(forced))
    limit = 15.5 + restless * random.standard_normal(len(forced))
    for at, (bad, most) in enumerate(zip(forced.tolist(), limit.tolist(), strict=True)):
        over = bad or level > most
        good = 0 if over else good + 1
        level = max(level - 1, 0.0) if over else level + (good % _WINDOW == 0)
        values[at] = 2.0**level
    return values


def collapse(random: Random, size: float, noise: str) -> Planted:
    """From a step on gradients overflow every `size` steps, to the end; before it as `noise` says."""
    at, spacing = int(random.integers(8000, 12_000)), drawn(random, 1, 10)
    forced = np.zeros(_STEPS, dtype=bool)
    if size:
        forced[at :: int(size)] = True
    step = np.arange(0, _STEPS, spacing)
    value = scale(random, forced, SCALES[noise])[::spacing]
    kinds = frozenset({Kind.LOSS_SCALE_COLLAPSE}) if size else frozenset()
    late = 6 * int(size) + 10 * spacing
    run = run_of(series("loss_scale", value, step))
    return Planted(run=run, kinds=kinds, at=at, late=late, spacing=spacing)


def even(random: Random, n: int) -> FloatArray:
    """Half a per cent from point to point."""
    return 0.005 * random.standard_normal(n)


def collected(random: Random, n: int) -> FloatArray:
    """Garbage that grows to a tenth and is collected, every 60 points or so."""
    return 0.1 * (np.arange(n) % int(random.integers(40, 80))) / 80 + even(random, n)


def peaks(random: Random, n: int) -> FloatArray:
    """Long samples need up to 40 % more, now and then."""
    return even(random, n) + 0.4 * random.random(n) * (random.random(n) < 0.1)


MEMORY: Mapping[str, Callable[[Random, int], FloatArray]] = {
    "even": even,
    "collected": collected,
    "peaks": peaks,
}


def leak(random: Random, size: float, noise: str) -> Planted:
    """Memory of 30 GB that grows by a share of it in 1,000 steps from a step on; without size it fills a
    pool in its first steps and stays."""
    spacing, points = drawn(random, 1, 10), 4000
    steps = points * spacing
    step, at = spacing * np.arange(points), int(random.uniform(0.1, 0.3) * steps)
    share = size / 1000 * np.clip(step - at, 0, None) + MEMORY[noise](random, points)
    if not size:
        share -= 0.2 * np.exp(-step / 300.0)
    kinds = frozenset({Kind.MEMORY_LEAK}) if size else frozenset()
    run = run_of(series("gpu_mem_gb", 30 * (1 + share), step, seconds=4.0 * step))
    # blocks in which a leak shows are coarse: it is placed up to a sixth of the run too early
    return Planted(run=run, kinds=kinds, at=at, late=steps, early=steps // 6, spacing=spacing)


FAULTS: Mapping[str, Fault] = {
    "loss scale, overflow every": Fault(
        make=collapse, sizes={"10 steps": 10.0, "40 steps": 40.0, "300 steps": 300.0}, noises=tuple(SCALES)
    ),
    "healthy loss scale": Fault(make=collapse, sizes={"-": 0.0}, noises=tuple(SCALES)),
    "memory leak, a 1,000 steps": Fault(
        make=leak, sizes={"0.5 %": 0.005, "2 %": 0.02, "10 %": 0.1}, noises=tuple(MEMORY)
    ),
    "healthy memory": Fault(make=leak, sizes={"-": 0.0}, noises=tuple(MEMORY)),
}

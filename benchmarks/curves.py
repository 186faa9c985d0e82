"""Losses made up: levels as schedules and families of models draw them, and noise of many kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.signal import lfilter

from holter.types import FloatArray, RunData, Series, SeriesKey

Random = np.random.Generator
Noise = Callable[[Random, int], FloatArray]
Level = Callable[[Random, int], FloatArray]


def correlated(by: float) -> Noise:
    """Noise of which neighbours resemble each other by so much."""
    return lambda random, n: lfilter([(1 - by**2) ** 0.5], [1, -by], random.standard_normal(n + 500))[500:]


def students(freedom: float) -> Noise:
    """Tails as heavy as Student's t has them, on both sides."""
    spread = (freedom / (freedom - 2)) ** 0.5
    return lambda random, n: random.standard_t(freedom, n) / spread


def skewed(shape: float) -> Noise:
    """A Gamma distribution's skew."""
    return lambda random, n: (random.gamma(shape, 1, n) - shape) / shape**0.5


def lognormal(size: float) -> Noise:
    """The skew of a lognormal, heavy above and bounded below."""
    mean, spread = np.exp(size**2 / 2), np.exp(size**2 / 2) * np.expm1(size**2) ** 0.5
    return lambda random, n: (np.exp(size * random.standard_normal(n)) - mean) / spread


def smoothed(by: float) -> Noise:
    """Noise of a loss that was averaged exponentially before it was logged; as large as before that."""
    return lambda random, n: lfilter([1 - by], [1, -by], random.standard_normal(n + 2000))[2000:]


def restless(random: Random, n: int) -> FloatArray:
    """GARCH: large noise follows large noise."""
    noise, variance = np.empty(n), 1.0
    for at, one in enumerate(random.standard_normal(n).tolist()):
        noise[at] = variance**0.5 * one
        variance = 0.05 + 0.1 * noise[at] ** 2 + 0.85 * variance
    return noise


def contaminated(random: Random, n: int) -> FloatArray:
    """Two points in a hundred have three times the noise."""
    return random.standard_normal(n) * np.where(random.random(n) < 0.02, 3.0, 1.0)


def bursting(random: Random, n: int) -> FloatArray:
    """Now and then fifty points with 2.5 times the noise."""
    size = np.ones(n)
    for first in random.integers(0, n, n // 2000).tolist():
        size[first : first + 50] = 2.5
    return random.standard_normal(n) * size


def quantised(random: Random, n: int) -> FloatArray:
    """Noise of a run in 8 bits: a little correlated and heavy-tailed, its size changing slowly."""
    slow = np.exp(0.2 * lfilter([0.05], [1, -0.999], random.standard_normal(n)))
    return correlated(0.3)(random, n) * slow + 0.3 * students(6)(random, n)


NOISES: Mapping[str, Noise] = {
    "normal": lambda random, n: random.standard_normal(n),
    "correlated by 0.6": correlated(0.6),
    "correlated by 0.9": correlated(0.9),
    "smoothed by 0.9": smoothed(0.9),
    "as of 8 bits": quantised,
    "Gamma 4": skewed(4),
    "Student's t5": students(5),
    "Student's t4": students(4),
    "Student's t3": students(3),
    "Student's t2.5": students(2.5),
    "lognormal 0.5": lognormal(0.5),
    "lognormal 1": lognormal(1),
    "2 % of three times the size": contaminated,
    "bursts": bursting,
    "GARCH": restless,
}


def power(random: Random, n: int) -> FloatArray:
    """As language models fall."""
    return 2 + random.uniform(3, 8) * (1 + np.arange(n) / random.uniform(5, 80)) ** -random.uniform(0.4, 0.9)


def plateau(random: Random, n: int) -> FloatArray:
    """A plateau of thousands of points before the loss falls at last."""
    until = random.uniform(0.3, 0.7) * n
    return 2.5 + 4 / (1 + np.exp(np.clip((np.arange(n) - until) / (0.02 * n), -50, 50)))


def cosine(random: Random, n: int) -> FloatArray:
    """What a cosine schedule adds: slow, fast, slow."""
    return power(random, n) + 0.15 * np.cos(np.pi * np.arange(n) / n)


def decayed(random: Random, n: int) -> FloatArray:
    """Warm-up, stable, decay: a fall along the last fifth."""
    return power(random, n) - 0.25 * np.clip((np.arange(n) - 0.8 * n) / (0.2 * n), 0, 1)


def cyclic(random: Random, n: int) -> FloatArray:
    """A learning rate that cycles: the loss breathes with it by some per cent."""
    return power(random, n) * (1 + 0.015 * np.sin(2 * np.pi * np.arange(n) / (n / 6)))


def ramped(random: Random, n: int) -> FloatArray:
    """Batches that grow: the level alone; the noise is the caller's."""
    return power(random, n) * (1 - 0.05 * (np.arange(n) > 0.3 * n) - 0.04 * (np.arange(n) > 0.6 * n))


def negative(random: Random, n: int) -> FloatArray:
    """A likelihood of densities, below zero."""
    return -3 + 2.5 * np.exp(-np.arange(n) / random.uniform(0.05, 0.3) / n)


def near_zero(random: Random, n: int) -> FloatArray:
    """A policy's loss: around zero, both signs, with a slow wave."""
    return 0.002 * np.sin(2 * np.pi * np.arange(n) / random.uniform(0.5, 2) / n)


def balanced(random: Random, n: int) -> FloatArray:
    """The auxiliary loss of experts: a little above one, quickly flat."""
    return 1.01 + 0.5 * np.exp(-np.arange(n) / 100)


LEVELS: Mapping[str, Level] = {
    "power": power,
    "plateau": plateau,
    "cosine": cosine,
    "warm-up, stable, decay": decayed,
    "cyclic": cyclic,
    "batches grow": ramped,
    "negative": negative,
    "near zero": near_zero,
    "experts' balance": balanced,
}


def size_of(level: FloatArray) -> float:
    """What noise is a share of: the level's typical size, for one around zero a tenth of one."""
    return max(float(np.median(np.abs(level))), 0.1)


def one_series(
    metric: str, value: FloatArray, step: FloatArray | None = None, attempt: FloatArray | None = None
) -> Series:
    """A series without a clock."""
    n = len(value)
    return Series(
        key=SeriesKey(metric),
        attempt=np.zeros(n, dtype=np.int64) if attempt is None else np.asarray(attempt, dtype=np.int64),
        step=np.arange(n) if step is None else np.asarray(step, dtype=np.int64),
        time=np.full(n, np.nan),
        value=value,
    )


def run_of(*series: Series) -> RunData:
    """A run of these series."""
    return RunData(series={one.key: one for one in series})

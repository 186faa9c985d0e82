"""Simulated losses: levels as schedules and families of models produce them, and noise of many kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.signal import lfilter

from holter.types import FloatArray, RunData, Series, SeriesKey

Random = np.random.Generator
Noise = Callable[[Random, int], FloatArray]
Level = Callable[[Random, int], FloatArray]


def correlated(correlation: float) -> Noise:
    """Autoregressive noise: neighbours are correlated by `correlation`."""
    return lambda random, n: lfilter(
        [(1 - correlation**2) ** 0.5], [1, -correlation], random.standard_normal(n + 500)
    )[500:]


def student_t(freedom: float) -> Noise:
    """Student's t distribution: heavy tails on both sides; standard deviation 1."""
    spread = (freedom / (freedom - 2)) ** 0.5
    return lambda random, n: random.standard_t(freedom, n) / spread


def skewed(shape: float) -> Noise:
    """A gamma distribution with this shape parameter: skewed upwards."""
    return lambda random, n: (random.gamma(shape, 1, n) - shape) / shape**0.5


def lognormal(sigma: float) -> Noise:
    """A lognormal distribution: a heavy upper tail, bounded below."""
    mean, spread = np.exp(sigma**2 / 2), np.exp(sigma**2 / 2) * np.expm1(sigma**2) ** 0.5
    return lambda random, n: (np.exp(sigma * random.standard_normal(n)) - mean) / spread


def smoothed(decay: float) -> Noise:
    """Noise of a loss that was averaged exponentially before it was logged; the input has variance 1."""
    return lambda random, n: lfilter([1 - decay], [1, -decay], random.standard_normal(n + 2000))[2000:]


def garch(random: Random, n: int) -> FloatArray:
    """GARCH(1, 1) noise: large noise follows large noise."""
    noise, variance = np.empty(n), 1.0
    for index, shock in enumerate(random.standard_normal(n).tolist()):
        noise[index] = variance**0.5 * shock
        variance = 0.05 + 0.1 * noise[index] ** 2 + 0.85 * variance
    return noise


def contaminated(random: Random, n: int) -> FloatArray:
    """Two points in a hundred have three times the standard deviation."""
    return random.standard_normal(n) * np.where(random.random(n) < 0.02, 3.0, 1.0)


def bursting(random: Random, n: int) -> FloatArray:
    """Bursts of fifty points with 2.5 times the standard deviation, one in 2,000 points."""
    scale = np.ones(n)
    for first in random.integers(0, n, n // 2000).tolist():
        scale[first : first + 50] = 2.5
    return random.standard_normal(n) * scale


def quantised(random: Random, n: int) -> FloatArray:
    """Noise of training in 8 bits: slightly correlated and heavy-tailed, with a slowly changing size."""
    slow = np.exp(0.2 * lfilter([0.05], [1, -0.999], random.standard_normal(n)))
    return correlated(0.3)(random, n) * slow + 0.3 * student_t(6)(random, n)


NOISES: Mapping[str, Noise] = {
    "normal": lambda random, n: random.standard_normal(n),
    "correlated by 0.6": correlated(0.6),
    "correlated by 0.9": correlated(0.9),
    "smoothed by 0.9": smoothed(0.9),
    "8-bit training": quantised,
    "Gamma 4": skewed(4),
    "Student's t5": student_t(5),
    "Student's t4": student_t(4),
    "Student's t3": student_t(3),
    "Student's t2.5": student_t(2.5),
    "lognormal 0.5": lognormal(0.5),
    "lognormal 1": lognormal(1),
    "2 % three times as large": contaminated,
    "bursts": bursting,
    "GARCH": garch,
}


def power(random: Random, n: int) -> FloatArray:
    """A power law, as losses of language models follow it."""
    return 2 + random.uniform(3, 8) * (1 + np.arange(n) / random.uniform(5, 80)) ** -random.uniform(0.4, 0.9)


def plateau(random: Random, n: int) -> FloatArray:
    """A plateau of thousands of points before the loss falls."""
    end = random.uniform(0.3, 0.7) * n
    return 2.5 + 4 / (1 + np.exp(np.clip((np.arange(n) - end) / (0.02 * n), -50, 50)))


def cosine(random: Random, n: int) -> FloatArray:
    """A power law with the slow, fast, slow decrease of a cosine schedule."""
    return power(random, n) + 0.15 * np.cos(np.pi * np.arange(n) / n)


def decayed(random: Random, n: int) -> FloatArray:
    """A warm-up, stable, decay schedule: an additional decrease in the last fifth."""
    return power(random, n) - 0.25 * np.clip((np.arange(n) - 0.8 * n) / (0.2 * n), 0, 1)


def cyclic(random: Random, n: int) -> FloatArray:
    """A cyclic learning rate: the loss oscillates by 1.5 %."""
    return power(random, n) * (1 + 0.015 * np.sin(2 * np.pi * np.arange(n) / (n / 6)))


def ramped(random: Random, n: int) -> FloatArray:
    """Batch sizes that increase in two steps: only the level; the caller adds the noise."""
    return power(random, n) * (1 - 0.05 * (np.arange(n) > 0.3 * n) - 0.04 * (np.arange(n) > 0.6 * n))


def negative(random: Random, n: int) -> FloatArray:
    """A negative log likelihood of densities, below zero."""
    return -3 + 2.5 * np.exp(-np.arange(n) / random.uniform(0.05, 0.3) / n)


def near_zero(random: Random, n: int) -> FloatArray:
    """The loss of a policy: around zero, of both signs, with a slow wave."""
    return 0.002 * np.sin(2 * np.pi * np.arange(n) / random.uniform(0.5, 2) / n)


def load_balancing(random: Random, n: int) -> FloatArray:
    """The auxiliary load-balancing loss of experts: slightly above 1, constant after some hundred points."""
    return 1.01 + 0.5 * np.exp(-np.arange(n) / 100)


LEVELS: Mapping[str, Level] = {
    "power": power,
    "plateau": plateau,
    "cosine": cosine,
    "warm-up, stable, decay": decayed,
    "cyclic": cyclic,
    "growing batches": ramped,
    "negative": negative,
    "near zero": near_zero,
    "load balancing": load_balancing,
}


def noise_unit(level: FloatArray) -> float:
    """The size that noise is a fraction of: the median absolute level, at least 0.1."""
    return max(float(np.median(np.abs(level))), 0.1)


def build_series(
    metric: str, value: FloatArray, step: FloatArray | None = None, attempt: FloatArray | None = None
) -> Series:
    """A series without wall times."""
    n = len(value)
    return Series(
        key=SeriesKey(metric),
        attempt=np.zeros(n, dtype=np.int64) if attempt is None else np.asarray(attempt, dtype=np.int64),
        step=np.arange(n) if step is None else np.asarray(step, dtype=np.int64),
        time=np.full(n, np.nan),
        value=value,
    )


def build_run(*series: Series) -> RunData:
    """A run that consists of these series."""
    return RunData(series={each.key: each for each in series})

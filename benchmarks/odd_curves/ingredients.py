"""What curves are made of: levels, noise, schedules and clocks, drawn at random; numpy only."""

from __future__ import annotations

import numpy as np

from odd_curves.curve import OddSeries, Random, Steps, Values


def gauss(random: Random, n: int) -> Values:
    """Normal noise."""
    return random.standard_normal(n)


def student(random: Random, n: int) -> Values:
    """Student's t with three degrees of freedom, scaled to variance 1."""
    return random.standard_t(3, n) / 3**0.5


def skewed(random: Random, n: int) -> Values:
    """A gamma distribution of shape 4, centred, variance 1: skewed upwards."""
    return (random.gamma(4, 1, n) - 4) / 2


def autoregressive(random: Random, n: int, correlation: float | None = None) -> Values:
    """AR(1) noise of variance 1; correlation .2 to .6 unless given."""
    c = random.uniform(0.2, 0.6) if correlation is None else correlation
    length = int(np.ceil(np.log(1e-4) / np.log(c)))
    kernel = (1 - c * c) ** 0.5 * c ** np.arange(length)
    return np.convolve(random.standard_normal(n + length - 1), kernel, mode="valid")


NOISES = (gauss, gauss, student, skewed, autoregressive)
"""The families of noise; normal noise is drawn twice as often."""


def noise(random: Random, n: int) -> Values:
    """Noise of variance 1 of a family drawn at random."""
    return NOISES[random.integers(len(NOISES))](random, n)


def light_noise(random: Random, n: int) -> Values:
    """Noise of variance 1 without a heavy tail."""
    return (gauss, autoregressive)[random.integers(2)](random, n)


def level(random: Random, n: int) -> Values:
    """A falling level [n] of 0.3 to 10: a power law, an exponential, or nearly constant."""
    t, scale = np.arange(n), float(np.exp(random.uniform(np.log(0.3), np.log(4))))
    shape = random.integers(3)
    if shape == 0:
        return scale * (
            1 + random.uniform(0.5, 3) * (1 + t / random.uniform(5, 80)) ** -random.uniform(0.3, 0.8)
        )
    if shape == 1:
        return scale * (1 + random.uniform(0.3, 2) * np.exp(-t / (random.uniform(0.05, 0.3) * n)))
    return scale * (1 + 0.1 * np.exp(-t / (0.2 * n)))


def noise_share(random: Random) -> float:
    """The noise as a share of the level: 0.4 % to 6 %."""
    return float(np.exp(random.uniform(np.log(0.004), np.log(0.06))))


class LossCurve:
    """A loss without events: steps, level, noise; `value` is what would be logged."""

    def __init__(
        self, random: Random, n: int, *, every: int = 1, share: float | None = None, light: bool = False
    ) -> None:
        self.random, self.n = random, n
        self.step: Steps = every * np.arange(n, dtype=np.int64)
        self.level = level(random, n)
        self.sigma = self.level * (noise_share(random) if share is None else share)
        self.noise = (light_noise if light else noise)(random, n)

    @property
    def value(self) -> Values:
        """The level with its noise [n]."""
        return self.level + self.sigma * self.noise

    def position(self, low: float = 0.4, high: float = 0.7) -> int:
        """A row drawn between two shares of the run."""
        return int(self.random.uniform(low, high) * self.n)

    def height(self, row: int, sigmas: tuple[float, float], share: tuple[float, float]) -> float:
        """The height of an event: the larger one of so many sigmas and such a share of the level."""
        by_noise = self.random.uniform(*sigmas) * self.sigma[row]
        return float(max(by_noise, self.random.uniform(*share) * self.level[row]))

    def series(self, value: Values | None = None, metric: str = "loss", clock: bool = False) -> OddSeries:
        """The loss as a series, with a wall time of about a second per step where `clock`."""
        return OddSeries(
            metric,
            self.step,
            self.value if value is None else value,
            wall(self.random, self.step) if clock else None,
        )


def wall(random: Random, step: Steps, seconds: float = 1.0) -> Values:
    """Wall times of steps, with jitter of two per cent per row."""
    gaps = np.diff(step, prepend=step[:1]) * seconds
    return 1.7e9 + np.cumsum(gaps * (1 + 0.02 * random.standard_normal(len(step)).clip(-4, 4)))


def bump(n: int, row: int, height: float, rise: int, decay: float) -> Values:
    """An event [n]: a straight rise over `rise` rows from `row` on, then an exponential decay."""
    after = np.arange(n) - row
    shape = np.where(after < rise, (after + 1) / max(rise, 1), np.exp(-(after - rise + 1).clip(0) / decay))
    return np.where(after < 0, 0.0, height * shape)


def smooth(value: Values, weight: float) -> Values:
    """The exponential moving average [n] that trackers show."""
    out, last = np.empty(len(value)), float(value[0])
    for row, current in enumerate(value.tolist()):
        last = weight * last + (1 - weight) * current
        out[row] = last
    return out


def cosine(n: int, cycles: int = 1, floor: float = 0.0) -> Values:
    """A cosine schedule [n] from 1 to `floor`, restarted `cycles` times."""
    phase = (np.arange(n) * cycles / n) % 1
    return floor + (1 - floor) * 0.5 * (1 + np.cos(np.pi * phase))


def wander(random: Random, n: int, memory: float, size: float) -> Values:
    """A slow stationary process [n] of standard deviation `size` that forgets within `memory` rows."""
    coarse = max(int(memory / 16), 1)
    rows = n // coarse + 2
    process = autoregressive(random, rows, float(np.exp(-coarse / memory)))
    return size * np.interp(np.arange(n) / coarse, np.arange(rows), process)

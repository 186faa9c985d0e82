"""The rises that a series has shown so far over each horizon: how far it moves upwards without any event.

A series that wanders rises the further, the longer one waits; stationary noise does not. The structure
function of its level, the spread of x(t + h) - x(t) for several horizons h, shows which: of all points yet.
Points of earlier events count, too: what a run does again and again is how it is.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from holter.detectors.robust_statistics import mad_sigma, quantiles, row_medians
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray

MEDIAN_ERROR = 1.25
"""Standard error of a median of n normal values, times sqrt(n) / sigma."""
LAGS = (1, *(size << power for power in range(24) for size in (2, 3)))
"""Blocks over which rises are measured: 1, 2, 3, 4, 6, 8, 12 ... What is known of rises over a horizon should
not wait for twice as many points."""


@dataclass(frozen=True, kw_only=True)
class UsualRiseThresholds(Thresholds):
    """How the usual rises over a horizon are measured, and how far a rise must exceed them."""

    block_points: tuple[int, ...] = (8, 32, 128)
    """Points of a block, whose median is a level: for means of at least as many points."""
    known_points: tuple[int, ...] = (2048, 16384, 16384)
    """Points, the latest, that the rises of such levels are measured on."""
    measured_every: int = 64
    """Points after which the rises are measured again."""
    independent_rises: int = 8
    """Rises side by side that must be known over a horizon; longer horizons are those of a random walk that
    begins there."""
    upper_quantiles: tuple[tuple[float, float], ...] = ((0.84, 1.0), (0.975, 1.96))
    """Quantiles of the rises, and of how many standard deviations of normal ones they are."""
    noise_margin: float = 1.25
    """Times its estimate that noise may move a level: the rises of the levels are an estimate, too."""
    errors: float = 4.0
    """Spreads over its horizon that a rise must exceed: 1 in 30,000 independent rises, of which there are
    the fewer, the longer the horizon."""


@dataclass(frozen=True, eq=False, kw_only=True)
class UsualRises:
    """For each size of a block the spread of rises beyond that of noise, over each of `LAGS` blocks that is
    known [m]; where m = 0, none is known."""

    spreads: tuple[FloatArray, ...]
    thresholds: UsualRiseThresholds

    def knows(self, points: int, horizon: float) -> bool:
        """Whether the rises of a mean of so many points over a horizon in points were measured."""
        return any(horizon <= size * LAGS[len(spread) - 1] for size, spread in self._up_to(points))

    def limit(self, points: int, horizon: float) -> float:
        """The rise of a mean of so many points over a horizon in points that is not usual; 0 where nothing is
        known of it."""
        known = self._up_to(points)
        if not known:
            return 0.0
        size, spread = known[-1]
        return self.thresholds.errors * spread_over(spread, horizon / size)

    def _up_to(self, points: int) -> list[tuple[int, FloatArray]]:
        """The sizes of blocks of at most so many points whose rises are known, and their spreads."""
        sizes = zip(self.thresholds.block_points, self.spreads, strict=True)
        return [(size, spread) for size, spread in sizes if size <= points and len(spread)]


class UsualRiseMeter:
    """Measures the usual rises of an attempt by its values [n]; those known at a later point are measured
    from most of the levels known at an earlier one."""

    def __init__(self, values: FloatArray, thresholds: UsualRiseThresholds) -> None:
        self._values = values
        self._thresholds = thresholds
        self._measured: dict[int, UsualRises] = {}
        self._levels: dict[tuple[int, int], _BlockLevels] = {}

    def before(self, index: int) -> UsualRises:
        """The rises before a point, measured now and then."""
        upto = max(index - index % self._thresholds.measured_every, 0)
        if upto not in self._measured:
            self._measured[upto] = self._measure(upto)
        return self._measured[upto]

    def _measure(self, upto: int) -> UsualRises:
        limits = self._thresholds
        if upto < limits.measured_every:
            return UsualRises(spreads=tuple(np.empty(0) for _ in limits.block_points), thresholds=limits)
        spreads = []
        latest = self._values[max(upto - limits.known_points[0], 0) : upto]
        size_before, noise = 1, mad_sigma(np.diff(latest), 0.0) * MEDIAN_ERROR
        for size, most in zip(limits.block_points, limits.known_points, strict=True):
            offset = max(upto - max(limits.known_points), 0) % size
            levels = self._levels.setdefault((size, offset), _BlockLevels(self._values[offset:], size))
            level = levels.before(upto - offset, most)
            # neighboring levels of the size before show what noise leaves of these; what is more is wander
            noise *= float(np.sqrt(size_before / size))
            spreads.append(spreads_of_rises(noise, level, limits))
            noise = mad_sigma(np.diff(level), 0.0) if len(level) > 1 else 0.0
            size_before = size
        return UsualRises(spreads=tuple(spreads), thresholds=limits)


class _BlockLevels:
    """The medians of blocks of some values [n], each computed once: of those asked for and those between."""

    def __init__(self, values: FloatArray, size: int) -> None:
        self._size = size
        self._values = values
        self._first = 0
        self._known = np.empty(0)

    def before(self, upto: int, most: int) -> FloatArray:
        """The medians of the whole blocks among the last values before `upto`, at most so many values."""
        last = upto // self._size
        first = max(last - most // self._size, 0)
        if first < self._first or first > self._first + len(self._known):
            self._first, self._known = first, np.empty(0)
        done = self._first + len(self._known)
        if last > done:
            new = row_medians(self._values[done * self._size : last * self._size].reshape(-1, self._size))
            self._known = np.concatenate((self._known[first - self._first :], new))
            self._first = first
        return self._known[first - self._first : last - self._first]


def spreads_of_rises(
    noise: float, level: FloatArray, thresholds: UsualRiseThresholds, lags: tuple[int, ...] = LAGS
) -> FloatArray:
    """The spread of the rises of levels [n] over each of `lags` of them, beyond that of noise [m]."""
    spreads: list[float] = []
    shares, sigmas = zip(*thresholds.upper_quantiles, strict=True)
    for lag in lags:
        if lag * thresholds.independent_rises >= len(level):
            break
        rise = level[lag:] - level[:-lag]
        upper = max(value / sigma for value, sigma in zip(quantiles(rise, shares), sigmas, strict=True))
        beyond = max(upper, 0.0) ** 2 - (thresholds.noise_margin * noise) ** 2
        # a level that has moved so far over a shorter horizon may do so over a longer one
        spreads.append(max(float(np.sqrt(max(beyond, 0.0))), *spreads[-1:], 0.0))
    return np.array(spreads)


def spread_over(spreads: FloatArray, levels: float, lags: tuple[int, ...] = LAGS) -> float:
    """The spread of the rises over so many levels, of those that are known [m >= 1]; over more than those as
    a random walk."""
    place = min(bisect_left(lags, levels), len(spreads) - 1)
    return float(spreads[place]) * float(np.sqrt(max(levels / lags[place], 1.0)))

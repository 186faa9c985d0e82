"""Evidence that an evaluation loss has risen: means of the latest evaluations against those before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from holter.detectors.evaluation.noise import APART, Noise, limits
from holter.types import FloatArray, IntArray

_WINDOWS = (
    *((1, 0), (2, 0), (3, 0), (4, 0), (4, 4), (6, 6)),
    *((8, 0), (8, 8), (8, 16), (16, 0), (16, 16), (16, 32)),
)
"""Evaluations whose mean is held against that of those before, and how many are left out between: a slow
rise would raise its own reference."""
_BEFORE = 4
"""Evaluations before, at least; as many as are looked at."""
REACH = 128
"""Evaluations that all of this rests on."""
_WORD = 0.01
"""Share of the level by which evaluations must have risen to be worth a word."""
_LONE = 1.5
"""Times as high as any lone evaluation before: one point may be an outlier of such noise."""


class _Look(NamedTuple):
    points: int
    gap: int

    @property
    def before(self) -> int:
        """How many evaluations before are held against these."""
        return max(_BEFORE, self.points)

    def wander(self, noise: Noise) -> FloatArray:
        """The standard deviation by which the level wanders between the two [n]; a lone point is noise."""
        far = (self.points + self.before) / 2 + self.gap if self.points > 1 else 2.0
        apart = next((one for one in APART[1:] if one >= far), APART[-1])
        return noise.wander[apart] * float(np.sqrt(max(far / apart, 1.0)))


_LOOKS = tuple(_Look(*window) for window in _WINDOWS)


def looks(value: FloatArray, noise: Noise, known: int, count: int) -> Iterator[tuple[int, FloatArray]]:
    """For each look the evaluations it rests on, and its strength, an alarm from 1 on, at every evaluation
    from the `known`-th on [n - known]; `count` were seen before those given."""
    last = np.arange(known, len(value))
    for look in _LOOKS:
        able = last >= look.points + look.gap + look.before - 1
        strength = np.zeros(len(last))
        if able.any():
            strength[able] = _strength(value, noise, look, last[able], last[able] + count + 1)
        yield look.points + look.gap, strength


def _strength(value: FloatArray, noise: Noise, look: _Look, last: IntArray, count: IntArray) -> FloatArray:
    end = last - look.points - look.gap
    total = np.concatenate(([0.0], np.cumsum(value - value[0])))
    now = (total[last + 1] - total[last + 1 - look.points]) / look.points
    before = (total[end + 1] - total[end + 1 - look.before]) / look.before
    # what lies in the window itself says nothing of the noise
    sigma = noise.sigma[end]
    error = np.hypot(sigma * np.sqrt(1 / look.points + 1 / look.before), look.wander(noise)[end])
    rise, word = now - before, _WORD * np.abs(before + value[0]) + 1e-30
    asked = limits(count, noise.known[end], look.points + look.gap)
    found = np.minimum(rise / (asked * error), rise / word)
    if look.points == 1:
        found = np.minimum(found, rise / (_LONE * noise.reach[end] + 1e-30))
    return np.where(np.isnan(sigma), 0.0, found)

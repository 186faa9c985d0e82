"""What the evidence that a loss leaves its level is multiplied by, from what else the run logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from holter.detectors.loss.excursions.segment import AttemptSegment
from holter.types import FloatArray

FactorAt = Callable[[AttemptSegment, int, int], FloatArray]
"""The factor at the points of a segment, from one index to another (exclusive)."""


@dataclass(frozen=True)
class GradientEvidence:
    """The evidence of the gradient norm beside that of the loss, for means of `points`."""

    points: tuple[int, ...]
    errors: Callable[[AttemptSegment, int, int, tuple[int, ...]], FloatArray]
    """How many standard errors means of these numbers of points of it are above those before, at the points
    of a segment from one index to another (exclusive) [numbers, n]."""
    since_restart: Callable[[AttemptSegment, int], FloatArray]
    """How many standard errors its mean since the segment began is above that before, at the points up to an
    index (exclusive)."""
    factor: FactorAt
    """What evidence to which it contributes is multiplied by."""


@dataclass(frozen=True)
class EvidenceFactor:
    """A factor on evidence at each point, from `least` to `most`, so that most points need not compute it."""

    at: FactorAt
    """The factor at the points of a segment, from one index to another (exclusive)."""
    least: float
    most: float
    gradient: GradientEvidence | None = None

    def deciding(self, segment: AttemptSegment, index: int, strength: FloatArray) -> FloatArray:
        """The factor at each point from `index` of a segment on, of evidence with these strengths [n], where
        it decides which is the first alarm: between the first point that may be one and the first that is one
        for certain. Elsewhere `most`."""
        factor = np.full(len(strength), self.most)
        possible = np.flatnonzero(strength * self.most >= 1)
        if len(possible):
            certain = np.flatnonzero(strength * self.least >= 1)
            first, stop = int(possible[0]), int(certain[0] if len(certain) else possible[-1]) + 1
            factor[first:stop] = self.at(segment, index + first, index + stop)
        return factor

    def can_alarm(self, strength: FloatArray) -> bool:
        """Whether evidence of these strengths can be an alarm at any factor."""
        return bool(strength.max(initial=0.0) * self.most >= 1)


def remember_latest(compute: FactorAt) -> FactorAt:
    """The same factor; points within those asked for last are not computed again."""
    segment_of: AttemptSegment | None = None
    begin, known = 0, np.empty(0)

    def at(segment: AttemptSegment, first: int, stop: int) -> FloatArray:
        nonlocal segment_of, begin, known
        if segment is not segment_of or first < begin or stop > begin + len(known):
            segment_of, begin, known = segment, first, compute(segment, first, stop)
        return known[first - begin : stop - begin]

    return at


NO_FACTOR = EvidenceFactor(lambda _, first, stop: np.ones(stop - first), 1.0, 1.0)

"""Whether the loss is higher after a restart than it was at the same steps before.

A run that rolls back trains some steps again, and the attempt before shows what their losses should be, of a
falling curve, too, whose level before the restart is higher than what follows. Where the batches are the same
again, their noise cancels. How much of it is left, the differences show themselves: they are compared by
Student's t.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri, stdtr

from holter.detectors.loss.excursions.baseline import LossNoise
from holter.detectors.loss.excursions.segment import AttemptSegment
from holter.detectors.robust_statistics import mad_sigma
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class RepeatedStepThresholds(Thresholds):
    """When the losses of steps that are repeated count as higher."""

    points: int = 150
    """The first points of the repeated steps that are compared."""
    errors: float = 4.5
    """Standard errors of normal noise that are as rare as their mean difference by Student's t."""
    least_sigmas: float = 0.35
    """Sigmas of a point by which they must be higher on average: two courses of one training differ by less,
    and less is not visible."""
    least_spread: float = 0.1
    """Sigmas of a point that the differences spread by at least: those of rounded values may all be equal."""
    sigma_points: int = 128
    """The latest points before, whose changes show the sigma of a point: of a loss that fell steeply before
    that, too."""
    most_correlation: float = 0.95
    """The correlation of neighboring points is taken for this at most."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RepeatedSteps:
    """The points [n] of the attempt before from the first step on that is repeated, and the `latest` values
    of that attempt, whose changes show the sigma of a point."""

    step: IntArray
    value: FloatArray
    latest: FloatArray
    thresholds: RepeatedStepThresholds

    @staticmethod
    def between(
        earlier: AttemptSegment, later: AttemptSegment, thresholds: RepeatedStepThresholds
    ) -> RepeatedSteps | None:
        """What `earlier` shows of the steps that `later` repeats; None where that is too little."""
        first = int(np.searchsorted(earlier.step, later.step[0]))
        if len(earlier.step) - first < 2:
            return None
        part = slice(first, first + thresholds.points)
        return RepeatedSteps(
            step=earlier.step[part],
            value=earlier.value[part],
            latest=earlier.value[-thresholds.sigma_points :],
            thresholds=thresholds,
        )

    @cached_property
    def sigma(self) -> float:
        """That of uncorrelated points, infinite where the loss did not change at all."""
        changes = np.diff(self.latest)
        if not changes.any():
            return float("inf")
        # of values that hardly change but for their last digit, that digit
        digit = float(np.abs(changes[changes != 0]).min()) / 2
        return max(mad_sigma(changes, 0.0) / float(np.sqrt(2)), digit)

    def level(self, steps: IntArray) -> float:
        """The mean of those at the given steps [n], of which one at least is repeated."""
        return float(np.mean(self.value[np.isin(self.step, steps)]))

    def strength(self, steps: IntArray, values: FloatArray, noise: LossNoise) -> FloatArray:
        """The strength of evidence, at each of the first points [n] after the restart, that those up to there
        are higher than at the same steps before."""
        limits, strength = self.thresholds, np.zeros(len(steps))
        before = np.minimum(self.step.searchsorted(steps), len(self.step) - 1)
        is_repeated = self.step[before] == steps
        is_repeated[1:] &= steps[1:] != steps[:-1]  # each step once
        after = is_repeated.nonzero()[0]
        difference = values[after] - self.value[before[after]]
        count = np.arange(1, len(difference) + 1)
        mean = np.cumsum(difference) / count
        if not (mean > 0).any():
            return strength
        correlation = min(max(noise.correlation, 0.0), limits.most_correlation)
        sigma = self.sigma / float(np.sqrt(1 - correlation))
        # correlated points tell as much as so many independent ones
        independent = count * (1 - correlation) / (1 + correlation)
        possible = (mean >= limits.least_sigmas * sigma) & (independent > 2)
        if not possible.any():
            return strength  # as after most restarts
        spread = np.cumsum(difference**2) / count - mean**2
        freedom = np.maximum(independent - 1, 1.0)
        error = np.sqrt(np.maximum(spread, (limits.least_spread * sigma) ** 2) / freedom)
        chance = np.maximum(stdtr(freedom, -mean / error), np.finfo(float).tiny)
        strength[after] = np.where(possible, -ndtri(chance) / limits.errors, 0.0)
        return strength

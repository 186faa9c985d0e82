"""Whether the loss continues after a restart at the level it had before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from holter.detectors.loss.excursions.baseline import LossHistory, LossNoise
from holter.detectors.loss.excursions.repeated_steps import RepeatedSteps, RepeatedStepThresholds
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class RestartThresholds(Thresholds):
    """When a loss counts as moved by a restart."""

    first_points: int = 16
    """Points. An excursion that starts within this many points of a restart belongs to the restart: what was
    not restored acts at once, and momentum (0.9) that begins anew within ten steps; noise delays the onset
    that is found."""
    compared_points: int = 150
    """Points after a restart whose mean is compared with the level before it."""
    reference_points: int = 128
    """Points before a restart that form the level; the trend is measured on twice as many."""
    reference_share: float = 1 / 3
    """Share of all points known that these are at most: the level of a young run falls too fast for more."""
    rise_errors: float = 4.5
    """Standard errors of a rise: each restart is tested a few times, so fewer are needed than for a full
    run."""
    fall_errors: float = 4.5
    """Standard errors of a fall against the extrapolated trend: most lower losses are welcome."""
    both_errors: float = 3.9
    """Standard errors by which the loss and the gradient norm must rise on average: as rare as `rise_errors`
    of the loss alone where the noise of the two is correlated by a half."""
    both_least_errors: float = 3.0
    """Standard errors by which the loss must then rise, 1 in 700."""
    both_most_errors: float = 8.0
    """Standard errors that the rise of the gradient norm counts for at most."""
    mismatch_share: float = 0.7
    """Share of `rise_errors` that suffices when the learning rate did not continue as it was."""
    mismatch_points: int = 1000
    """Points after a restart with another learning rate within which the loss may show it."""
    least_sigmas: float = 0.25
    """Sigmas of a point by which the loss must move to be worth reporting."""
    clip_sigmas: float = 4.0
    """Sigmas. A point counts at most this much in the mean."""
    repeated: RepeatedStepThresholds = RepeatedStepThresholds()
    """When the losses of steps that are repeated count as higher than they were."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RestartEvidence:
    """How many standard errors the first points [n] after a restart up to each are above the level before it,
    of which so many are `required`; the `most` that evidence may be since the rise is small; and the strength
    of evidence that they are below (`down`)."""

    errors: FloatArray
    most: FloatArray
    required: float
    down: FloatArray
    thresholds: RestartThresholds

    @property
    def up(self) -> FloatArray:
        """The strength of evidence that they are above."""
        return np.minimum(self.errors / self.required, self.most)

    def with_gradient(self, of_gradient: FloatArray) -> FloatArray:
        """The strength of evidence that they are above, together with the standard errors [n] by which the
        gradient norm is."""
        limits = self.thresholds
        both = (self.errors + np.minimum(of_gradient, limits.both_most_errors)) / (2 * limits.both_errors)
        return np.where(self.errors >= limits.both_least_errors, both, 0.0)

    def since(self, index: int) -> RestartEvidence:
        """The same at the points from `index` on."""
        return replace(self, errors=self.errors[index:], most=self.most[index:], down=self.down[index:])


@dataclass(frozen=True, eq=False, kw_only=True)
class RestartLevel:
    """What was known of a loss when an attempt after the first began.

    `rate_mismatch`: the attempt began with another learning rate. `repeated`: the steps that it repeats.
    """

    thresholds: RestartThresholds
    history: LossHistory
    rate_mismatch: bool
    repeated: RepeatedSteps | None = None

    @property
    def points_examined(self) -> int:
        """The points after the restart that may show what it did: beyond the first ones only a slow cause,
        such as another learning rate, is considered."""
        return self.thresholds.mismatch_points if self.rate_mismatch else self.thresholds.compared_points

    def evidence(self, values: FloatArray, noise: LossNoise, least_strength: float) -> RestartEvidence | None:
        """The evidence at each of the first points [n] after the restart; None where all strengths are below
        the least one."""
        limits = self.thresholds
        known = min(self._reference_points, len(self.history.clipped))
        if known < self.history.thresholds.fewest_points:
            return None
        level, slope = self._level_and_slope
        count = np.arange(1, len(values) + 1)
        clip = limits.clip_sigmas * noise.sigma
        above = np.cumsum(np.clip(values - level, -clip, clip)) / count
        ahead = (known + count) / 2
        off_trend = above - slope * ahead
        required = limits.rise_errors * (limits.mismatch_share if self.rate_mismatch else 1.0)
        # no standard error is smaller than that of independent points, and the trend only falls
        largest = off_trend * np.sqrt(count) / noise.sigma
        least_up = min(least_strength * required, limits.both_least_errors)
        if largest.max() < least_up and -largest.min() < least_strength * limits.fall_errors:
            return None  # as after most restarts
        error = self._errors(noise, count) * np.sqrt(1 / count + 1 / known)
        worthwhile = limits.least_sigmas * noise.sigma
        against_trend = off_trend / np.hypot(error, self._slope_error(noise) * ahead)
        errors = np.maximum(above / error, against_trend)
        most = above / worthwhile
        down = np.minimum(-against_trend / limits.fall_errors, -off_trend / worthwhile)
        errors[self.points_examined :] = down[self.points_examined :] = 0.0
        return RestartEvidence(errors=errors, most=most, required=required, down=down, thresholds=limits)

    def _errors(self, noise: LossNoise, count: np.ndarray) -> FloatArray:
        """The standard error of a point in means of these numbers of points [n]."""
        (short, _), (medium, _), *_ = self.history.thresholds.wander_windows
        long_error = np.where(count < medium, noise.error(short), noise.error(medium))
        return np.where(count < short, noise.error(1), long_error)

    @cached_property
    def _reference_points(self) -> int:
        """The points before the restart that form the level."""
        known = round(self.thresholds.reference_share * self.history.count)
        return min(self.thresholds.reference_points, max(known, self.history.thresholds.fewest_points))

    @cached_property
    def _level_and_slope(self) -> tuple[float, float]:
        """The level before the restart, and its slope (<= 0) per point."""
        before = self.history.clipped[-self._reference_points :]
        last = self.history.clipped[-2 * self._reference_points :]
        half = len(last) // 2
        means = float(last[half:].sum()) / (len(last) - half) - float(last[:half].sum()) / max(half, 1)
        return float(before.sum()) / len(before), min(means / max(half, 1), 0.0)

    def _slope_error(self, noise: LossNoise) -> float:
        """The standard error of the slope."""
        half = max(min(2 * self._reference_points, len(self.history.clipped)) // 2, 1)
        return float(noise.error(self.history.thresholds.fewest_points) * np.sqrt(2 / half) / half)

"""The points of an excursion, and the thresholds by which it is followed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from holter.detectors.loss.excursions.baseline import DampedFall, LossNoise
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class RecoveryThresholds(Thresholds):
    """When an excursion of a loss counts as over, as settled higher, or as a drift."""

    near_points: int = 8
    """Points that must be back on average for a return to begin."""
    near_sigmas: float = 0.5
    """Sigmas of a point, over the root of `near_points`, by which their mean may exceed the tolerance."""
    clip_sigmas: float = 4.0
    """Standard errors, times the root of their number, that a point counts at most in the means of a return,
    as it does in the level from before: a blip is not the spike."""
    level_errors: float = 1.5
    """Standard errors by which means may exceed the level from before, without a trend."""
    certain_errors: float = 1.0
    """Standard errors by which the mean over `far_steps` must be below the tolerance in sigmas while the
    trend is assumed: the return is the first of many such means that is low enough, and low by chance..."""
    certain_share: float = 0.5
    """... or, where the error is larger than that leaves, at this share of the tolerance."""
    lone_errors: float = 2.0
    """Standard errors by which means may exceed the tolerance after `lone_points` that stood out: less cannot
    be told from noise, and nothing has shown a decay."""
    lone_points: int = 2
    """Points of an excursion, at most, after which nothing has shown that it lasts."""
    reference_points: int = 64
    """Points whose mean is the level from before, which has a standard error, too."""
    first_point_sigmas: float = 3.0
    """Sigmas by which the first point of a return may exceed the tolerance."""
    far_steps: int = 60
    """Steps that must be back on average for a return to be confirmed."""
    trend_steps: int = 200
    """Steps for which the trend from before is assumed to have continued."""
    tolerance_sigmas: float = 0.35
    """Sigmas above the trend that still count as back: the eye cannot tell the two apart."""
    tolerance_height: float = 0.03
    """Share of the height of an excursion that still counts as back: it is not visible beside the rest."""
    tolerance_height_sigmas: float = 1.5
    """Sigmas above the trend that such a share counts at most..."""
    tolerance_height_errors: float = 2.0
    """... and standard errors of the mean that is compared: what so many rows show is no noise, however small
    it is beside the peak."""
    level_sigmas: float = 0.05
    """Sigmas above the level from before that still count as back, once the trend is no longer assumed."""
    interrupting_sigmas: float = 6.0
    """Sigmas above the baseline at which a rise interrupts a return that is not confirmed yet, or as far as
    the noise reaches, if that is further."""
    interrupting_share: float = 0.5
    """Share of the height of the excursion from which on such a rise is another event."""
    smoothing_steps: int = 25
    """Steps over which a rise is averaged to measure how fast it was."""
    spacing_points: int = 64
    """Points whose median spacing converts steps to points."""
    half_height: float = 0.5
    """Share of the peak at which a rise is timed."""
    settled_steps: int = 500
    """Steps after which a loss that is not back is no longer expected back."""
    settled_points: int = 32
    """Points that a loss must have been high for as well: sparse logs show less in as many steps."""
    certain_strength: float = 2.0
    """Strength of the evidence from which on a rise is a warning at once; with less, once most of more than
    `near_points` are high."""
    lone_strength: float = 4.0
    """Strength of the evidence from which on a single point is a warning at once; with less, once most of the
    points after it are high: how far the tail of the noise reaches is known from few points."""
    compared_points: int = 128
    """First points of a rise of less evidence, of a slow one the latest, too; their median is compared with
    that of the `settled_points` before it. A rise that was over within so many is a warning all the same."""
    young_share: float = 0.5
    """Share of all points known before, for which a loss that is high counts as not back in a young run, and
    one that is back as back."""
    lull_points: int = 64
    """Latest points among which the beginning of a return is searched for that is not certain yet."""
    flat_share: float = 0.8
    """Share of its excess in the third quarter of an excursion that the fourth must have: less is a decay,
    which will come back by itself."""
    flat_share_of_half: float = 0.75
    """The same for the second quarter: a slow decay hardly shows from one quarter to the next."""
    stay_errors: float = 1.0
    """Standard errors by which it must be clear of the decay that would bring it back in `settled_steps`, to
    be called settled before it has lasted for so long."""
    flat_share_of_eighth: float = 0.5
    """Share of its excess in the first half of the last quarter that the second half must have."""
    falling_share: float = 0.7
    """Share of the height in the first quarter of a rise that the second must have, of one from whose level
    the loss fell on: a straight fall leaves seven tenths of it, an exponential decay about four."""
    fallen_share: float = 0.25
    """Share of that height by which the trend from before must have fallen until the loss was back: it is
    damped, and less by its error."""
    lasting_progress: float = 0.25
    """Share of the fall of the level since the run began that a lasting step must undo to be critical: less
    is as often another stage of the data, which not all runs log."""
    lasting_progress_of_drift: float = 0.1
    """The same for a rise that takes long to reach its height: a stage begins at once."""
    harder_share: float = 0.25
    """Share of the level before below which a loss that is higher at once, and goes on from there as before,
    is a warning, whatever it undoes: another task or other data are as often harder by so much."""
    at_once_sigmas: float = 3.0
    """Sigmas below its lasting level up to which the first points of a step are at that level."""
    noisier: float = 1.5
    """Times its noise before from which on a higher loss does not go on as before."""
    least_rate: float = 0.5
    """Share of its former rate at which such a loss falls on, but for..."""
    rate_errors: float = 3.0
    """... so many standard errors..."""
    rate_share: float = 0.1
    """... or this share of its height, where that is more."""
    unlearned_points: int = 64
    """Points before an excursion up to which a run whose level has not fallen since it began is too young to
    tell what lasts: its first rise is as often a warm-up, and falls slowly."""
    unlearned_wait: float = 4.0
    """Times the points before it that an excursion must have lasted for in such a run to be critical."""
    average_sigmas: float = 30.0
    """Sigmas that the rise of such a run must be high where its evidence is weak: a moving average over 200
    points has a tenth of their noise, and begins with one of them..."""
    average_share: float = 0.1
    """... or this share of the level: the first value of an average is hardly further from it."""
    at_once_share: float = 0.8
    """Share of the lasting height that the first point has of a step, as of a stage."""
    overshoot: float = 1.5
    """Times its lasting height that a spike peaks at: it did damage, however little progress is lost."""
    lasting_growth: float = 1.25
    """Times the height of the quarter before that the last quarter has, from which on an excursion grows."""
    visible_progress: float = 0.03
    """Share of the fall of the level since the run began that growth must have undone to be critical: less is
    not visible in a picture of the run."""
    growth_parts: int = 4
    """Parts of the last half of an excursion whose medians show how it grew."""
    growth_in_one_part: float = 0.6
    """Share of the growth that one of these parts may bring: more is a step, as of another stage."""
    most_steps: int = 3
    """Steps that an excursion may rise in to count as stages in sequence: steady growth brings a fifth of its
    height in as many."""
    growth_in_steps: float = 0.85
    """Share of the growth that they bring together."""
    stage_parts: int = 5
    """Parts of `step_parts` for which a stage holds: what follows sooner is the rise of the same event."""
    step_parts: int = 32
    """Parts of an excursion over two of which a step to another level is measured..."""
    most_part_points: int = 64
    """Points. ... of which each has at most so many: a stage is no shorter for what follows it."""
    flat_growth: float = 1.25
    """Ratio of the numbers of points after which it is examined again whether an excursion decays."""
    level_points: int = 64
    """Points that show the new level; two windows of them in sequence must agree."""
    new_rise_sigmas: float = 8.0
    """Sigmas above the level of a loss that is not back yet, from which on it rises anew."""
    new_rise_share: float = 0.5
    """Share of the height of the excursion from which on it rises anew."""
    larger_rise: float = 1.0
    """Heights of the excursion by which a point must exceed all before, to begin a larger one within it."""
    slow_rise_steps: int = 60
    """Steps. A spike reaches half of its height sooner; a rise that takes longer is a drift."""
    slow_rise_points: int = 3
    """Points. A spike reaches half of its height sooner; a rise that takes longer is a drift."""
    late_points: int = 12
    """Points, at least, after which a rise that goes on first reached half of its height, to be a drift
    however few steps they are: a spike of few points is no rise."""
    late_share: float = 0.5
    """Share of the points since its onset after which it did; its peak is among the last half of these."""
    drift_points: int = 64
    """Points. A spike is detected by its first points; what takes this many to detect is a drift."""
    chunk_points: tuple[int, int] = (256, 4096)
    """Points that are searched together for a return, at first and at most."""

    def after(self, known: int) -> RecoveryThresholds:
        """The same for an excursion before which so many points were known."""
        return replace(self, far_steps=min(self.far_steps, max(int(self.young_share * known), 1)))


@dataclass(frozen=True, kw_only=True)
class ExcursionPoints:
    """The points [n] of an attempt from the first point of an excursion on.

    It was detected at point `detected` by `width` points: at least as many must be back. `step` is in
    optimizer steps. `baseline` was the level before, and `fall` the trend from there; `progress` is how far
    the level had fallen since the run began, and `known` the number of points before (None if not in the
    same attempt).
    """

    step: IntArray
    value: FloatArray
    detected: int
    width: int
    baseline: float
    fall: DampedFall
    noise: LossNoise
    thresholds: RecoveryThresholds
    progress: float = 0.0
    known: int | None = None

    @property
    def has_learned(self) -> bool:
        """Whether the level had fallen since the run began."""
        return self.progress > self.noise.sigma

    @property
    def fewest_back(self) -> int:
        """The fewest points that must be back."""
        return max(self.width, self.thresholds.near_points)

    def head(self, points: int) -> ExcursionPoints:
        """Only the first points."""
        return replace(self, step=self.step[:points], value=self.value[:points])

    def excess(self, first: int = 0) -> tuple[FloatArray, FloatArray]:
        """How far the points from `first` on are above the reference, and how much still counts as back.

        The reference is the trend and, later on, the level from before: how far a trend would have fallen in
        the meantime is unknown.
        """
        limits = self.thresholds
        elapsed = self.step[first:] - self.step[0]
        on_trend = (elapsed < limits.trend_steps) | (np.arange(first, len(self.step)) < limits.near_points)
        fallen = np.where(on_trend, self.fall.after(elapsed), 0.0) if on_trend.any() else 0.0
        allowed = np.where(on_trend, limits.tolerance_sigmas, limits.level_sigmas) * self.noise.sigma
        return self.value[first:] - self.baseline - fallen, allowed

"""The baseline of a series: its recent level, its noise, and how heavy the tail of the noise is.

All estimates are trailing: those for a point rest on earlier points only. Levels are medians, or means of
values clipped to a few sigma, and noise is measured by the MAD, so that an event does not raise the estimates
it is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from holter.detectors.loss.excursions.median_lag import (
    MedianLagThresholds,
    measure_correlation,
    measure_lag,
)
from holter.detectors.loss.excursions.noise_growth import NoiseGrowthThresholds, without_growth
from holter.detectors.loss.excursions.noise_tails import (
    NO_REACH,
    NoiseReach,
    NoiseTailThresholds,
    measure_reach,
    measure_young_reach,
)
from holter.detectors.robust_statistics import mad_sigma, median, quantiles, trailing_medians, windows
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray

TINY = 1e-30
"""A sigma just above zero, whose inverse times any bounded loss is still finite."""


@dataclass(frozen=True, kw_only=True)
class BaselineThresholds(Thresholds):
    """How the level, the noise and the trend of a loss are measured."""

    median_points: int = 25
    """Points of the running median: long compared with the first points of a spike, short compared with the
    decline of a loss."""
    fewest_points: int = 32
    """Points before which nothing is detected: the error of a MAD is then still 20 %."""
    fewest_first_points: int = 8
    """Points before which nothing at all is detected."""
    range_sigmas: float = 4.0
    """Range of a few normal points in sigmas: 2.8 of 8, 4.1 of 32."""
    changes: int = 24
    """The latest changes from point to point of which the usual larger one is taken: the fall of a loss adds
    little to them, while it widens the spread of its first points."""
    change_rank: int = 3
    """Which of these changes it is, from the largest: a spike that was no event makes two."""
    change_sigmas: float = 2.3
    """Sigmas of normal points that it amounts to."""
    most_change_sigmas: float = 4.6
    """Sigmas that it amounts to at most: with more, the noise measured is that of a calmer beginning."""
    shape_points: int = 1024
    """Points that the shape of the noise is measured on: quantiles up to 99.5 % need a thousand."""
    size_points: int = 128
    """Points that the size of the noise is measured on: it shrinks with the level of a loss, fastest early
    on."""
    fall_points: int = 16
    """Points whose mean score shows that a loss falls steeply at its beginning..."""
    fall_sigmas: float = 0.75
    """... by more than this many sigmas: three standard errors of their mean."""
    trend_points: int = 384
    """Points that the slope of the level is measured on."""
    shape_known_after: int = 160
    """Points before which the tail of the noise is assumed to be that of normal noise, and a little more."""
    stored_points: int = 4608
    """Points of the history that are retained."""
    correlated_from: float = 0.5
    """Correlation of neighboring points from which on all stored points, not the latest `shape_points`, are
    used to measure how far means wander."""
    clip_sigmas: float = 4.0
    """Sigmas. A point counts at most this much in a mean, so that a single outlier never forms a level."""
    upper_odds: float = 40.0
    """One in this many points exceeds the upper quantile (97.5 %), where the tail of the noise begins."""
    far_odds: float = 200.0
    """One in this many points exceeds the far quantile (99.5 %), which gives the tail its weight."""
    least_upper_sigmas: float = 1.8
    """Sigmas. A smaller upper quantile is not trusted: normal noise has 1.96, and the sample is small."""
    least_far_ratio: float = 1.30
    """Ratio of the far to the upper quantile, at least: normal noise has 1.31, and the sample is small."""
    normal_upper_sigmas: float = 1.96
    """Sigmas. The upper quantile of normal noise."""
    normal_far_sigmas: float = 2.576
    """Sigmas. The far quantile of normal noise, used for the noise of a few points."""
    young_far_sigmas: float = 2.83
    """Sigmas. The far quantile assumed until `shape_known_after`: a tail a little heavier than normal."""
    mode_ratio: float = 2.0
    """Ratio of the distance of the 84 % quantile from the median (one sigma of normal noise) to the MAD's
    sigma from which on the noise has a second mode above the first: a lognormal 1 has 1.8."""
    body_exponent: float = 1.5
    """Exponent with which surprise grows from the median to the upper quantile."""
    wander_windows: tuple[tuple[int, int], ...] = ((8, 32), (32, 96), (128, 256))
    """Points in a mean, and in the mean before it, whose differences show how far means wander."""
    wander_samples: tuple[int, ...] = (8, 8, 24)
    """For each of `wander_windows`, the fewest independent means; more of the longest, since a few of them
    would overrate the curvature of a young loss."""
    falling_spreads: float = 0.25
    """Spreads of its rises by which a level usually falls, from which on its slowing down is not wander."""
    same_spacing: float = 1.5
    """Ratio of spacings in steps up to which points belong to the same logging interval."""
    finest_share: float = 0.1
    """Share of the latest spacings that are finer than the finest usual one."""
    floor_share: float = 1e-5
    """Share of the level that counts as noise at least: numbers are not logged more precisely."""
    floor_quantum: float = 0.5
    """Share of the smallest difference of two values that counts as noise at least: logs are rounded."""
    floor_range: float = 0.005
    """Share of the range of the points that the size of the noise is measured on that counts as noise at
    least, however smooth the curve."""
    damping: tuple[float, float] = (0.5, 0.9)
    """Least and greatest share of a trend that continues from one third of `trend_points` to the next."""
    growth: NoiseGrowthThresholds = NoiseGrowthThresholds()
    """When noise that grows is no tail of it."""
    lag: MedianLagThresholds = MedianLagThresholds()
    """How the lag of the running median behind a falling level is measured."""
    tails: NoiseTailThresholds = NoiseTailThresholds()
    """How the reach of noise is estimated from points below the level."""


@dataclass(frozen=True, kw_only=True)
class LossNoise:
    """The noise around the running median: its `sigma`, an upper quantile, and how far means wander.

    `tail` is the Weibull exponent beyond the `upper` quantile: 1.3 for normal noise, 0.6 for Student's t3.
    `spread` >= 1 is the standard deviation of clipped scores, by which heavy tails widen the standard error
    of means. `wander` has pairs of a number of points and a factor >= 1: the standard error of means of that
    many points or more is multiplied by it, since neighboring points resemble each other. `correlation` of
    neighboring points is from 0 to 1. `reach` is how far above the level noise puts single points. `lag` >= 0
    is how far the running median is above a falling level with certainty.
    """

    sigma: float
    upper: float
    tail: float
    spread: float = 1.0
    wander: tuple[tuple[int, float], ...] = ()
    correlation: float = 0.0
    reach: NoiseReach = NO_REACH
    lag: float = 0.0
    thresholds: BaselineThresholds = field(default_factory=BaselineThresholds)

    def error(self, points: int) -> float:
        """The standard error of a mean of clipped points, times the root of their number."""
        widest = max(self.spread, 1.0)
        for least, factor in self.wander:
            if points >= least:
                widest = max(widest, factor)
        return self.sigma * widest

    def surprise(self, excess: FloatArray) -> FloatArray:
        """-ln P(a point is this far above the running median), for excesses [n].

        Beyond the 97.5 % quantile the tail is Weibull's: accurate for normal noise (6 sigma where p = 1e-8
        is 5.6) and heavy enough for Student's t3, whose far quantiles it meets within one decade.
        """
        half, upper, _ = _log_odds(self.thresholds)
        with np.errstate(over="ignore"):
            ratio = np.clip(excess / self.upper, 0.0, 1e9)
        body = half + (upper - half) * ratio**self.thresholds.body_exponent
        surprise: FloatArray = np.where(ratio > 1, upper * ratio**self.tail, body)
        return surprise


def _log_odds(thresholds: BaselineThresholds) -> FloatArray:
    """-ln P of a point above the median, the upper and the far quantile [3]."""
    return np.log((2.0, thresholds.upper_odds, thresholds.far_odds))


def measure_noise(
    residual: FloatArray, score: FloatArray, clipped: FloatArray, floor: float, thresholds: BaselineThresholds
) -> LossNoise:
    """The noise of a history.

    `residual` [n >= 1] are distances from the running median, `score` [m] residuals in units of the sigma of
    their time (NaN where unknown), `clipped` [m] the clipped values; `floor` is the least sigma.
    """
    recent = _latest_half(residual, thresholds)
    sigma = max(_size(recent, thresholds), floor)
    lag = measure_lag(recent, sigma, thresholds.lag)
    all_known = score[~np.isnan(score)]
    if len(all_known) < thresholds.shape_known_after:
        neighbors = measure_correlation(recent, thresholds.lag)
        certain = max(neighbors.value - thresholds.lag.correlation_errors * neighbors.error, 0.0)
        young = _young_noise(sigma, all_known, recent / sigma, thresholds)
        return replace(young, correlation=certain, lag=lag)
    known = _after_first_fall(all_known[-thresholds.shape_points :], thresholds)
    known = known - median(known)
    upper, far = quantiles(known, (1 - 1 / thresholds.upper_odds, 1 - 1 / thresholds.far_odds))
    bounded = np.clip(known, -thresholds.clip_sigmas, thresholds.clip_sigmas)
    correlation = float(np.clip(np.mean(bounded[1:] * bounded[:-1]) / (np.mean(bounded**2) + TINY), 0, 1))
    return replace(
        _noise_with_tail(sigma, upper, far, thresholds),
        spread=max(1.0, float(np.std(bounded))),
        wander=_measure_wander(clipped / sigma, correlation, thresholds),
        correlation=correlation,
        reach=measure_reach(all_known, thresholds.tails),
        lag=lag,
    )


def _after_first_fall(score: FloatArray, thresholds: BaselineThresholds) -> FloatArray:
    """Scores [n] without those of a steep fall at their beginning, half of them at most.

    The running median lags behind a steep fall by more than the noise, so that the scores there are those of
    the lag: they are alike, and far below the level.
    """
    size = thresholds.fall_points
    blocks = score[: len(score) // 2 // size * size].reshape(-1, size)
    is_level = np.append(blocks.mean(axis=1) > -thresholds.fall_sigmas, True)
    return score[int(np.argmax(is_level)) * size :]


def _latest_half(points: FloatArray, thresholds: BaselineThresholds) -> FloatArray:
    """The latest half of points [n >= 1], on which the size of the noise is measured."""
    half = max(len(points) // 2, thresholds.fewest_points // 2)
    return points[-min(half, thresholds.size_points) :]


def _size(recent: FloatArray, thresholds: BaselineThresholds) -> float:
    """The standard deviation of residuals [n >= 1]."""
    return max(mad_sigma(recent, median(recent)), _upper_mode(recent, thresholds))


def _young_noise(
    sigma: float, score: FloatArray, recent: FloatArray, thresholds: BaselineThresholds
) -> LossNoise:
    """The noise of few scores [n]: its upper quantile is that of normal noise, or theirs where larger.

    Scores are in sigmas of their time, measured on fewer points yet, and large by chance: the latest
    residuals in sigmas of now, `recent` [m >= 1], must be as large. Where those are skewed, one of the two is
    enough.
    """
    shares = (0.5, 1 - 1 / thresholds.upper_odds)
    reach = measure_young_reach(recent, thresholds.tails)
    known = (quantiles(each, shares) for each in (score, recent) if len(each) >= thresholds.fewest_points)
    uppers = [high - middle for middle, high in known]
    upper = (max if reach.rare > 0 else min)(uppers, default=0.0)
    upper = max(upper, thresholds.normal_upper_sigmas)
    far = upper * thresholds.young_far_sigmas / thresholds.normal_upper_sigmas
    return replace(_noise_with_tail(sigma, upper, far, thresholds), reach=reach)


def _upper_mode(residual: FloatArray, thresholds: BaselineThresholds) -> float:
    """The distance of a second mode above the median, where a sixth or more of residuals [n] belong to it.

    Two kinds of batches, drawn at random, are one noise with two modes, of which the MAD measures one.
    """
    middle, upper = quantiles(residual, (0.5, 0.84))
    distance = upper - middle
    is_mode = distance > thresholds.mode_ratio * mad_sigma(residual, middle)
    return distance if is_mode else 0.0


def _noise_with_tail(sigma: float, upper: float, far: float, thresholds: BaselineThresholds) -> LossNoise:
    # quantiles below those of normal noise come from a small sample
    upper = max(upper, thresholds.least_upper_sigmas)
    far = max(far, thresholds.least_far_ratio * upper)
    _, log_upper, log_far = _log_odds(thresholds)
    tail = float(np.log(log_far / log_upper) / np.log(far / upper))
    return LossNoise(sigma=sigma, upper=upper * sigma, tail=tail, thresholds=thresholds)


def normal_noise(residual: FloatArray, thresholds: BaselineThresholds) -> LossNoise:
    """The noise of a few residuals [n >= 1], assumed to be normal."""
    sigma = mad_sigma(residual, 0.0) + TINY
    return _noise_with_tail(sigma, thresholds.normal_upper_sigmas, thresholds.normal_far_sigmas, thresholds)


def _measure_wander(
    score: FloatArray, correlation: float, thresholds: BaselineThresholds
) -> tuple[tuple[int, float], ...]:
    """For each width of a mean, by how much more such means vary than independent points would make them.

    The longest means use all stored points. So do the others where neighboring points resemble each other,
    since such points carry little new information.
    """
    latest = score[-thresholds.shape_points if correlation < thresholds.correlated_from else 0 :]
    longest = max(width for width, _ in thresholds.wander_windows)
    return tuple(
        (
            width,
            _wander(
                score if width == longest else latest,
                width,
                before,
                fewest=fewest,
                falling=thresholds.falling_spreads,
            ),
        )
        for (width, before), fewest in zip(thresholds.wander_windows, thresholds.wander_samples, strict=True)
    )


def _wander(score: FloatArray, width: int, before: int, *, fewest: int, falling: float) -> float:
    """The spread of means of `width` scores less the mean of those before, over that of independent scores.

    It is 1 while there are fewer than `fewest` times as many scores.
    """
    if len(score) < fewest * width + before:
        return 1.0
    total = np.concatenate(([0.0], np.cumsum(score - score[0])))
    mean = (total[width:] - total[:-width]) / width
    earlier = (total[before:] - total[:-before]) / before
    rise = mean[before:] - earlier[: len(mean) - before]
    usual = median(rise)
    spread = mad_sigma(rise, usual)
    # a level that falls ever more slowly is no wander: it hardly shows in the changes of the rise
    change = rise[width + before :] - rise[: -width - before]
    if usual < -falling * spread and 2 * len(change) >= fewest * width:
        spread = min(spread, mad_sigma(change, median(change)) / float(np.sqrt(2)))
    return max(1.0, spread / float(np.sqrt(1 / width + 1 / before)))


@dataclass(frozen=True, kw_only=True)
class DampedFall:
    """A falling trend: by `slope` <= 0 a step at first, damped with a time constant of `span` steps."""

    slope: float = 0.0
    span: float = 1.0

    def per(self, unit: int) -> DampedFall:
        """The same trend in steps of which each is `unit` of these."""
        return replace(self, slope=self.slope * unit, span=self.span / unit)

    def after(self, steps: IntArray) -> FloatArray:
        """The change of the level (<= 0) after these numbers of steps [n]."""
        change: FloatArray = self.slope * self.span * -np.expm1(-steps / self.span)
        return change


@dataclass(frozen=True, eq=False)
class MeasuredNoise:
    """The noise, None where too few points were known, of points `spacing` steps apart, when a history had
    `count` points."""

    noise: LossNoise | None
    spacing: int
    count: int


@dataclass(frozen=True, eq=False, kw_only=True)
class LossHistory:
    """The latest points of a series that are not part of any event; arrays share the length [n].

    `count` is how many there were in total, `residual` their distances from the running median, `score` the
    same in sigmas of that time (NaN where unknown), `clipped` the values clipped to a few sigma, `spacing`
    the steps since the previous point. `first_level` is the median of the run's first points, NaN before they
    are known. `measured` is the noise that was expected of the last of these points, where it is stored.
    """

    thresholds: BaselineThresholds
    count: int
    first_level: float
    value: FloatArray
    residual: FloatArray
    score: FloatArray
    clipped: FloatArray
    spacing: IntArray
    measured: MeasuredNoise | None = None

    @staticmethod
    def empty(thresholds: BaselineThresholds, first_level: float = float("nan")) -> LossHistory:
        nothing = np.empty(0)
        return LossHistory(
            thresholds=thresholds,
            count=0,
            first_level=first_level,
            value=nothing,
            residual=nothing,
            score=nothing,
            clipped=nothing,
            spacing=np.empty(0, dtype=np.int64),
        )

    def without_last(self, points: int) -> LossHistory:
        """The history before its last points."""
        stop = max(len(self.value) - points, 0)
        return replace(
            self,
            count=max(self.count - points, 0),
            value=self.value[:stop],
            residual=self.residual[:stop],
            score=self.score[:stop],
            clipped=self.clipped[:stop],
            spacing=self.spacing[:stop],
            measured=None,
        )

    def recent_noise(self, spacing: int, since: int) -> MeasuredNoise:
        """The noise to expect of points `spacing` steps apart: the one that is stored, if it was measured for
        such points when `since` points were known or later."""
        known = self.measured
        if known is not None and known.count >= since and known.spacing == spacing:
            return known
        return MeasuredNoise(self.noise(spacing), spacing, self.count)

    def noise(self, spacing: int) -> LossNoise | None:
        """The noise to expect of points `spacing` steps apart; None before enough points are known."""
        if len(self.residual) < self.thresholds.fewest_points:
            return None
        residual = self._residual_at(spacing)
        score = without_growth(self.score, self.residual, self.thresholds.growth)
        return measure_noise(residual, score, self.clipped, self._floor(), self.thresholds)

    def has_noise_above(self, sigma: float, spacing: int) -> bool:
        """Whether `noise(spacing)` is larger than this: its shape takes longer to measure than its size."""
        if len(self.residual) < self.thresholds.fewest_points:
            return False
        recent = _latest_half(self._residual_at(spacing), self.thresholds)
        return max(_size(recent, self.thresholds), self._floor()) > sigma

    def _residual_at(self, spacing: int) -> FloatArray:
        """The latest residuals, as if of points `spacing` steps apart.

        Interval means get noisier when the interval shrinks: until enough points of the new interval are
        known, the noise of the old one is scaled as if points were means of independent steps.
        """
        limits = self.thresholds
        finest = self.finest_spacing()
        if spacing * limits.same_spacing >= finest:
            spacing = max(spacing, finest)
        latest_spacing = self.spacing[-limits.shape_points :]
        same = latest_spacing <= limits.same_spacing * spacing
        residual = self.residual[-limits.shape_points :]
        if same.all():
            return residual
        if np.count_nonzero(same) >= 2 * limits.fewest_points:
            return residual[same]
        scale = float(np.sqrt(np.median(latest_spacing) / max(spacing, 1)))
        return residual * max(scale, 1.0)

    def noise_of_few(self) -> LossNoise | None:
        """What noise to assume of the first points, of which too few are known to measure it: a quarter of
        their range, to which their fall contributes; None before there are `fewest_first_points`."""
        limits = self.thresholds
        if len(self.value) < limits.fewest_first_points:
            return None
        sigma = max(float(np.ptp(self.value)) / limits.range_sigmas, self._floor())
        return _noise_with_tail(sigma, limits.normal_upper_sigmas, limits.normal_far_sigmas, limits)

    @property
    def is_constant(self) -> bool:
        """Whether more than the first few points are all the same, so that their noise is unknown."""
        enough = len(self.value) >= self.thresholds.fewest_first_points
        return enough and self.value[0] == self.value[-1] and not np.ptp(self.value)

    @property
    def is_young(self) -> bool:
        """Whether the changes from point to point tell more of the noise than the spread of so few points."""
        return self.count < self.thresholds.shape_known_after

    def noise_of_changes(self, change: float) -> LossNoise:
        """The noise to assume where the usual larger change from point to point is this."""
        limits = self.thresholds
        sigma = max(change / limits.change_sigmas, self._floor())
        return _noise_with_tail(sigma, limits.normal_upper_sigmas, limits.normal_far_sigmas, limits)

    def usual_changes(self, values: FloatArray) -> FloatArray:
        """The usual larger change before each of the next values [n], at least that of the least noise: most
        changes of a log that is rounded coarsely are 0. Infinite before the 24th point."""
        limits = self.thresholds
        both = np.concatenate((self.value[-limits.changes - 1 :], values))
        missing = limits.changes + 1 - (len(both) - len(values))
        changes = np.concatenate((np.full(missing, np.inf), np.abs(np.diff(both))))
        usual = self._larger_change(windows(changes[:-1], limits.changes))
        return np.maximum(usual, self._least_change())

    def knows_changes(self, values: int) -> bool:
        """Whether the usual larger change is finite before the last of the next so many values."""
        changes = len(self.value) + values - 2
        return self.is_young and changes > self.thresholds.changes - self.thresholds.change_rank

    def least_usual_change(self, values: int) -> float:
        """What no usual larger change before one of the next so many values is below: that of the changes
        which all of them share."""
        limits = self.thresholds
        shared = np.abs(np.diff(self.value[-max(limits.changes + 2 - values, 1) :]))
        usual = float(self._larger_change(shared)) if len(shared) >= limits.change_rank else 0.0
        return max(usual, self._least_change())

    def _least_change(self) -> float:
        """What the usual larger change is with the least noise."""
        return self.thresholds.change_sigmas * self._floor()

    def finest_spacing(self) -> int:
        """The spacing that is usual among the finest of the latest ones: rows may come at irregular steps."""
        latest = self.spacing[-self.thresholds.size_points :]
        if not len(latest):
            return 1
        place = int(self.thresholds.finest_share * (len(latest) - 1))
        return int(np.partition(latest, place)[place])

    def _floor(self) -> float:
        """The least sigma. It rests on differences of values, so that it is the same with any constant added;
        only the precision of numbers depends on their size."""
        limits = self.thresholds
        latest = self.value[-limits.size_points :]
        precision = limits.floor_share * abs(median(latest[-limits.median_points :]))
        steps = np.diff(np.sort(latest))
        steps = steps[steps > precision * limits.floor_share]
        quantum = limits.floor_quantum * float(steps.min()) if len(steps) else 0.0
        smooth = limits.floor_range * float(np.ptp(_latest_half(self.clipped, limits)))
        return max(precision, quantum, smooth, self._floor_of_changes()) + TINY

    def _floor_of_changes(self) -> float:
        """The least sigma of a young series: its changes are at most so many times as large."""
        limits = self.thresholds
        if not self.is_young or len(self.value) <= limits.changes:
            return 0.0
        latest = np.abs(np.diff(self.value[-limits.changes - 1 :]))
        return float(self._larger_change(latest)) / limits.most_change_sigmas

    def _larger_change(self, changes: FloatArray) -> FloatArray:
        """The usual larger one of changes [..., n]."""
        rank = self.thresholds.change_rank
        larger: FloatArray = np.partition(changes, -rank, axis=-1)[..., -rank]
        return larger

    def fall(self, noise: LossNoise) -> DampedFall:
        """The trend by which the level falls with certainty.

        The slope is that of the latest third of points against the third before, less a standard error.
        Losses fall ever more slowly, so it is damped as it was from third to third. After a cliff among these
        points it is that of the latest points, which still fall.
        """
        limits = self.thresholds
        last = self.clipped[-limits.trend_points :]
        third = len(last) // 3
        if third < limits.fewest_points:
            return DampedFall()
        means = last[-3 * third :].reshape(3, third).mean(axis=1)
        error = noise.error(limits.fewest_points) * np.sqrt(2 / third)
        earlier, later = np.diff(means) + error * np.array((0.0, 1.0))
        if later >= 0:
            return DampedFall()
        steps = max(int(np.sum(self.spacing[-third:])), 1)
        strongest, weakest = limits.damping
        share = float(np.clip(later / earlier, strongest, weakest)) if earlier < 0 else weakest
        # the measured slope is that of a third ago
        slope = max(float(later) * share / steps, self._steepest_recent_slope(noise))
        return DampedFall(slope=slope, span=-steps / float(np.log(share)))

    def _steepest_recent_slope(self, noise: LossNoise) -> float:
        """The steepest slope <= 0 a step that the latest points may still have, within the standard error of
        independent points: how far means wander was measured over the cliff, too."""
        points = self.thresholds.fewest_points
        before, now = self.clipped[-2 * points :].reshape(2, points).mean(axis=1)
        error = noise.sigma * noise.spread * float(np.sqrt(2 / points))
        steps = max(int(np.sum(self.spacing[-points:])), 1)
        return min(float(now - before - error) / steps, 0.0)

    def running_medians(self, values: FloatArray) -> FloatArray:
        """For each of the next values [n] the median of the points before it."""
        before = self.value if len(self.value) else values[:1]
        return trailing_medians(before, values, self.thresholds.median_points)

    def extend(
        self, values: FloatArray, medians: FloatArray, spacing: IntArray, noise: LossNoise | None
    ) -> LossHistory:
        """The history with further values [n] that belong to no event, and their running medians [n]."""
        stored = self.thresholds.stored_points
        residual = values - medians
        limit = self.thresholds.clip_sigmas * noise.sigma if noise is not None else np.inf
        score = residual / noise.sigma if noise is not None else np.full(len(values), np.nan)
        clipped = medians + np.clip(residual, -limit, limit)
        return LossHistory(
            thresholds=self.thresholds,
            count=self.count + len(values),
            first_level=self._first_level(values),
            value=np.concatenate((self.value, values))[-stored:],
            residual=np.concatenate((self.residual, residual))[-stored:],
            score=np.concatenate((self.score, score))[-stored:],
            clipped=np.concatenate((self.clipped, clipped))[-stored:],
            spacing=np.concatenate((self.spacing, spacing))[-stored:],
        )

    def _first_level(self, values: FloatArray) -> float:
        """The median of the run's first points, once enough are known with further values [n]."""
        size = self.thresholds.median_points
        if np.isfinite(self.first_level) or self.count + len(values) < size:
            return self.first_level
        return float(np.median(np.concatenate((self.value, values))[:size]))

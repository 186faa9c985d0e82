"""The strength of evidence that a series has left its level upwards: an alarm from 1 on.

Three statistics are computed: sums of the surprise of a few points, means of many points, and single points.
Each yields the number of points it rests on and the strength at every new value [n].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammainccinv, ndtr, ndtri

from holter.detectors.loss.excursions.baseline import TINY, LossHistory, LossNoise
from holter.detectors.loss.excursions.usual_rises import UsualRises
from holter.detectors.robust_statistics import median
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray

Evidence = tuple[int, FloatArray, FloatArray]
"""A number of points, the strength of evidence they give, and the most it may be since the rise is small, at
every new value [n]."""


class MeanRise(NamedTuple):
    """How far the mean of `points` is above that of the points before, `gap` left out between the two, at
    every new value [n]: the `strength` of this evidence, the `rise`, and the `least` rise worth reporting."""

    points: int
    gap: int
    strength: FloatArray
    rise: FloatArray
    least: float

    def part(self, first: int, stop: int) -> MeanRise:
        """The same at some of the values."""
        return self._replace(strength=self.strength[first:stop], rise=self.rise[first:stop])


_FEW_VALUES = 64
"""Values up to which places of windows are cached: chunks of so many are many, of a few sizes."""
OUTLIER = -1
"""In place of a number of points: a single point that the shape of the noise explains."""


@dataclass(frozen=True, kw_only=True)
class AlarmThresholds(Thresholds):
    """How much evidence makes an excursion of a loss."""

    sum_points: tuple[int, ...] = (1, 2, 3, 5)
    """Points whose surprises are added up."""
    sum_chance: float = 1e-8
    """Probability that a sum of surprises (Gamma distributed) exceeds its limit by chance."""
    mean_windows: tuple[tuple[int, int], ...] = (
        (8, 0),
        (16, 0),
        (32, 0),
        (64, 0),
        (64, 64),
        (128, 0),
        (128, 128),
        (256, 0),
        (256, 256),
        (512, 512),
        (512, 1536),
    )
    """Points whose mean is compared with the mean before them, and points left out between the two: a slow
    rise would raise its own reference."""
    mean_errors: float = 5.5
    """Standard errors by which a mean must rise: a chance of 1 in 5e7 where the noise is normal."""
    both_mean_errors: float = 4.5
    """Standard errors by which the loss and the gradient norm must rise on average, over the same points: as
    rare as `mean_errors` of one where the noise of the two is correlated by 0.39 (the median in labelled
    runs; 0.7 in one of ten)."""
    both_least_errors: float = 3.0
    """Standard errors by which the loss must then rise, 1 in 700."""
    both_most_errors: float = 8.0
    """Standard errors that the rise of the gradient norm counts for at most."""
    both_sum_points: tuple[int, ...] = (3, 5)
    """Points whose surprises count together with the gradient norm: one or two difficult batches raise both
    by themselves."""
    both_least_sum: float = 0.65
    """Strength of a visible rise from which on these sums are looked at."""
    mean_reference_points: int = 64
    """Points of the reference of a mean, at least; otherwise twice as many as in the mean."""
    lone_point_sigmas: float = 10.0
    """Sigmas by which a single point is an event, whatever the tail above the level predicts: public logs
    without events have lone points of up to nine and a half."""
    lone_point_visible_sigmas: float = 8.0
    """Sigmas by which a single point is an event that undoes much of the progress of the run."""
    lone_point_progress: float = 0.1
    """Share of the fall of the level since the run began that is much progress: less is hardly visible in a
    picture of the whole run."""
    lone_point_young_points: int = 128
    """Points known for which `lone_point_sigmas` is doubled: the noise of a young series is uncertain."""
    lone_point_within_reach: float = 0.7
    """Share of the evidence required that a point within the reach of the noise may give at most."""
    lone_evidence: float = 1.0
    """Factor on the evidence of a single point; below 1 where points rest on few samples, of which one may be
    far out: then no single point counts as more than `lone_point_within_reach` among several."""
    reach_young_points: int = 300
    """Points known for which the reach of the noise is doubled: few points show little of a tail."""
    first_ranges: float = 3.0
    """Ranges of the few points before by which two in sequence must be above the highest of them, where too
    few are known to measure their noise: their own fall is part of the range."""
    jump_above: int = 3
    """The latest points above the highest of which a jump of a young series is measured."""
    jump_ratio: float = 5.0
    """Times the usual larger change by which a point must be above them: eleven sigmas of normal noise."""
    unrest_points: int = 32
    """Points over which the current size of the noise is compared with its usual size."""
    unrest_from: float = 1.25
    """Times its usual size that recent noise below the level may have before the noise counts as larger."""
    unrest_slope: float = 3.0
    """How steeply the correction grows beyond `unrest_from`, until it equals the measured size."""
    clip_sigmas: float = 4.0
    """Sigmas. A point counts at most this much in a mean or in the measurement of unrest."""
    level_share: float = 0.5
    """Share of the rise of a mean that must remain where points of its reference count at most
    `clip_sigmas` below their median: the first points of a run that swings into its level may be far below
    it, of noise that is known only since."""
    least_sigmas_few: float = 0.25
    """Sigmas of a point that a few points must rise by on average."""
    least_sigmas_sum: float = 4.0
    """Sigmas that a few points must rise by in addition, divided by the root of their number."""
    least_sigmas: float = 0.25
    """Sigmas of a point that a mean of many points must rise by: less is not visible in its noise."""
    visible_sigmas: float = 1.5
    """Sigmas of a point from which on the rise of a mean is visible by itself: it is compared with the rises
    before it alone, not with those up to now, of which a slow one is soon a part."""
    least_sigmas_unknown: float = 0.75
    """Sigmas that a mean must rise by in addition while the run has not lasted long enough to tell how far it
    moves by itself over the horizon of the mean."""
    least_sigmas_mean: float = 40.0
    """Sigmas that a mean of more points must rise by in addition, divided by their number: calm logs rise by
    two or three sigmas for a dozen points before a spike, and the spike is the event."""
    clear_sigmas: float = 3.5
    """Sigmas of a point by which a mean is clear of such calm rises, however few its points: a point counts
    four at most."""
    strongest: float = 1e6
    """Strength and surprise are limited to this, so that they stay finite."""

    @property
    def least_with_gradient(self) -> float:
        """The strength of a mean from which on it counts together with the gradient norm."""
        return self.both_least_errors / self.mean_errors

    def least_sum_with_gradient(self, points: int) -> float:
        """The strength of a sum of so many surprises from which on it counts together with the gradient
        norm."""
        chance = float(ndtr(-self.both_least_errors))
        return _surprise_limit(points, chance) / _surprise_limit(points, self.sum_chance)


@dataclass(frozen=True, kw_only=True)
class ExcursionAlarm:
    """Evidence for an excursion: `strength` over 1 at point `index`, from the last `width` points.

    `explained`: it is a single point that the shape of the noise explains. `repeated`: it compares with the
    same steps before a restart.
    """

    index: int
    width: int
    strength: float
    explained: bool = False
    repeated: bool = False


def least_rise(noise: LossNoise, points: int, thresholds: AlarmThresholds) -> float:
    """The least rise over this many points that is worth reporting: what is visible in the noise.

    The level plays no part: a loss with a constant added has the same events.
    """
    if points <= thresholds.sum_points[-1]:
        return noise.sigma * (
            thresholds.least_sigmas_few + thresholds.least_sigmas_sum / float(np.sqrt(points))
        )
    return noise.sigma * (thresholds.least_sigmas + thresholds.least_sigmas_mean / points)


def _least_of_one(
    history: LossHistory,
    excess: FloatArray,
    medians: FloatArray,
    noise: LossNoise,
    visible_least: float,
    thresholds: AlarmThresholds,
) -> FloatArray:
    """The least rise of each single point [n] above its median that is an event: `visible_least` for a point
    that undoes much of the progress.

    Points of that size are ordinary in some runs. What they undo tells more: a share of the fall so far is
    the same for a loss that is shifted or scaled.
    """
    progress = history.first_level - medians
    visible = excess >= thresholds.lone_point_progress * progress
    least: FloatArray = np.where(visible, visible_least, noise.sigma * thresholds.lone_point_sigmas)
    return least


@lru_cache(maxsize=256)
def _surprise_limit(points: int, chance: float) -> float:
    """The sum of -ln p of this many points that chance exceeds this rarely (the sum is Gamma distributed)."""
    return float(gammainccinv(points, chance))


def surprise_sums(
    history: LossHistory,
    values: FloatArray,
    medians: FloatArray,
    noise: LossNoise,
    thresholds: AlarmThresholds,
    least_strength: float,
) -> Iterator[Evidence]:
    """Evidence of a few points: how surprising they are together.

    Nothing is yielded where all strengths are below `least_strength`.
    """
    excess = values - medians
    residual = np.concatenate((history.residual[-thresholds.sum_points[-1] :], excess))
    total = np.concatenate(([0.0], np.cumsum(residual)))
    known, last = len(residual) - len(values), len(residual)
    visible = {
        points: (total[known + 1 :] - total[known + 1 - points : last + 1 - points])
        / points
        / least_rise(noise, points, thresholds)
        for points in thresholds.sum_points
        if points <= known
    }
    if all(rise.max() < least_strength for rise in visible.values()):
        return  # as for most points: none rises visibly
    unrest = _unrest(history, excess, noise, len(residual), thresholds)
    surprise = np.minimum(noise.surprise(residual / unrest), thresholds.strongest)
    # above the level that the running median lags behind: that is no evidence of a point by itself
    above_level = noise.surprise((residual + noise.lag) / unrest) if noise.lag > 0 else surprise
    within_reach = residual < _reach(history, noise, noise.reach.rare, thresholds)
    limited = within_reach | (thresholds.lone_evidence < 1)
    single_limit = _surprise_limit(1, thresholds.sum_chance)
    for points, most in visible.items():
        # correlated points repeat the same surprise
        limit = (1 - noise.correlation) * _surprise_limit(
            points, thresholds.sum_chance
        ) + noise.correlation * points * single_limit
        # a single point that noise may produce is not sufficient
        most_within_reach = thresholds.lone_point_within_reach * limit
        if points == 1:
            reached = np.minimum(surprise, most_within_reach)
            counted = thresholds.lone_evidence * np.where(within_reach, reached, surprise)
            visible_least = least_rise(noise, points, thresholds)
            most = excess / _least_of_one(history, excess, medians, noise, visible_least, thresholds)
        else:
            reached = np.minimum(above_level, most_within_reach)
            counted = np.where(limited, reached, np.maximum(surprise, reached))
        summed = np.concatenate(([0.0], np.cumsum(counted)))
        yield points, (summed[known + 1 :] - summed[known + 1 - points : last + 1 - points]) / limit, most


def first_points(history: LossHistory, values: FloatArray, thresholds: AlarmThresholds) -> FloatArray:
    """The evidence of two points in sequence at each of the next values [n], as long as the noise of so few
    cannot be measured: how far they are above all before, in ranges of those."""
    both = np.concatenate((history.value, values))
    known = len(history.value)
    highest, lowest = np.maximum.accumulate(both), np.minimum.accumulate(both)
    pairs = np.minimum(both[1:], both[:-1])[known - 1 :]
    before = slice(known - 2, len(both) - 2)
    spread = np.maximum(highest[before] - lowest[before], TINY)
    strength: FloatArray = (pairs - highest[before]) / (thresholds.first_ranges * spread)
    return strength


def above_latest(history: LossHistory, values: FloatArray, thresholds: AlarmThresholds) -> FloatArray:
    """How far each of the next values [n] is above the points just before it."""
    latest = thresholds.jump_above
    both = np.concatenate((np.full(latest, np.inf), history.value[-latest:], values))
    first = len(both) - len(values)
    highest = both[first - latest : -latest]
    for before in range(1, latest):  # a view of all windows takes longer to make
        highest = np.maximum(highest, both[first - before : -before])
    above: FloatArray = values - highest
    return above


def first_jumps(above: FloatArray, usual: FloatArray | float, thresholds: AlarmThresholds) -> FloatArray:
    """The evidence of single points of a young series: how far each is above the points just before it [n],
    compared with the usual changes there [n], of which infinite ones are unknown."""
    strength: FloatArray = above / (thresholds.jump_ratio * usual + TINY)
    return thresholds.lone_evidence * np.where(np.isfinite(usual), strength, 0.0)


def single_points(
    history: LossHistory,
    values: FloatArray,
    medians: FloatArray,
    noise: LossNoise,
    thresholds: AlarmThresholds,
    least_strength: float,
) -> Iterator[Evidence]:
    """Evidence of one point.

    A batch many sigmas out is an event whatever the tail above the level predicts, which earlier bad batches
    have formed, unless the shape of the noise itself explains it. Nothing is yielded where all strengths are
    below `least_strength`.
    """
    excess = values - medians
    # more sigmas while few points are known
    young = 1 + thresholds.lone_point_young_points / max(history.count, 1)
    visible_least = noise.sigma * thresholds.lone_point_visible_sigmas
    least_of_any = min(visible_least, noise.sigma * thresholds.lone_point_sigmas)
    if thresholds.lone_evidence * float(excess.max()) / (least_of_any * young) < least_strength:
        return  # as for most points
    least = _least_of_one(history, excess, medians, noise, visible_least, thresholds)
    strength = thresholds.lone_evidence * excess / (least * young)
    typical, rare = (_reach(history, noise, reach, thresholds) for reach in noise.reach)
    no_limit = np.full(len(values), np.inf)
    yield 1, np.minimum(strength, excess / (rare + TINY)), no_limit
    yield OUTLIER, np.minimum(strength, excess / (typical + TINY)), no_limit


def _reach(history: LossHistory, noise: LossNoise, sigmas: float, thresholds: AlarmThresholds) -> float:
    return sigmas * noise.sigma * (1 + thresholds.reach_young_points / max(history.count, 1))


def _unrest(
    history: LossHistory, excess: FloatArray, noise: LossNoise, points: int, thresholds: AlarmThresholds
) -> FloatArray:
    """The current size of the noise over its usual size (>= 1), before each of the last `points` points.

    Only values below the level count, since an event would be above it.
    """
    recent = thresholds.unrest_points
    before = history.residual[-recent - points + len(excess) :]
    limit = thresholds.clip_sigmas
    score = np.clip(np.concatenate((before, excess)) / noise.sigma, -limit, limit)
    missing = max(points + recent - len(score), 0)
    score = np.concatenate((np.zeros(missing), score))
    total = np.concatenate(([0.0], np.cumsum(score)))
    below = np.concatenate(([0.0], np.cumsum(np.minimum(score, 0.0) ** 2)))
    mean = (total[recent:-1] - total[: -recent - 1]) / recent
    square = (below[recent:-1] - below[: -recent - 1]) / recent
    # a falling level puts more points below it
    size = np.sqrt(np.maximum(2 * square - 3 * np.minimum(mean, 0.0) ** 2, 0.0))
    corrected = np.minimum(size, 1 + thresholds.unrest_slope * (size - thresholds.unrest_from))
    unrest: FloatArray = np.maximum(corrected, 1.0)
    return unrest


def window_means(
    history: LossHistory,
    values: FloatArray,
    medians: FloatArray,
    noise: LossNoise,
    thresholds: AlarmThresholds,
    usual: Callable[[int], UsualRises],
    least_strength: float,
) -> list[MeanRise]:
    """Evidence of many points: how far their mean is above the mean before.

    `usual`: the rises that the series had shown up to so many points ago. There is none where all strengths
    are below `least_strength`.
    """
    longest = _window_layout(thresholds.mean_windows, thresholds.mean_reference_points)
    limit = thresholds.clip_sigmas * noise.sigma
    clipped = medians + np.clip(values - medians, -limit, limit)
    both = np.concatenate((history.clipped[-longest.farthest :], clipped))
    places = _window_places if len(values) <= _FEW_VALUES else _long_window_places
    layout = (thresholds.mean_windows, thresholds.mean_reference_points)
    place = places(len(both) - len(values), len(values), history.thresholds.fewest_points, *layout)
    windows, points = place.layout.windows, place.layout.points
    if not windows:
        return []
    total = np.concatenate(([0.0], np.cumsum(both)))
    now = (total[place.end] - total[place.first]) / points
    rise = now - (total[place.reference_end] - total[place.reference_first]) / place.before
    of_one = np.array([[noise.error(size)] for size, _ in windows])
    by_noise = thresholds.mean_errors * of_one * place.error
    enough = place.is_enough
    if not (enough & (rise >= least_strength * by_noise)).any():
        return []  # as for most points: what follows can only raise the limit
    unrest = _unrest(history, values - medians, noise, len(values), thresholds)
    by_noise = by_noise * np.where(points <= thresholds.unrest_points, unrest, 1.0)
    horizons = place.layout.horizons
    latest = usual(0)
    visible = thresholds.visible_sigmas * noise.sigma
    limits = np.array(
        [latest.limit(size, horizon) for (size, _), horizon in zip(windows, horizons, strict=True)]
    )
    limits = np.repeat(limits[:, None], len(values), axis=1)
    excused = enough & (rise >= np.maximum(by_noise, visible)) & (rise < limits)
    for row in np.flatnonzero(excused.any(axis=1)).tolist():
        size, left_out = windows[row]
        earlier = usual(size + left_out).limit(size, horizons[row])
        limits[row, excused[row]] = np.minimum(limits[row, excused[row]], max(earlier, visible))
    strength = np.where(enough, rise / np.maximum(by_noise, limits), 0.0)
    least = [
        least_rise(noise, size, thresholds)
        + thresholds.least_sigmas_unknown * noise.sigma * (not latest.knows(size, horizon))
        for (size, _), horizon in zip(windows, horizons, strict=True)
    ]
    return [
        MeanRise(size, left_out, strength[row], rise[row], least[row])
        for row, (size, left_out) in enumerate(windows)
    ]


def is_rise_of_level(
    history: LossHistory,
    values: FloatArray,
    medians: FloatArray,
    noise: LossNoise,
    points: int,
    thresholds: AlarmThresholds,
) -> bool:
    """Whether the mean of the last points, up to the last of some values [n], is higher than the level before
    it, and not only than a mean that few points far below that level make low."""
    limit = thresholds.clip_sigmas * noise.sigma
    count = points + max(thresholds.mean_reference_points, 2 * points)
    clipped = medians + np.clip(values - medians, -limit, limit)
    both = np.concatenate((history.clipped[-count:], clipped))[-count:]
    now, reference = float(both[-points:].mean()), both[:-points]
    level = np.maximum(reference, median(reference) - limit)
    share = thresholds.level_share * (now - float(reference.mean()))
    return now - float(level.mean()) >= share


def of_means(rises: Iterable[MeanRise], noise: LossNoise, thresholds: AlarmThresholds) -> Iterator[Evidence]:
    """The evidence of means by themselves."""
    clear = thresholds.clear_sigmas * noise.sigma
    for each in rises:
        # one that is just clear is no more than an alarm: shorter sums date the same rise better
        most = np.maximum(each.rise / each.least, np.minimum(each.rise / clear, 1.0))
        yield each.points, each.strength, most


def with_gradient(
    rises: Iterable[MeanRise],
    errors: Mapping[int, FloatArray],
    noise: LossNoise,
    thresholds: AlarmThresholds,
) -> Iterator[Evidence]:
    """The evidence of means together with the standard errors [n] by which the gradient norm's means over as
    many points rose, by their number of points."""
    for each in rises:
        of_gradient = np.minimum(errors[each.points], thresholds.both_most_errors)
        both = (thresholds.mean_errors * each.strength + of_gradient) / (2 * thresholds.both_mean_errors)
        strength = np.where(each.strength >= thresholds.least_with_gradient, both, 0.0)
        # what both show is no calm rise before a spike
        least = each.least - noise.sigma * thresholds.least_sigmas_mean / each.points
        yield each.points, strength, each.rise / least


def sums_with_gradient(
    sums: Iterable[Evidence], errors: Mapping[int, FloatArray], thresholds: AlarmThresholds
) -> Iterator[Evidence]:
    """The evidence of a few points together with the standard errors [n] by which the gradient norm's means
    over as many points rose, by their number of points.

    The sum counts for the standard errors of normal noise that chance exceeds as rarely.
    """
    for points, strength, _ in sums:
        total = strength * _surprise_limit(points, thresholds.sum_chance)
        rarest = np.finfo(float).tiny
        of_loss = -ndtri(np.maximum(gammaincc(points, np.maximum(total, 0.0)), rarest))
        of_gradient = np.minimum(errors[points], thresholds.both_most_errors)
        both = (of_loss + of_gradient) / (2 * thresholds.both_mean_errors)
        yield (
            points,
            np.where(np.minimum(of_loss, of_gradient) >= thresholds.both_least_errors, both, 0.0),
            np.full(len(strength), np.inf),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class _WindowLayout:
    """Windows of means with their `points`, `reference_points` and how far `back` the reference ends: a row
    for each [windows, 1], since many short calls would cost more than the computation.

    `horizons` are from the middle of the reference to that of the mean, `farthest` the points of all.
    """

    windows: tuple[tuple[int, int], ...]
    points: IntArray
    reference_points: IntArray
    back: IntArray
    horizons: list[float]
    farthest: int


@lru_cache(maxsize=64)
def _window_layout(windows: tuple[tuple[int, int], ...], least_reference: int) -> _WindowLayout:
    points, gap = np.array(windows, dtype=np.int64).reshape(-1, 2).T[:, :, None]
    reference_points = np.maximum(least_reference, 2 * points)
    return _WindowLayout(
        windows=windows,
        points=points,
        reference_points=reference_points,
        back=points + gap,
        horizons=(points / 2 + gap + reference_points / 2)[:, 0].tolist(),
        farthest=int((reference_points + points + gap).max(initial=0)),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _WindowPlaces:
    """Where the windows of a layout, and the references before them, begin and end among the points up to
    each value [windows, n]; `before` are the points of a reference, `error` the standard error of the
    difference of both means in that of a point. Where a reference is too short, it is not `is_enough`."""

    layout: _WindowLayout
    first: IntArray
    end: IntArray
    reference_first: IntArray
    reference_end: IntArray
    before: IntArray
    error: FloatArray
    is_enough: NDArray[np.bool_]


@lru_cache(maxsize=128)
def _window_places(
    known: int, values: int, fewest: int, windows: tuple[tuple[int, int], ...], reference: int
) -> _WindowPlaces:
    """The windows before each of some values, of those that reach back no farther than the points known."""
    layout = _window_layout(windows, reference)
    is_short = known < layout.farthest
    if known + values < layout.farthest:
        complete = takewhile(lambda window: _is_known(known + values, window, fewest, reference), windows)
        layout = _window_layout(tuple(complete), reference)
    end = np.arange(known + 1, known + values + 1)
    reference_end = end - layout.back
    before = layout.reference_points
    if is_short:
        before = np.minimum(before, reference_end)
    is_enough = before >= np.maximum(fewest, layout.points)
    before = np.maximum(before, 1)
    return _WindowPlaces(
        layout=layout,
        first=end - layout.points,
        end=end,
        reference_first=np.maximum(reference_end - before, 0),
        reference_end=reference_end,
        before=before,
        error=np.sqrt(1 / layout.points + 1 / before),
        is_enough=is_enough,
    )


_long_window_places = lru_cache(maxsize=2)(_window_places.__wrapped__)
"""The same for many values, which take some hundred kilobytes: a long series has chunks of one size."""


def _is_known(count: int, window: tuple[int, int], fewest: int, reference_points: int) -> bool:
    """Whether enough of the last `count` points are before a window for a reference."""
    points, gap = window
    before = min(max(reference_points, 2 * points), count - points - gap)
    return before >= max(fewest, points)

"""What a series does when nothing is wrong: its recent level, its noise, and how heavy the noise's tail is.

Everything is trailing: what is said about a point rests on points before it. Levels are medians or means
of values pulled in to a few sigma, noise is a MAD, so that what is to be found does not hide itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import median_filter

from holter.detectors.loss.excursions.noise_tails import NOWHERE, Reach, reach_of
from holter.types import FloatArray, IntArray

MEMORY = 1024
"""Points that the shape of the noise is measured on: quantiles up to 99.5 % need a thousand."""
CENTRE = 25
"""Points in the running median: long against a spike's first points, short against a loss's decline."""
FEWEST = 32
"""Points before which nothing is said: the error of a MAD is then still 20 %."""
_RECENT = 128
"""Points that its size is measured on: a loss's noise shrinks with its level, most of all early on."""
_TREND = 384
"""Points that the slope of the level is measured on."""
_SHAPED = 160
"""Points before which the noise is taken for normal."""
_KEPT = 4096 + 512
_ALIKE = 0.5
"""Correlation of neighbours from which on more points are needed to tell how far means wander."""
_PULLED_IN = 4.0
"""Points count for at most so many sigma in a mean: one outlier alone never makes a level."""
_NORMAL_MAD = 1.4826
_TINY = 1e-30
"""A sigma above nothing, whose inverse times any bounded loss is still finite."""


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Noise around the running median: `sigma`, two upper quantiles, and by how much means wander more.

    `tail` is the Weibull exponent between the quantiles: 1.3 for normal noise, 0.6 for Student's t3.
    `spread` >= 1 is the standard deviation of scores pulled in to a few sigma, by which heavy tails
    widen the standard error of means; `wander8`, `wander32`, `wander128` >= 1 are what it is multiplied by
    for so many points and more, which neighbours that resemble each other make larger still. `alike` is
    how much they do: the correlation of neighbours, from 0 to 1. `reach` is how far noise places lone points.
    """

    sigma: float
    upper: float
    tail: float
    spread: float = 1.0
    wander8: float = 1.0
    wander32: float = 1.0
    wander128: float = 1.0
    alike: float = 0.0
    reach: Reach = NOWHERE

    def error(self, points: int) -> float:
        """The standard error of a mean of so many pulled-in points times the root of their number."""
        wander = max(self.spread, self.wander8 if points >= 8 else 1.0)
        wander = max(wander, self.wander32 if points >= 32 else 1.0)
        return self.sigma * max(wander, self.wander128 if points >= 128 else 1.0)

    def surprise(self, excess: FloatArray) -> FloatArray:
        """-ln P(a point lies so far above the running median), for excesses [n].

        Beyond the 97.5 % quantile the tail is Weibull's: exact enough for normal noise (6 sigma where
        p = 1e-8 is 5.6) and heavy enough for Student's t3, whose far quantiles it reaches by one decade.
        """
        with np.errstate(over="ignore"):
            ratio = np.clip(excess / self.upper, 0.0, 1e9)
        below = _LN2 + (_LN40 - _LN2) * ratio**1.5
        surprise: FloatArray = np.where(ratio > 1, _LN40 * ratio**self.tail, below)
        return surprise


_LN2, _LN40, _LN200 = np.log((2.0, 40.0, 200.0))


def measure(residual: FloatArray, score: FloatArray, pulled: FloatArray, floor: float) -> Noise:
    """The noise in residuals [n >= 1] around the running median, in `score` [m], residuals in units of the
    sigma of their time, and in `pulled` [m], the values themselves; `floor` is the least sigma believed."""
    recent = residual[-min(max(len(residual) // 2, FEWEST // 2), _RECENT) :]
    sigma = max(_NORMAL_MAD * float(np.median(np.abs(recent - np.median(recent)))), floor)
    all_known = score[~np.isnan(score)]
    if len(all_known) < _SHAPED:
        return _shaped(sigma, 1.96, 2.83)
    known = all_known[-MEMORY:]
    known = known - np.median(known)
    upper, far = np.quantile(known, (0.975, 0.995))
    bounded = np.clip(known, -_PULLED_IN, _PULLED_IN)
    alike = float(np.clip(np.mean(bounded[1:] * bounded[:-1]) / (np.mean(bounded**2) + _TINY), 0, 1))
    # neighbours that resemble each other say little that is new
    latest = pulled[-MEMORY if alike < _ALIKE else 0 :]
    return replace(
        _shaped(sigma, float(upper), float(far)),
        spread=max(1.0, float(np.std(bounded))),
        wander8=_wander(latest / sigma, 8, 32),
        wander32=_wander(latest / sigma, 32, 96),
        # of few such means the curve of a young loss would make too much
        wander128=_wander(pulled / sigma, 128, 256, fewest=24),
        alike=alike,
        reach=reach_of(all_known),
    )


def _shaped(sigma: float, upper: float, far: float) -> Noise:
    # quantiles below those of normal noise are not believed: the sample is small
    upper = max(upper, 1.8)
    far = max(far, 1.30 * upper)
    tail = float(np.log(_LN200 / _LN40) / np.log(far / upper))
    return Noise(sigma=sigma, upper=upper * sigma, tail=tail)


def plain_noise(residual: FloatArray) -> Noise:
    """The noise of a few residuals [n >= 1], taken for normal."""
    return _shaped(_NORMAL_MAD * float(np.median(np.abs(residual))) + _TINY, 1.96, 2.576)


def _wander(value: FloatArray, width: int, before: int, *, fewest: int = 8) -> float:
    """How much means of `width` values less the mean of those before vary, over what they would alone;
    1 while there are fewer than `fewest` times as many values."""
    if len(value) < fewest * width + before:
        return 1.0
    total = np.concatenate(([0.0], np.cumsum(value - value[0])))
    mean = (total[width:] - total[:-width]) / width
    earlier = (total[before:] - total[:-before]) / before
    rise = mean[before:] - earlier[: len(mean) - before]
    spread = _NORMAL_MAD * float(np.median(np.abs(rise - np.median(rise))))
    return max(1.0, spread / float(np.sqrt(1 / width + 1 / before)))


@dataclass(frozen=True, kw_only=True)
class Fall:
    """A trend downwards: by `slope` <= 0 a step at first, dying out over `span` steps."""

    slope: float = 0.0
    span: float = 1.0

    def after(self, steps: IntArray) -> FloatArray:
        """How far the level has fallen after so many steps [n]."""
        fallen: FloatArray = self.slope * self.span * -np.expm1(-steps / self.span)
        return fallen


@dataclass(frozen=True, eq=False, kw_only=True)
class History:
    """The latest points of a series that are not part of any event; arrays share the length [n].

    `count` is how many there were in all, `residual` their distances from the
    running median, `score` the same in sigmas of that time (NaN where none was known), `pulled` the values
    pulled in to a few sigma, `spacing` the steps since the point before.
    """

    count: int
    value: FloatArray
    residual: FloatArray
    score: FloatArray
    pulled: FloatArray
    spacing: IntArray

    @staticmethod
    def empty() -> History:
        nothing = np.empty(0)
        return History(
            count=0,
            value=nothing,
            residual=nothing,
            score=nothing,
            pulled=nothing,
            spacing=np.empty(0, dtype=np.int64),
        )

    def without_last(self, points: int) -> History:
        """The history as it was before its last points."""
        keep = max(len(self.value) - points, 0)
        return replace(
            self,
            count=max(self.count - points, 0),
            value=self.value[:keep],
            residual=self.residual[:keep],
            score=self.score[:keep],
            pulled=self.pulled[:keep],
            spacing=self.spacing[:keep],
        )

    def noise(self, spacing: int) -> Noise | None:
        """The noise to expect of points that stand `spacing` steps apart; None before enough is known.

        Interval means get noisier when the interval shrinks: until enough points of the new kind are
        known, the noise of the old is scaled up as if they were means of independent steps.
        """
        if len(self.residual) < FEWEST:
            return None
        alike = self.spacing[-MEMORY:] <= 1.5 * spacing
        residual = self.residual[-MEMORY:]
        scale = 1.0
        if np.count_nonzero(alike) >= 2 * FEWEST:
            residual = residual[alike]
        elif not alike.all():
            scale = float(np.sqrt(np.median(self.spacing[-MEMORY:]) / max(spacing, 1)))
        # a thousandth of the level is nothing to speak of, however smooth the curve
        floor = 1e-3 * abs(float(np.median(self.value[-CENTRE:]))) + _TINY
        return measure(residual * max(scale, 1.0), self.score, self.pulled, floor)

    def fall(self, noise: Noise) -> Fall:
        """How the level surely falls: the slope of the latest third of points against the third before,
        less a standard error; losses fall ever more slowly, so it is damped as it was from third to third."""
        last = self.pulled[-_TREND:]
        third = len(last) // 3
        if third < FEWEST:
            return Fall()
        means = last[-3 * third :].reshape(3, third).mean(axis=1)
        earlier, later = np.diff(means) + noise.error(32) * np.sqrt(2 / third) * np.array((0.0, 1.0))
        if later >= 0:
            return Fall()
        steps = max(int(np.sum(self.spacing[-third:])), 1)
        kept = float(np.clip(later / earlier, 0.5, 0.9)) if earlier < 0 else 0.9
        # the slope measured is that of a third ago
        return Fall(slope=float(later) * kept / steps, span=-steps / float(np.log(kept)))

    def centres(self, values: FloatArray) -> FloatArray:
        """For each of the next values [n] the median of the points before it."""
        both = np.concatenate((self.value[-CENTRE:], values))
        if not len(self.value):
            both = np.concatenate((values[:1], values))
        # origin shifts the window to end at its own point; one further back leaves that point out
        median = median_filter(both, size=CENTRE, origin=CENTRE // 2, mode="nearest")
        known = len(both) - len(values)
        return np.asarray(median[known - 1 : len(both) - 1])

    def accept(
        self, values: FloatArray, centres: FloatArray, spacing: IntArray, noise: Noise | None
    ) -> History:
        """The history with further values [n] that belong to no event."""
        residual = values - centres
        reach = _PULLED_IN * noise.sigma if noise is not None else np.inf
        score = residual / noise.sigma if noise is not None else np.full(len(values), np.nan)
        pulled = centres + np.clip(residual, -reach, reach)
        return History(
            count=self.count + len(values),
            value=np.concatenate((self.value, values))[-_KEPT:],
            residual=np.concatenate((self.residual, residual))[-_KEPT:],
            score=np.concatenate((self.score, score))[-_KEPT:],
            pulled=np.concatenate((self.pulled, pulled))[-_KEPT:],
            spacing=np.concatenate((self.spacing, spacing))[-_KEPT:],
        )

"""What a series does when nothing is wrong: its recent level, its noise, and how heavy the noise's tail is.

Everything is trailing: what is said about a point rests on points before it. Levels are medians or means
of values pulled in to a few sigma, noise is a MAD, so that what is to be found does not hide itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import median_filter

from holter.types import FloatArray, IntArray

MEMORY = 1024
"""Points that noise is measured on. Quantiles up to 99.5 % need a thousand."""
CENTRE = 49
"""Points in the running median: long against a spike's first points, short against a loss's decline."""
FEWEST = 32
"""Points before which nothing is said: the error of a MAD is then still 15 %."""
_RECENT = 128
_KEPT = MEMORY + 512
_PULLED_IN = 4.0
"""Points count for at most so many sigma in a mean: one outlier alone never makes a level."""
_NORMAL_MAD = 1.4826


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Noise around the running median: `sigma`, two upper quantiles, and by how much means wander more.

    `tail` is the Weibull exponent between the quantiles: 1.3 for normal noise, 0.6 for Student's t3.
    `wander8`, `wander32` >= 1 multiply the standard error of means of 8 and of 32 or more points, which
    neighbouring points that resemble each other make larger than sigma / sqrt(n).
    """

    sigma: float
    upper: float
    tail: float
    wander8: float
    wander32: float

    def surprise(self, excess: FloatArray) -> FloatArray:
        """-ln P(a point lies so far above the running median), for excesses [n].

        Beyond the 97.5 % quantile the tail is Weibull's: exact enough for normal noise (6 sigma where
        p = 1e-8 is 5.6) and heavy enough for Student's t3, whose far quantiles it reaches by one decade.
        """
        ratio = np.maximum(excess / self.upper, 0.0)
        below = _LN2 + (_LN40 - _LN2) * ratio**1.5
        with np.errstate(over="ignore"):
            return np.where(ratio > 1, _LN40 * ratio**self.tail, below)


_LN2, _LN40, _LN200 = np.log((2.0, 40.0, 200.0))


def measure(residual: FloatArray, floor: float) -> Noise:
    """The noise in residuals [n >= 1] around the running median; `floor` is the least sigma believed."""
    centred = residual - np.median(residual)
    size = np.abs(centred)
    recent = size[-_RECENT:]
    sigma = max(_NORMAL_MAD * float(max(np.median(size), np.median(recent))), floor)
    # few points know little of their tail: the quantiles of normal noise are the least believed
    upper, far = np.quantile(centred, (0.975, 0.995))
    upper = max(float(upper), 1.8 * sigma)
    far = max(float(far), 1.30 * upper)
    tail = np.log(_LN200 / _LN40) / np.log(far / upper)
    return Noise(
        sigma=sigma,
        upper=upper,
        tail=float(tail),
        wander8=_wander(centred, sigma, 8, 0),
        wander32=_wander(centred, sigma, 32, 96),
    )


def _wander(residual: FloatArray, sigma: float, width: int, before: int) -> float:
    """How much means of `width` points (against the `before` points before them) vary, over what they would."""
    if len(residual) < 8 * width + before:
        return 1.0
    total = np.concatenate(([0.0], np.cumsum(np.clip(residual, -_PULLED_IN * sigma, _PULLED_IN * sigma))))
    mean = (total[width:] - total[:-width]) / width
    expected = sigma * np.sqrt(1 / width + 1.57 / CENTRE)
    if before:
        earlier = (total[before:] - total[:-before]) / before
        mean = mean[before:] - earlier[: len(mean) - before]
        expected = sigma * np.sqrt(1 / width + 1 / before)
    spread = _NORMAL_MAD * float(np.median(np.abs(mean - np.median(mean))))
    return max(1.0, spread / expected)


@dataclass(frozen=True, eq=False, kw_only=True)
class History:
    """The latest points of a series that are not part of any event; arrays share the length [n].

    `count` is how many there were in all, `pulled` the values pulled in to a few sigma of their centre,
    `spacing` the steps since the point before.
    """

    count: int
    value: FloatArray
    residual: FloatArray
    pulled: FloatArray
    spacing: IntArray

    @staticmethod
    def empty() -> History:
        nothing = np.empty(0)
        return History(
            count=0, value=nothing, residual=nothing, pulled=nothing, spacing=np.empty(0, dtype=np.int64)
        )

    def without_last(self, points: int) -> History:
        """The history as it was before its last points."""
        keep = max(len(self.value) - points, 0)
        return replace(
            self,
            count=max(self.count - points, 0),
            value=self.value[:keep],
            residual=self.residual[:keep],
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
        floor = 1e-3 * abs(float(np.median(self.value[-CENTRE:]))) + np.finfo(float).tiny
        found = measure(residual * max(scale, 1.0), floor)
        return found

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
        pulled = centres + np.clip(residual, -reach, reach)
        return History(
            count=self.count + len(values),
            value=np.concatenate((self.value, values))[-_KEPT:],
            residual=np.concatenate((self.residual, residual))[-_KEPT:],
            pulled=np.concatenate((self.pulled, pulled))[-_KEPT:],
            spacing=np.concatenate((self.spacing, spacing))[-_KEPT:],
        )

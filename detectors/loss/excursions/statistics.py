"""Evidence that a series has left its level upwards: sums of surprises, means, and lone points.

Each look gives the points it rests on and, for every new value [n], its strength: an alarm from 1 on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import gammainccinv

from holter.detectors.loss.excursions.baseline import FEWEST, History, Noise
from holter.types import FloatArray

Look = tuple[int, FloatArray]

SHORT = (1, 2, 3, 5)
"""Points whose surprises are added up."""
OUTLIER = -1
"""In place of a width: a lone point that the noise's own shape explains."""
_WINDOWS = (
    *((8, 0), (16, 0), (32, 0), (64, 0), (64, 64), (128, 0), (128, 128)),
    *((256, 0), (256, 256), (512, 512), (512, 1536)),
)
"""Points whose mean is held against the mean before them, and the points left out between: a slow rise
would raise its own reference."""
_FAR_BACK = max(2 * max(64, points) + points + gap for points, gap in _WINDOWS)
_ASKED = {points: float(gammainccinv(points, 1e-8)) for points in SHORT}
"""Sums of -ln p of so many points are Gamma distributed; exceeded once in 1e8 by chance."""
_ASKED_OF_MEANS = 5.5
"""Standard errors; that is a chance of 1 in 5e7 where the noise is normal."""
_FAR_OUT, _FAR_UP = 8.0, 0.2
"""Sigmas, and share of the level, that make one batch an event whatever the tail above says."""
_LONE = 0.7
"""Share of the evidence asked for that a point within the reach of the noise may give at most."""
_UNSEEN = 300
"""Points known for which the reach of the noise is doubled."""
_CALM, _RECENT = 1.25, 32
"""Sigmas that points below may recently have had before the noise counts as larger than it was."""
_AROUND_ZERO, _EXCEPTION = 2.0, 0.05
"""Sigmas of a point that means of a loss around zero must rise by: less is lost in its noise to the eye."""
_TINY = 1e-30


def worth_a_word(level: FloatArray, points: int) -> FloatArray:
    """The least rise over so many points that a person would speak of: 10 % for one, 2 % for hundreds."""
    share: float = 0.02 + 0.08 / float(np.sqrt(points))
    return share * np.abs(level) + _TINY


def _is_around_zero(history: History) -> bool:
    """Whether the values have both signs, neither of them as an exception."""
    below = float(np.mean(history.value < 0)) if len(history.value) else 0.0
    return _EXCEPTION < below < 1 - _EXCEPTION


def sums(history: History, values: FloatArray, centres: FloatArray, noise: Noise) -> Iterator[Look]:
    """Of a few points: how surprising they are together."""
    excess = values - centres
    residual = np.concatenate((history.residual[-SHORT[-1] :], excess))
    surprise = np.minimum(noise.surprise(residual / _unrest(history, excess, noise, len(residual))), 1e6)
    within = residual < _reach(history, noise, noise.reach.rare)
    total = np.concatenate(([0.0], np.cumsum(residual)))
    known = len(residual) - len(values)
    for points in (points for points in SHORT if points <= known):
        ends = np.arange(known + 1, len(residual) + 1)
        rise = (total[ends] - total[ends - points]) / points
        # points that follow each other repeat the same surprise
        asked = (1 - noise.alike) * _ASKED[points] + noise.alike * points * _ASKED[1]
        # what noise may do to a lone point is not enough
        counted = np.where(within, np.minimum(surprise, _LONE * asked), surprise)
        told = np.concatenate(([0.0], np.cumsum(counted)))
        found = (told[ends] - told[ends - points]) / asked
        yield points, np.minimum(found, rise / worth_a_word(centres, points))


def lone(history: History, values: FloatArray, centres: FloatArray, noise: Noise) -> Iterator[Look]:
    """Of one point: a batch a fifth above the level and far out is an event, whatever the tail above says,
    unless the noise's own shape explains it."""
    excess = values - centres
    far = np.minimum(excess / (_FAR_UP * np.abs(centres) + _TINY), excess / _far_out(history, noise))
    usual, rare = (_reach(history, noise, reach) for reach in noise.reach)
    yield 1, np.minimum(far, excess / (rare + _TINY))
    yield OUTLIER, np.minimum(far, excess / (usual + _TINY))


def _far_out(history: History, noise: Noise) -> float:
    """How far out a point is that no tail explains: further while few points are known."""
    return _FAR_OUT * noise.sigma * (1 + 128 / max(history.count, 1))


def _reach(history: History, noise: Noise, sigmas: float) -> float:
    return sigmas * noise.sigma * (1 + _UNSEEN / max(history.count, 1))


def _unrest(history: History, excess: FloatArray, noise: Noise, points: int) -> FloatArray:
    """By how much the noise is larger than it was, before each of the last `points` points: only what lies
    below tells, as an event would be above."""
    before = history.residual[-_RECENT - points + len(excess) :]
    score = np.clip(np.concatenate((before, excess)) / noise.sigma, -4.0, 4.0)
    short = max(points + _RECENT - len(score), 0)
    score = np.concatenate((np.zeros(short), score))
    total = np.concatenate(([0.0], np.cumsum(score)))
    below = np.concatenate(([0.0], np.cumsum(np.minimum(score, 0.0) ** 2)))
    mean = (total[_RECENT:-1] - total[: -_RECENT - 1]) / _RECENT
    square = (below[_RECENT:-1] - below[: -_RECENT - 1]) / _RECENT
    # a level that falls puts more below
    size = np.sqrt(np.maximum(2 * square - 3 * np.minimum(mean, 0.0) ** 2, 0.0))
    unrest: FloatArray = np.maximum(np.minimum(size, 1 + 3 * (size - _CALM)), 1.0)
    return unrest


def means(history: History, values: FloatArray, centres: FloatArray, noise: Noise) -> Iterator[Look]:
    """Of many points: how far their mean lies above the mean before."""
    reach = 4.0 * noise.sigma
    pulled = centres + np.clip(values - centres, -reach, reach)
    both = np.concatenate((history.pulled[-_FAR_BACK:], pulled))
    total = np.concatenate(([0.0], np.cumsum(both)))
    ends = np.arange(len(both) - len(values) + 1, len(both) + 1)
    unrest = _unrest(history, values - centres, noise, len(values))
    # what is around zero has no level that a rise could be a share of
    least = _AROUND_ZERO * noise.sigma if _is_around_zero(history) else 0.0
    for points, gap in _WINDOWS:
        end = ends - points - gap
        before = np.minimum(max(64, 2 * points), end)
        enough = before >= max(FEWEST, points)
        if not enough.any():
            break
        now = (total[ends] - total[ends - points]) / points
        earlier = (total[end] - total[np.maximum(end - before, 0)]) / np.maximum(before, 1)
        error = noise.error(points) * np.sqrt(1 / points + 1 / np.maximum(before, 1))
        if points <= _RECENT:
            error = error * unrest
        rise = now - earlier
        word = np.maximum(worth_a_word(centres, points), least)
        found = np.minimum(rise / (_ASKED_OF_MEANS * error), rise / word)
        yield points, np.where(enough, found, 0.0)

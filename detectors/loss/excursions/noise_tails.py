"""How far noise alone places a lone point above the level: by its own depth, its own tail, its own skew.

Bad batches raise a loss for one point, nothing lowers it. So what lies below is noise, and tells how far
noise goes above: as deep as lone points were, further the heavier their tail is. Where the noise is skewed
in its body already (the loss of few samples is), below says too little; what a shifted lognormal with the
quantiles of the body reaches is added. Outliers that a few bad batches left are not in the body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from holter.types import FloatArray

_DEEPEST = 3
"""Lone points whose mean depth says how far noise reaches: one may be chance, more need a longer memory."""
_TAIL, _TAIL_SHARE = 40, 100
"""Deepest points that the tail's index is taken from (Hill): so many, or one in a hundred if that is less."""
_USUAL, _RARE = 1.7, 16.0
"""Times the depth where normal noise and Student's t4 hardly ever come; and how much rarer than three of
4,608 points a point shall be that the tail below is no longer an explanation for: once in 25,000 points."""
_USUAL_SIGMAS, _RARE_SIGMAS = 3.7, 4.6
"""What of normal noise is exceeded once in 10,000 points, and once in 500,000: for the skewed body."""
_EVEN = 1.2
"""Ratio of the upper to the lower quantile up to which a body counts as even: chance, in a small sample."""


class Reach(NamedTuple):
    """In sigmas: up to `usual` a lone point is nothing, up to `rare` the noise's own shape explains it."""

    usual: float
    rare: float


NOWHERE = Reach(0.0, 0.0)


def reach_of(score: FloatArray) -> Reach:
    """How far the noise with these scores [n >= 3], distances in sigmas of their time, places lone points."""
    deep, index = _depth(score)
    usual, rare = _skewed(score)
    return Reach(
        usual=max(_USUAL * deep, usual),
        rare=max(max(_USUAL, _RARE ** (1 / index)) * deep, rare),
    )


def _depth(score: FloatArray) -> tuple[float, float]:
    """How far below both their neighbours the deepest points lie, and the index of that tail; a fall, whose
    points all lie low, does not count."""
    beside = np.minimum(np.minimum(score[:-2], score[2:]), 0.0)
    depth = beside - score[1:-1]
    size = min(max(min(len(depth) // _TAIL_SHARE, _TAIL), _DEEPEST) + 1, len(depth))
    deepest = np.sort(np.partition(depth, -size)[-size:])
    deep = max(0.0, float(np.mean(deepest[-_DEEPEST:])))
    if size <= 2 * _DEEPEST or deepest[0] <= 0:
        return deep, np.inf
    return deep, 1 / max(float(np.mean(np.log(deepest[1:] / deepest[0]))), 0.1)


def _skewed(score: FloatArray) -> Reach:
    """What a lognormal with the skew of the body reaches; nothing where the body is even."""
    low, beneath, middle, over, high = np.quantile(score, (0.025, 0.16, 0.5, 0.84, 0.975)).tolist()
    if not (low < beneath < middle < over < high):
        return NOWHERE
    wide, narrow = (high - middle) / (middle - low), (over - middle) / (middle - beneath)
    # the tail's skew counts as far as the body shows it too
    skew = min(float(np.log(wide)) / 1.96, float(np.log(narrow)))
    if wide < _EVEN or skew <= 0:
        return NOWHERE
    scale = (high - middle) / float(np.expm1(1.96 * skew))
    usual, rare = (scale * float(np.expm1(skew * sigmas)) for sigmas in (_USUAL_SIGMAS, _RARE_SIGMAS))
    return Reach(usual, rare)

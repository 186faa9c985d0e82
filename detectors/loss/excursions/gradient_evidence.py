"""The evidence of means of a loss together with the gradient norm, at the points of a chunk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holter.detectors.loss.excursions.alarm_strength import (
    AlarmThresholds,
    Evidence,
    MeanRise,
    sums_with_gradient,
    with_gradient,
)
from holter.detectors.loss.excursions.baseline import LossNoise
from holter.detectors.loss.excursions.evidence_factor import GradientEvidence
from holter.detectors.loss.excursions.restart_level import RestartEvidence
from holter.detectors.loss.excursions.segment import AttemptSegment
from holter.types import FloatArray

_NEARLY = 1 - 1e-9
"""Of a limit that is computed in two ways, which round differently."""


def evidence_with_gradient(
    gradient: GradientEvidence | None,
    segment: AttemptSegment,
    index: int,
    points: slice,
    sums: Sequence[Evidence],
    rises: Sequence[MeanRise],
    noise: LossNoise,
    thresholds: AlarmThresholds,
) -> list[Evidence]:
    """The evidence of sums and means at the given points of a chunk, which begins at `index` of the segment;
    nothing where none is high enough or there is no gradient norm."""
    if gradient is None:
        return []
    few = [each for each in sums if each[0] in thresholds.both_sum_points]
    means = [each for each in rises if not each.gap and each.points in gradient.points]
    enough = [
        *(
            np.minimum(strength / thresholds.least_sum_with_gradient(size), most / thresholds.both_least_sum)
            for size, strength, most in few
        ),
        *(each.strength / thresholds.least_with_gradient for each in means),
    ]
    if not enough:
        return []
    possible = points.start + np.flatnonzero(np.max(enough, axis=0)[points] >= 1)
    if not len(possible):
        return []
    first, stop = int(possible[0]), int(possible[-1]) + 1
    at = (segment, index + first, index + stop)
    # of the others, the gradient norm need not be read
    parts = [
        (size, strength[first:stop], most[first:stop])
        for size, strength, most in few
        if strength[first:stop].max() >= _NEARLY * thresholds.least_sum_with_gradient(size)
    ]
    of_means = [each.part(first, stop) for each in means]
    of_means = [each for each in of_means if each.strength.max() >= thresholds.least_with_gradient]
    sizes = (*(size for size, _, _ in parts), *(each.points for each in of_means))
    errors = dict(zip(sizes, gradient.errors(*at, sizes), strict=True))
    factor, evidence = gradient.factor(*at), []
    both = [
        *sums_with_gradient(parts, errors, thresholds),
        *with_gradient(of_means, errors, noise, thresholds),
    ]
    for size, strength, most in both:
        at_chunk = np.zeros((2, len(enough[0])))
        at_chunk[:, first:stop] = factor * strength, factor * most
        evidence.append((size, *at_chunk))
    return evidence


def since_restart_with_gradient(
    gradient: GradientEvidence, segment: AttemptSegment, index: int, evidence: RestartEvidence
) -> FloatArray | None:
    """The strength of evidence, at the points of a chunk that begins at `index` of the segment, that the
    restart raised both the loss and the gradient norm; None where the loss is not high enough."""
    if evidence.errors.max() < evidence.thresholds.both_least_errors:
        return None
    stop = index + len(evidence.errors)
    strength = evidence.with_gradient(gradient.since_restart(segment, stop)[index:])
    return np.minimum(strength * gradient.factor(segment, index, stop), evidence.most)

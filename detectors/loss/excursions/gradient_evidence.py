"""The evidence of means of a loss together with the gradient norm, at the points of a chunk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holter.detectors.loss.excursions.alarm_strength import (
    AlarmThresholds,
    Evidence,
    MeanRise,
    with_gradient,
)
from holter.detectors.loss.excursions.baseline import LossNoise
from holter.detectors.loss.excursions.evidence_factor import GradientEvidence
from holter.detectors.loss.excursions.restart_level import RestartEvidence
from holter.detectors.loss.excursions.segment import AttemptSegment
from holter.types import FloatArray


def evidence_with_gradient(
    gradient: GradientEvidence | None,
    segment: AttemptSegment,
    index: int,
    points: slice,
    rises: Sequence[MeanRise],
    noise: LossNoise,
    thresholds: AlarmThresholds,
) -> list[Evidence]:
    """The evidence at the given points of a chunk, which begins at `index` of the segment; nothing where no
    mean is high enough or there is no gradient norm."""
    if gradient is None:
        return []
    compared = [each for each in rises if not each.gap and each.points in gradient.points]
    if not compared:
        return []
    highest = np.max([each.strength for each in compared], axis=0)
    possible = points.start + np.flatnonzero(highest[points] >= thresholds.least_with_gradient)
    if not len(possible):
        return []
    first, stop = int(possible[0]), int(possible[-1]) + 1
    at = (segment, index + first, index + stop)
    errors = dict(zip(gradient.points, gradient.errors(*at), strict=True))
    factor, evidence = gradient.factor(*at), []
    parts = (each.part(first, stop) for each in compared)
    for size, strength, most in with_gradient(parts, errors, noise, thresholds):
        both = np.zeros((2, len(highest)))
        both[:, first:stop] = factor * strength, factor * most
        evidence.append((size, *both))
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

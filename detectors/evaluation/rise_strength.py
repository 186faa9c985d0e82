"""The strength of evidence that an evaluation loss has risen: means of the latest evaluations against earlier
ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.evaluation.noise import (
    EvaluationNoise,
    EvaluationNoiseThresholds,
    chance_limits,
)
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray

_TINY = 1e-30


@dataclass(frozen=True, kw_only=True)
class EvaluationRiseThresholds(Thresholds):
    """How much evidence makes a rise of an evaluation loss."""

    windows: tuple[tuple[int, int], ...] = (
        (1, 0),
        (2, 0),
        (3, 0),
        (4, 0),
        (4, 4),
        (6, 6),
        (8, 0),
        (8, 8),
        (8, 16),
        (16, 0),
        (16, 16),
        (16, 32),
    )
    """Evaluations whose mean is compared with that of earlier ones, and evaluations left out between the two:
    a slow rise would raise its own reference."""
    reference: int = 4
    """Earlier evaluations in the reference, at least; otherwise as many as in the mean."""
    single_distance: float = 2.0
    """Evaluations over which the level may wander where a single one is tested."""
    least_share: float = 0.01
    """Share of the level by which evaluations must have risen to be worth reporting."""
    times_single: float = 1.5
    """Times as high as any single evaluation before: a single one may be an outlier of such noise."""
    best_points: int = 8
    """Evaluations whose mean is compared with the lowest such mean so far, however long ago that was."""
    best_spreads: float = 6.0
    """Standard deviations, of an evaluation and of the level over so many, that it must be above that; and
    that the loss must have fallen by up to there: what never fell has no best."""
    best_progress: float = 0.5
    """Share of the fall up to the lowest mean that it must have undone."""


class _Window(NamedTuple):
    points: int
    gap: int
    reference: int

    def wander(
        self, noise: EvaluationNoise, distances: tuple[int, ...], thresholds: EvaluationRiseThresholds
    ) -> FloatArray:
        """The standard deviation by which the level wanders between mean and reference [n]."""
        distance = thresholds.single_distance
        if self.points > 1:
            distance = (self.points + self.reference) / 2 + self.gap
        measured = next((known for known in distances[1:] if known >= distance), distances[-1])
        return noise.wander[measured] * float(np.sqrt(max(distance / measured, 1.0)))


def rise_evidence(
    value: FloatArray,
    noise: EvaluationNoise,
    known: int,
    count: int,
    thresholds: EvaluationRiseThresholds,
    noise_thresholds: EvaluationNoiseThresholds,
) -> Iterator[tuple[IntArray | int, FloatArray]]:
    """For each window the evaluations it rests on, and the strength at every evaluation from the `known`-th
    on [n - known]: an alarm from 1 on. `count` evaluations preceded those given."""
    last = np.arange(known, len(value))
    yield _above_best(value, noise, last, thresholds, noise_thresholds)
    for points, gap in thresholds.windows:
        window = _Window(points, gap, max(thresholds.reference, points))
        possible = last >= points + gap + window.reference - 1
        strength = np.zeros(len(last))
        if possible.any():
            strength[possible] = _strength(
                value,
                noise,
                window,
                last[possible],
                last[possible] + count + 1,
                thresholds,
                noise_thresholds,
            )
        yield points + gap, strength


def _above_best(
    value: FloatArray,
    noise: EvaluationNoise,
    last: IntArray,
    thresholds: EvaluationRiseThresholds,
    noise_thresholds: EvaluationNoiseThresholds,
) -> tuple[IntArray, FloatArray]:
    """How far the latest evaluations are above the best ones so far, and how many there were since [n].

    A model that overfits gets worse so slowly that no window compares what was with what is. The noise is
    that from when it was best: a slow rise soon counts as wander.
    """
    points = thresholds.best_points
    since, strength = np.zeros(len(last), dtype=np.int64), np.zeros(len(last))
    if len(value) < 2 * points:
        return since, strength
    windows = sliding_window_view(value, points)
    means = windows.mean(axis=1)
    lowest = np.minimum.accumulate(means)
    best = np.maximum.accumulate(np.where(means <= lowest, np.arange(len(means)), 0))
    now = last - points + 1
    possible = now >= points
    now, then = now[possible], best[now[possible] - points]
    known_at = then + points - 1
    spread = np.hypot(noise.sigma[known_at], noise.wander[noise_thresholds.distances[-1]][known_at])
    rise = means[now] - means[then]
    fall = value[0] - means[then]
    least = np.maximum(thresholds.least_share * np.abs(means[then]), thresholds.best_progress * fall) + _TINY
    # a spike raises the mean of some evaluations, not each of them
    is_apart = windows[now].min(axis=1) > windows[then].max(axis=1)
    visible = thresholds.best_spreads * spread
    above = np.minimum(rise / visible, rise / least) * (is_apart & (fall > visible))
    strength[possible] = np.where(np.isnan(spread), 0.0, above)
    since[possible] = now + points - 1 - known_at
    return since, strength


def _strength(
    value: FloatArray,
    noise: EvaluationNoise,
    window: _Window,
    last: IntArray,
    count: IntArray,
    thresholds: EvaluationRiseThresholds,
    noise_thresholds: EvaluationNoiseThresholds,
) -> FloatArray:
    points, reference = window.points, window.reference
    end = last - points - window.gap
    total = np.concatenate(([0.0], np.cumsum(value - value[0])))
    now = (total[last + 1] - total[last + 1 - points]) / points
    before = (total[end + 1] - total[end + 1 - reference]) / reference
    # the noise before the window: what is in it may be an event
    sigma = noise.sigma[end]
    wander = window.wander(noise, noise_thresholds.distances, thresholds)[end]
    error = np.hypot(sigma * np.sqrt(1 / points + 1 / reference), wander)
    rise = now - before
    worthwhile = thresholds.least_share * np.abs(before + value[0]) + _TINY
    limit = chance_limits(count, noise.known[end], points + window.gap, noise_thresholds)
    strength = np.minimum(rise / (limit * error), rise / worthwhile)
    if points == 1:
        strength = np.minimum(strength, rise / (thresholds.times_single * noise.reach[end] + _TINY))
    return np.where(np.isnan(sigma), 0.0, strength)

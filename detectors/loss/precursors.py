"""Precursors: what other series say about the moment at which the loss may be leaving its trend.

A jump of the gradient norm, or of the learning rate to where it has never been, makes a rise of the loss
easier to believe; a planned warm restart of the learning rate makes it harder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import maximum_filter1d, median_filter

from holter.detectors.loss.excursion import Stretch
from holter.metrics import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series

_CENTRE, _SPREAD = 49, 129
_SETTLED = 300
"""Points after which a gradient norm is past its own beginnings."""
_LASTS = 10
"""Points for which a jump of the gradient norm says something about the loss."""
_BELIEF = 0.4
"""A clear jump makes the evidence asked of the loss smaller by 1 + this."""
_FROM, _CLEAR = 6.0, 10.0
"""Standard errors at which a jump begins to count, and at which it counts fully."""
_RATE_JUMP, _RATE_LASTS = 1.5, 100
_RATE_BACK = 20
_WARM_RESTART = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class Precursors:
    """By attempt, steps [n] with the factor [n] that evidence from the loss is multiplied by there."""

    by_attempt: dict[int, list[tuple[IntArray, FloatArray]]]

    def at(self, stretch: Stretch) -> FloatArray:
        """The factor at each point [n] of a stretch, from what was logged up to its step."""
        factor = np.ones(len(stretch.step))
        for steps, factors in self.by_attempt.get(stretch.attempt, ()):
            index = np.searchsorted(steps, stretch.step, side="right") - 1
            factor *= np.where(index >= 0, factors[np.maximum(index, 0)], 1.0)
        return factor


def precursors_of(run: RunData) -> Precursors:
    """The precursors in a run's gradient norm and learning rate; the first series of each, by name."""
    by_attempt: dict[int, list[tuple[IntArray, FloatArray]]] = {}
    for role, weigh in ((Role.GRAD_NORM, _belief_by_gradient), (Role.LEARNING_RATE, _belief_by_rate)):
        series = next((run.series[key] for key in sorted(run.series) if role_of(key) is role), None)
        if series is None:
            continue
        highest = 0.0
        for number in np.unique(series.attempt).tolist():
            steps, values = _of_attempt(series, number)
            by_attempt.setdefault(number, []).append((steps, weigh(values, highest)))
            highest = max(highest, float(np.max(values, initial=0.0, where=np.isfinite(values))))
    return Precursors(by_attempt=by_attempt)


def _of_attempt(series: Series, number: int) -> tuple[IntArray, FloatArray]:
    mine = series.attempt == number
    return series.step[mine], series.value[mine]


def _trailing_median(values: FloatArray, size: int) -> FloatArray:
    """For each value the median of the `size` values before it."""
    median = median_filter(values, size=size, origin=size // 2, mode="nearest")
    return np.concatenate((values[:1], median[:-1]))


def _belief_by_gradient(values: FloatArray, _: float) -> FloatArray:
    with np.errstate(invalid="ignore"):
        logs = np.log(np.clip(np.where(np.isfinite(values), values, 1e6), 1e-12, 1e12))
    above = logs - _trailing_median(logs, _CENTRE)
    spread = 1.4826 * _trailing_median(np.abs(above), _SPREAD)
    score = np.clip(above / np.maximum(spread, 0.02), -_CLEAR, _CLEAR)
    score[:_SETTLED] = 0.0
    total = np.concatenate(([0.0], np.cumsum(score)))
    jump = np.zeros(len(score))
    for points in (2, 3, 5, 8):
        ends = np.arange(points, len(total))
        jump[points - 1 :] = np.maximum(
            jump[points - 1 :], (total[ends] - total[ends - points]) / points**0.5
        )
    recent = maximum_filter1d(jump, _LASTS, origin=(_LASTS - 1) // 2, mode="nearest") if len(jump) else jump
    return 1 + _BELIEF * np.clip((recent - _FROM) / (_CLEAR - _FROM), 0.0, 1.0)


def _belief_by_rate(values: FloatArray, highest: float) -> FloatArray:
    rate = np.where(np.isfinite(values), values, 0.0)
    before, long_before = _ago(rate, _RATE_BACK), _ago(rate, 3 * _RATE_BACK)
    best = np.maximum.accumulate(np.concatenate(([highest], before)))[: len(rate)]
    jumped = rate > _RATE_JUMP * np.maximum(before, 1e-300)
    # not a warm-up, which comes from below
    jumped &= (before > 0) & (before < 1.1 * long_before)
    jumped[: 3 * _RATE_BACK] = False
    unheard_of = _lasting(jumped & (rate > 1.2 * best))
    restarted = _lasting(jumped & (rate <= 1.2 * best)) & ~unheard_of
    return np.where(unheard_of, 1 + _BELIEF, np.where(restarted, _WARM_RESTART, 1.0))


def _ago(values: FloatArray, points: int) -> FloatArray:
    return np.concatenate((np.repeat(values[:1], points), values))[: len(values)]


def _lasting(marks: np.ndarray) -> np.ndarray:
    """True for some points from each mark on."""
    total = np.concatenate(([0], np.cumsum(marks)))
    ends = np.arange(1, len(total))
    return (total[ends] - total[np.maximum(ends - _RATE_LASTS, 0)]) > 0

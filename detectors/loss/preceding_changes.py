"""Preceding changes: other signs of trouble shortly before a loss left its trend, for the evidence.

Gradient norm, loss scale and throughput show it first and are rarely its cause; what may be its cause is in
`detectors.causes`. The detection does not rest on them (see `precursors` for what it rests on).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from holter.detectors.positions import rows_of_attempt, rows_up_to
from holter.detectors.robust_statistics import mad_sigma
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series


@dataclass(frozen=True, kw_only=True)
class PrecedingChangeThresholds(Thresholds):
    """When a change of another series before an event is worth reporting."""

    recent_points: int = 16
    """Points before the onset that count as shortly before it."""
    reference_points: int = 128
    """Points before those that they are compared with."""
    fewest_points: int = 8
    """Points to compare with, at least."""
    farthest_rows: int = 1024
    """Rows before the onset that are read at most."""
    gradient_ratio: float = 1.5
    """Ratio of a gradient norm to its median from which on a jump is reported."""
    gradient_sigmas: float = 6.0
    """Sigmas that the jump of a gradient norm must have as well."""
    throughput_ratio: float = 0.9
    """Ratio of throughputs below which a drop is reported."""


PrecedingChange = dict[str, Any]
_Describe = Callable[[FloatArray, FloatArray, IntArray, PrecedingChangeThresholds], PrecedingChange | None]


def find_preceding_changes(
    run: RunData, attempt: int, start_step: int, detected_step: int, thresholds: PrecedingChangeThresholds
) -> list[PrecedingChange]:
    """What preceded an event that began and was detected at these steps.

    Each change has `what`, the `metric`, the value `before` and the `value` then, and the `step`.
    """
    changes: list[PrecedingChange] = []
    for key in sorted(run.series):
        describe = _DESCRIBE.get(role_of(key))
        if describe is None or key.rank is not None:
            continue
        step, value, onset = _points_around(run.series[key], attempt, start_step, detected_step, thresholds)
        first = max(onset - thresholds.recent_points, 0)
        before = value[max(first - thresholds.reference_points, 0) : first]
        if len(before) >= thresholds.fewest_points and first < len(value):
            change = describe(before, value[first:], step[first:], thresholds)
            if change is not None:
                changes.append({"what": role_of(key).value, "metric": key.metric, **change})
    return changes


def _points_around(
    series: Series, attempt: int, start_step: int, detected_step: int, thresholds: PrecedingChangeThresholds
) -> tuple[IntArray, FloatArray, int]:
    """An attempt's steps and finite values up to the step of detection, and the index of the onset in
    them."""
    attempt_row = rows_of_attempt(series, attempt).first
    first = max(rows_up_to(series, (attempt, start_step - 1)) - thresholds.farthest_rows, attempt_row)
    rows = slice(first, rows_up_to(series, (attempt, detected_step)))
    finite = np.isfinite(series.value[rows])
    step, value = series.step[rows][finite], series.value[rows][finite]
    return step, value, int(np.searchsorted(step, start_step))


def _describe_gradient(
    before: FloatArray, value: FloatArray, step: IntArray, thresholds: PrecedingChangeThresholds
) -> PrecedingChange | None:
    median = float(np.median(before))
    spread = mad_sigma(before, median)
    index = int(np.argmax(value))
    is_small = value[index] < thresholds.gradient_ratio * median
    if is_small or value[index] - median < thresholds.gradient_sigmas * spread:
        return None
    return {"before": median, "value": float(value[index]), "step": int(step[index])}


def _describe_scale(
    before: FloatArray, value: FloatArray, step: IntArray, thresholds: PrecedingChangeThresholds
) -> PrecedingChange | None:
    index = int(np.argmin(value))
    old = float(before[-1])
    if value[index] >= old:
        return None
    return {"before": old, "value": float(value[index]), "step": int(step[index])}


def _describe_throughput(
    before: FloatArray, value: FloatArray, step: IntArray, thresholds: PrecedingChangeThresholds
) -> PrecedingChange | None:
    old, new = float(np.median(before)), float(np.median(value))
    if new >= thresholds.throughput_ratio * old:
        return None
    return {"before": old, "value": new, "step": int(step[0])}


_DESCRIBE: Mapping[Role, _Describe] = {
    Role.GRAD_NORM: _describe_gradient,
    Role.LOSS_SCALE: _describe_scale,
    Role.THROUGHPUT: _describe_throughput,
}

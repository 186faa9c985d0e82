"""Circumstances: what other series did shortly before a loss left its trend, as numbers for the evidence.

They say where to look first; what is found does not rest on them (but see `precursors`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from holter.detectors.positions import rows_of_attempt, rows_up_to
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series

_POINTS, _BEFORE, _FEWEST, _FURTHEST = 16, 128, 8, 1024
"""Points before the onset that are shortly before it; points before those to compare with, the least, and
within how many rows."""
_RESTART_STEPS = 200
_JUMP, _CLEAR = 1.5, 6.0
"""A gradient norm is told from half above its median on, if that is so many of its spreads."""
_RATE, _SPEED, _SHARE = 1.1, 0.9, 0.02
"""Ratios of learning rates and throughputs, and the difference of a dataset's share, worth telling."""

Circumstance = dict[str, Any]
_Told = Callable[[FloatArray, FloatArray, IntArray], Circumstance | None]


def circumstances(run: RunData, attempt: int, start_step: int, seen_step: int) -> list[Circumstance]:
    """What preceded an event that began at a step and was seen at another: each with `what`, the `metric`,
    the value `before` and the `value` then, and the `step`; a restart with the steps `since` it."""
    found = list(_restart(run, attempt, start_step))
    for key in sorted(run.series):
        told = _TOLD.get(role_of(key))
        if told is None or any(name == "rank" for name, _ in key.labels):
            continue
        step, value, onset = _around(run.series[key], attempt, start_step, seen_step)
        first = max(onset - _POINTS, 0)
        before = value[max(first - _BEFORE, 0) : first]
        if len(before) >= _FEWEST and first < len(value):
            one = told(before, value[first:], step[first:])
            found += [] if one is None else [{"what": role_of(key).value, "metric": key.metric, **one}]
    return found


def _around(series: Series, attempt: int, start: int, seen: int) -> tuple[IntArray, FloatArray, int]:
    """An attempt's steps and values up to the step at which the event was seen, and the row of its onset."""
    begun = rows_of_attempt(series, attempt).first
    first = max(rows_up_to(series, (attempt, start - 1)) - _FURTHEST, begun)
    rows = slice(first, rows_up_to(series, (attempt, seen)))
    known = np.isfinite(series.value[rows])
    step, value = series.step[rows][known], series.value[rows][known]
    return step, value, int(np.searchsorted(step, start))


def _restart(run: RunData, attempt: int, start_step: int) -> Iterator[Circumstance]:
    firsts = [
        int(series.step[span.first])
        for series in run.series.values()
        if (span := rows_of_attempt(series, attempt)).first < span.after
    ]
    if attempt > min((int(s.attempt[0]) for s in run.series.values() if len(s)), default=attempt) and firsts:
        since = start_step - min(firsts)
        if 0 <= since <= _RESTART_STEPS:
            yield {"what": "restart", "step": min(firsts), "since": since}


def _gradient(before: FloatArray, value: FloatArray, step: IntArray) -> Circumstance | None:
    usual = float(np.median(before))
    spread = 1.4826 * float(np.median(np.abs(before - usual)))
    at = int(np.argmax(value))
    if value[at] < _JUMP * usual or value[at] - usual < _CLEAR * spread:
        return None
    return {"before": usual, "value": float(value[at]), "step": int(step[at])}


def _rate(before: FloatArray, value: FloatArray, step: IntArray) -> Circumstance | None:
    old = float(before[-1])
    at = int(np.argmax(np.abs(value - old)))
    new = float(value[at])
    if max(new, old) > _RATE * min(new, old):
        return {"before": old, "value": new, "step": int(step[at])}
    # one that climbs little by little
    long_before, highest = float(before[0]), int(np.argmax(value))
    if value[highest] <= _RATE * long_before:
        return None
    return {"before": long_before, "value": float(value[highest]), "step": int(step[highest])}


def _scale(before: FloatArray, value: FloatArray, step: IntArray) -> Circumstance | None:
    at = int(np.argmin(value))
    old = float(before[-1])
    return None if value[at] >= old else {"before": old, "value": float(value[at]), "step": int(step[at])}


def _speed(before: FloatArray, value: FloatArray, step: IntArray) -> Circumstance | None:
    old, new = float(np.median(before)), float(np.median(value))
    return None if new >= _SPEED * old else {"before": old, "value": new, "step": int(step[0])}


def _share(before: FloatArray, value: FloatArray, step: IntArray) -> Circumstance | None:
    old, new = float(np.median(before)), float(np.median(value))
    spread = 1.4826 * float(np.median(np.abs(before - old)))
    if abs(new - old) < max(_SHARE, 3 * spread):
        return None
    return {"before": old, "value": new, "step": int(step[0])}


_TOLD: Mapping[Role, _Told] = {
    Role.GRAD_NORM: _gradient,
    Role.LEARNING_RATE: _rate,
    Role.LOSS_SCALE: _scale,
    Role.MIXTURE: _share,
    Role.THROUGHPUT: _speed,
}

"""What else changed around a moment: restarts, learning rate, batch size, data, gradient norm, loss scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from holter.detectors.positions import rows_of_attempt
from holter.roles import Role, role_of
from holter.types import FloatArray, RunData, Series

_RATE, _BATCH, _SHARE, _JUMP = 0.25, 0.02, 0.02, 3.0
"""What counts: a quarter of the learning rate, 2 % of the batch, 0.02 of a dataset's share, a gradient norm
at three times its median."""
_BEFORE = 64


def related_changes(run: RunData, attempt: int, from_step: int, to_step: int) -> dict[str, Any]:
    """What else changed in an attempt from one step to another, as evidence: names with numbers.

    `restarted`: steps since the attempt began. `learning_rate`, `batch_size`: before and after. `mixture`:
    the datasets whose share moved. `epoch`: one ended. `gradient_norm`: its largest value over its
    median. `loss_scale_halvings`: how often it was halved. Looks at nothing after `to_step`.
    """
    found: dict[str, Any] = {}
    spans = [(one, rows_of_attempt(one, attempt)) for one in run.series.values()]
    begins = [int(one.step[span.first]) for one, span in spans if span.first < span.after]
    if attempt > 0 and begins and from_step <= min(begins) <= to_step:
        found["restarted"] = to_step - min(begins)
    shares: list[str] = []
    for key in sorted(run.series):
        role = role_of(key)
        if role not in _LOOKS or any(name == "rank" for name, _ in key.labels):
            continue
        before, inside = _around(run.series[key], attempt, from_step, to_step)
        if not len(inside) or not len(before):
            continue
        told = _LOOKS[role](before, inside)
        if told is not None and role is Role.MIXTURE:
            shares.append(key.metric.rsplit("/", 1)[-1])
        elif told is not None:
            found.setdefault(_NAMES[role], told)
    return found | ({"mixture": shares} if shares else {})


def _around(series: Series, attempt: int, from_step: int, to_step: int) -> tuple[FloatArray, FloatArray]:
    """The last finite values up to `from_step`, and those after it up to `to_step`."""
    span = rows_of_attempt(series, attempt)
    begin, end = np.searchsorted(series.step[span.rows], (from_step, to_step), side="right").tolist()
    before = series.value[span.rows][max(begin - _BEFORE, 0) : begin]
    inside = series.value[span.rows][begin:end]
    return before[np.isfinite(before)], inside[np.isfinite(inside)]


def _moved(least: float, before: FloatArray, inside: FloatArray) -> list[float] | None:
    was, now = float(before[-1]), float(inside[-1])
    return [was, now] if abs(now - was) > least * max(abs(was), 1e-300) else None


def _rate(before: FloatArray, inside: FloatArray) -> list[float] | None:
    return _moved(_RATE, before, inside)


def _batch(before: FloatArray, inside: FloatArray) -> list[float] | None:
    return _moved(_BATCH, before, inside)


def _share(before: FloatArray, inside: FloatArray) -> list[float] | None:
    was, now = float(before[-1]), float(inside[-1])
    return [was, now] if abs(now - was) > _SHARE else None


def _epoch(before: FloatArray, inside: FloatArray) -> bool | None:
    return True if np.floor(before[-1]) != np.floor(inside[-1]) else None


def _jump(before: FloatArray, inside: FloatArray) -> float | None:
    usual = float(np.median(before))
    ratio = float(inside.max()) / usual if usual > 0 else 0.0
    return ratio if ratio > _JUMP else None


def _halvings(before: FloatArray, inside: FloatArray) -> float | None:
    highest, lowest = float(max(before[-1], inside.max())), float(inside.min())
    return round(float(np.log2(highest / lowest)), 1) if 0 < 2 * lowest <= highest else None


_LOOKS = {
    Role.LEARNING_RATE: _rate,
    Role.BATCH_SIZE: _batch,
    Role.MIXTURE: _share,
    Role.EPOCH: _epoch,
    Role.GRAD_NORM: _jump,
    Role.LOSS_SCALE: _halvings,
}
_NAMES = {
    Role.LEARNING_RATE: "learning_rate",
    Role.BATCH_SIZE: "batch_size",
    Role.EPOCH: "epoch",
    Role.GRAD_NORM: "gradient_norm",
    Role.LOSS_SCALE: "loss_scale_halvings",
}

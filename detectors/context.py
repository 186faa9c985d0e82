"""Finds what else changed around a step: restarts, learning rate, batch size, data, gradients, loss scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from holter.detectors.positions import rows_of_attempt
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import FloatArray, RunData, Series


@dataclass(frozen=True, kw_only=True)
class RelatedChangeThresholds(Thresholds):
    """From which size on a change of another metric is stated with a finding."""

    learning_rate: float = 0.25
    """Share of the learning rate. Schedules move it by far less within a few points."""
    batch_size: float = 0.02
    """Share of the batch size. Larger than the rounding of ragged batches."""
    dataset_share: float = 0.02
    """Difference of a dataset's share of the mixture. Larger than the noise of sampled shares."""
    gradient_norm: float = 3.0
    """Times the median of the gradient norm. Ordinary noise stays below."""
    points_before: int = 64
    """Points before the window from which values and medians are taken."""


_THRESHOLDS = RelatedChangeThresholds()


def related_changes(run: RunData, attempt: int, from_step: int, to_step: int) -> dict[str, Any]:
    """What else changed in an attempt from one step to another, as evidence.

    `restarted`: steps since the attempt began. `learning_rate`, `batch_size`: before and after. `mixture`:
    the datasets whose share changed. `epoch`: an epoch ended. `gradient_norm`: its largest value over its
    median. `loss_scale_halvings`: how often it was halved. Uses no point after `to_step`.
    """
    changes: dict[str, Any] = {}
    spans = [(series, rows_of_attempt(series, attempt)) for series in run.series.values()]
    starts = [int(series.step[span.first]) for series, span in spans if span.first < span.after]
    if attempt > 0 and starts and from_step <= min(starts) <= to_step:
        changes["restarted"] = to_step - min(starts)
    datasets: list[str] = []
    for key in sorted(run.series):
        role = role_of(key)
        if role not in _CHANGES or key.rank is not None:
            continue
        before, inside = _values_around(run.series[key], attempt, from_step, to_step)
        if not len(inside) or not len(before):
            continue
        change = _CHANGES[role](before, inside)
        if change is not None and role is Role.MIXTURE:
            datasets.append(key.metric.rsplit("/", 1)[-1])
        elif change is not None:
            changes.setdefault(_EVIDENCE_KEYS[role], change)
    return changes | ({"mixture": datasets} if datasets else {})


def _values_around(
    series: Series, attempt: int, from_step: int, to_step: int
) -> tuple[FloatArray, FloatArray]:
    """The last finite values up to `from_step`, and those after it up to `to_step`."""
    span = rows_of_attempt(series, attempt)
    begin, end = np.searchsorted(series.step[span.rows], (from_step, to_step), side="right").tolist()
    before = series.value[span.rows][max(begin - _THRESHOLDS.points_before, 0) : begin]
    inside = series.value[span.rows][begin:end]
    return before[np.isfinite(before)], inside[np.isfinite(inside)]


def _relative_change(least: float, before: FloatArray, inside: FloatArray) -> list[float] | None:
    old, new = float(before[-1]), float(inside[-1])
    return [old, new] if abs(new - old) > least * max(abs(old), 1e-300) else None


def _learning_rate(before: FloatArray, inside: FloatArray) -> list[float] | None:
    return _relative_change(_THRESHOLDS.learning_rate, before, inside)


def _batch_size(before: FloatArray, inside: FloatArray) -> list[float] | None:
    return _relative_change(_THRESHOLDS.batch_size, before, inside)


def _dataset_share(before: FloatArray, inside: FloatArray) -> list[float] | None:
    old, new = float(before[-1]), float(inside[-1])
    return [old, new] if abs(new - old) > _THRESHOLDS.dataset_share else None


def _epoch(before: FloatArray, inside: FloatArray) -> bool | None:
    return True if np.floor(before[-1]) != np.floor(inside[-1]) else None


def _gradient_norm(before: FloatArray, inside: FloatArray) -> float | None:
    median = float(np.median(before))
    ratio = float(inside.max()) / median if median > 0 else 0.0
    return ratio if ratio > _THRESHOLDS.gradient_norm else None


def _halvings(before: FloatArray, inside: FloatArray) -> float | None:
    highest, lowest = float(max(before[-1], inside.max())), float(inside.min())
    return round(float(np.log2(highest / lowest)), 1) if 0 < 2 * lowest <= highest else None


_CHANGES = {
    Role.LEARNING_RATE: _learning_rate,
    Role.BATCH_SIZE: _batch_size,
    Role.MIXTURE: _dataset_share,
    Role.EPOCH: _epoch,
    Role.GRAD_NORM: _gradient_norm,
    Role.LOSS_SCALE: _halvings,
}
_EVIDENCE_KEYS = {
    Role.LEARNING_RATE: "learning_rate",
    Role.BATCH_SIZE: "batch_size",
    Role.EPOCH: "epoch",
    Role.GRAD_NORM: "gradient_norm",
    Role.LOSS_SCALE: "loss_scale_halvings",
}

"""Gradient norms that vanish as the loss does: a model that has fitted its data has nothing left to learn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.positions import rows_of_attempt, rows_up_to
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, Kind, RunData, Series, SeriesKey


@dataclass(frozen=True, kw_only=True)
class FittedLossThresholds(Thresholds):
    """When a gradient norm vanished because the loss did."""

    share: float = 0.5
    """Part of the fall of the norm, both in logarithms, by which a loss fell with it: near a minimum the loss
    falls as the square of the gradient, that of a classifier as the gradient; it need not reach zero."""
    rows_before: int = 4
    """Rows before the fall that state the level of a loss."""


_THRESHOLDS = FittedLossThresholds()


def follows_fitted_loss(finding: Finding, run: RunData) -> bool:
    """Whether a gradient norm collapsed as a loss was fitted: decided by the rows up to its detection."""
    role = role_of(SeriesKey(finding.metric, finding.labels))
    if finding.kind is not Kind.METRIC_COLLAPSE or role is not Role.GRAD_NORM:
        return False
    norm = run.series[SeriesKey(finding.metric, finding.labels)]
    fall = _fall(norm, finding)
    losses = (series for key, series in run.series.items() if role_of(key) is Role.LOSS)
    return fall > 0 and any(_fall(loss, finding) >= _THRESHOLDS.share * fall for loss in losses)


def _fall(series: Series, finding: Finding) -> float:
    """The logarithm of the ratio of a series' medians before and since a finding's start, 0 if unknown."""
    span = rows_of_attempt(series, finding.attempt)
    start, after = (
        rows_up_to(series, (finding.attempt, step))
        for step in (finding.start_step - 1, finding.detected_step)
    )
    before, since = series.value[span.first : start], series.value[start:after]
    before, since = before[before > 0], since[since > 0]
    if len(before) < _THRESHOLDS.rows_before or len(since) == 0:
        return 0.0
    return float(np.log(np.median(before)) - np.log(np.median(since)))

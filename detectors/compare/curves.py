"""Curves of runs on an axis, as comparisons take them."""

from __future__ import annotations

import numpy as np

from holter.attempts.superseded import superseded_points
from holter.detectors.compare.axes import AxisSource, StepMap, XAxis
from holter.detectors.compare.significance import Curve
from holter.flops.levels import attempt_spans
from holter.types import Series


def curve_of(series: Series, axis: StepMap) -> Curve:
    """The finite points that no newer attempt superseded, by ascending x; empty without an axis."""
    if axis.source is AxisSource.MISSING or not len(series):
        return Curve(np.empty(0), np.empty(0))
    shown = np.isfinite(series.value)
    several = bool(series.attempt[0] != series.attempt[-1])
    if several:
        shown &= ~superseded_points(series.attempt, series.step, attempt_spans(series))
    if axis.axis is XAxis.STEP:
        x = series.step.astype(np.float64)
    else:
        x = np.empty(len(series))
        for span in attempt_spans(series):
            rows = slice(*np.searchsorted(series.attempt, (span.number, span.number + 1)).tolist())
            x[rows] = axis.x(span.number, series.step[rows], series.time[rows])
        shown &= np.isfinite(x)
    value = series.value
    if not shown.all():
        x, value = x[shown], value[shown]
    if np.any(x[1:] < x[:-1]):
        order = np.argsort(x, kind="stable")
        x, value = x[order], value[order]
    return Curve(x, value)

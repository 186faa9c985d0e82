"""TFLOPS and MFU as a run reports them, with its framework's way of counting; separate from Holter's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.flops.frameworks import Framework, ReportedQuantity, reported_metric
from holter.flops.launch_settings import newest_attempt, settings_of_attempt
from holter.flops.levels import CurveLevel, attempt_spans, level_of
from holter.types import FloatArray, RunData, Series

_ORDER = {ReportedQuantity.MFU: 0, ReportedQuantity.TFLOPS: 1}


@dataclass(frozen=True, eq=False, kw_only=True)
class ReportedFigure:
    """One reported series. `values` [n] are shares (MFU) or TFLOPS of one device, `level` is their level.

    `guessed`: whether the values are percents or shares was inferred from their size, since the name does
    not state it.
    """

    series: Series
    quantity: ReportedQuantity
    framework: Framework | None
    values: FloatArray
    level: CurveLevel | None
    guessed: bool = False


def reported_figures(run: RunData) -> list[ReportedFigure]:
    """The figures that a run reports: for each name one series, the one with the fewest labels."""
    metrics = frozenset(str(key.metric) for key in run.series)
    stated = settings_of_attempt(run.config, newest_attempt(run.config)).get(("framework", "log.framework"))
    figures: dict[str, ReportedFigure] = {}
    for key in sorted(run.series, key=lambda key: (len(key.labels), key)):
        metric = reported_metric(str(key.metric), metrics, stated if isinstance(stated, str) else None)
        series = None if metric is None or key.metric in figures else run.series[key]
        if metric is None or series is None or not len(series):
            continue
        scale = metric.scale if metric.scale is not None else _scale_by_size(series.value)
        figures[key.metric] = ReportedFigure(
            series=series,
            quantity=metric.quantity,
            framework=metric.framework,
            values=series.value * scale,
            level=level_of(series, series.value * scale, attempt_spans(series)),
            guessed=metric.scale is None,
        )
    return sorted(figures.values(), key=lambda figure: (_ORDER[figure.quantity], str(figure.series.key)))


def _scale_by_size(values: FloatArray) -> float:
    """0.01 for percents, 1 for shares: shares are below 1.5, percents of a run that trains at all above."""
    usable = values[np.isfinite(values) & (values > 0)]
    return 0.01 if len(usable) and float(np.median(usable)) > 1.5 else 1.0

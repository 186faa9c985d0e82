"""TFLOPS and MFU as a run reports them, with its framework's way of counting; separate from Holter's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holter.flops.frameworks import Framework, ReportedMetric, ReportedQuantity, reported_metric
from holter.flops.launch_settings import newest_attempt, settings_of_attempt
from holter.flops.levels import CurveLevel, attempt_spans, level_of
from holter.flops.mfu import OwnThroughput
from holter.types import FloatArray, RunData, Series

_PERCENT = 0.01
_HIGHEST_SHARE, _MOST = 1.5, 0.9
"""A share above which there is none, but for the first steps: that many of the values are below."""
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


def reported_figures(run: RunData, own: OwnThroughput) -> list[ReportedFigure]:
    """The figures that a run reports: for each name one series, the one with the fewest labels.

    `own` is what the run's speed allows: it shows whether an MFU without a unit is a share or percents.
    """
    metrics = frozenset(str(key.metric) for key in run.series)
    stated = settings_of_attempt(run.config, newest_attempt(run.config)).get(("framework", "log.framework"))
    named: dict[str, tuple[ReportedMetric, Series]] = {}
    for key in sorted(run.series, key=lambda key: (len(key.labels), key)):
        metric = reported_metric(str(key.metric), metrics, stated if isinstance(stated, str) else None)
        if metric is not None and key.metric not in named and len(run.series[key]):
            named[key.metric] = metric, run.series[key]
    figures: list[ReportedFigure] = []
    # TFLOPS first: next to the peak they show the unit of an MFU
    for metric, series in sorted(named.values(), key=lambda each: each[0].scale is None):
        scale = metric.scale
        if scale is None:
            scale = _scale_by_size(series.value, _likely_share(figures, own))
        figures.append(
            ReportedFigure(
                series=series,
                quantity=metric.quantity,
                framework=metric.framework,
                values=series.value * scale,
                level=level_of(series, series.value * scale, attempt_spans(series)),
                guessed=metric.scale is None,
            )
        )
    return sorted(figures, key=lambda figure: (_ORDER[figure.quantity], str(figure.series.key)))


def _likely_share(figures: Sequence[ReportedFigure], own: OwnThroughput) -> float | None:
    """The MFU as a share by the run's own speed, or else by the TFLOPS that it reports; None: unknown."""
    level, peak = own.level(own.mfu), own.launch.device.peak
    if level is not None:
        return level.typical
    tflops = (each.level for each in figures if each.quantity is ReportedQuantity.TFLOPS)
    reported = next((level.typical for level in tflops if level is not None), None)
    return None if reported is None or peak is None else reported / peak.tflops


def _scale_by_size(values: FloatArray, likely_share: float | None) -> float:
    """0.01 for percents, 1 for shares: whichever is nearer to the likely share.

    Where that is unknown, some values above 1 show percents, of a small model most are around 1; those of a
    first step may be timed too early.
    """
    usable = values[np.isfinite(values) & (values > 0)]
    if not len(usable):
        return 1.0
    typical = float(np.median(usable))
    if likely_share is not None and np.isfinite(likely_share) and likely_share > 0:
        of_share, of_percents = (abs(np.log(typical * scale / likely_share)) for scale in (1.0, _PERCENT))
        return _PERCENT if of_percents < of_share else 1.0
    return _PERCENT if typical > 1 or float(np.quantile(usable, _MOST)) > _HIGHEST_SHARE else 1.0

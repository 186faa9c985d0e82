"""TFLOPS and MFU as a run reports them, with how its framework counts: kept apart from Holter's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.flops.frameworks import Framework, Quantity, reports_of
from holter.flops.launch_settings import newest_attempt, told_of
from holter.flops.levels import Level, level_of, spans_of
from holter.types import FloatArray, RunData, Series

_BOTH = {Quantity.MFU: 0, Quantity.TFLOPS: 1}


@dataclass(frozen=True, eq=False, kw_only=True)
class Reported:
    """One reported series. `values` [n] are shares (MFU) or TFLOPS of one device; `level` is theirs.

    `guessed`: that it is percents, or a share, was told by its size, for its name does not say.
    """

    series: Series
    quantity: Quantity
    framework: Framework | None
    values: FloatArray
    level: Level | None
    guessed: bool = False


def reported_of(run: RunData) -> list[Reported]:
    """What a run reports of itself: of each quantity and name one series, that with the fewest labels."""
    beside = frozenset(str(key.metric) for key in run.series)
    stated = told_of(run.config, newest_attempt(run.config)).get(("framework", "log.framework"))
    found: dict[str, Reported] = {}
    for key in sorted(run.series, key=lambda key: (len(key.labels), key)):
        reports = reports_of(str(key.metric), beside, stated if isinstance(stated, str) else None)
        series = None if reports is None or key.metric in found else run.series[key]
        if reports is None or series is None or not len(series):
            continue
        scale = reports.scale if reports.scale is not None else _told_by_size(series.value)
        found[key.metric] = Reported(
            series=series,
            quantity=reports.quantity,
            framework=reports.framework,
            values=series.value * scale,
            level=level_of(series, series.value * scale, spans_of(series)),
            guessed=reports.scale is None,
        )
    return sorted(found.values(), key=lambda one: (_BOTH[one.quantity], str(one.series.key)))


def _told_by_size(values: FloatArray) -> float:
    """Shares lie below 1.5; percents of a run that trains at all above."""
    usable = values[np.isfinite(values) & (values > 0)]
    return 0.01 if len(usable) and float(np.median(usable)) > 1.5 else 1.0

"""The present trend of a run's loss or reward, and since when it is NaN or infinite: from stored points."""

from __future__ import annotations

import numpy as np

from holter.json_values import number, time_or_none
from holter.server.schemas.runs import LossTrend
from holter.server.store import ReducedSeries, SeriesSummary, Store
from holter.types import FloatArray, IntArray

TREND_SHARE = 0.1
"""Share of the newest steps over which the trend is measured."""
_MIN_POINTS, _MIN_STEPS = 8, 100
_POINTS = 2000
"""Points of the reduced series: the means of half as many bins."""
_ERRORS = 2.0
"""Standard errors that a slope must exceed; a smaller one is no trend."""


def loss_trend(store: Store, run_id: int, series: SeriesSummary) -> LossTrend:
    """The trend of a loss or a reward over the last tenth of its steps, as change per 1,000 steps.

    `slope` is None with too few points, or if the newest value is not finite; 0 within twice its standard
    error, so that noise is no trend.
    """
    span = series.last_step - series.first_step
    begin = series.last_step - int(TREND_SHARE * span)
    broken = not np.isfinite(series.last_value)
    (reduced,) = store.chart(run_id, [series.key], from_step=None if broken else begin, points=_POINTS) or (
        None,
    )
    last_step, last_value, last_time = (None, None, None) if reduced is None else _last_finite(reduced)
    return {
        "metric": str(series.key),
        "slope": None if broken or reduced is None else _slope(*_means(reduced)),
        "from_step": begin,
        "to_step": series.last_step,
        "last_finite": None if last_value is None else number(last_value),
        "last_finite_step": last_step,
        "last_finite_time": last_time,
        "nonfinite_since": _nonfinite_since(reduced, last_step) if broken and reduced is not None else None,
    }


def _means(reduced: ReducedSeries) -> tuple[IntArray, FloatArray]:
    """Steps and means of the bins of the timeline, or its points if there are few."""
    segments = [segment for segment in reduced.segments if not segment.ghost]
    steps = [segment.step if segment.band is None else segment.band.step for segment in segments]
    values = [segment.value if segment.band is None else segment.band.mean for segment in segments]
    return (
        np.concatenate([np.empty(0, np.int64), *steps]),
        np.concatenate([np.empty(0), *values]),
    )


def _slope(steps: IntArray, values: FloatArray) -> float | None:
    """The slope of the least-squares line, per 1,000 steps; None where there is none that can be stated."""
    if len(steps) < _MIN_POINTS or steps[-1] - steps[0] < _MIN_STEPS // 10:
        return None
    x = steps - steps.mean()
    with np.errstate(over="ignore", invalid="ignore"):
        y = values - values.mean()
    across = float(x @ x)
    if across == 0 or not np.isfinite(across):
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # values up to 1e308 are accepted
        slope = float(x @ y) / across
        residual = y - slope * x
        error = float(np.sqrt(float(residual @ residual) / (len(x) - 2) / across))
    if not (np.isfinite(slope) and np.isfinite(error)):
        return None
    return 1000 * slope if abs(slope) > _ERRORS * error else 0.0


def _last_finite(reduced: ReducedSeries) -> tuple[int | None, float | None, float | None]:
    """Step, value and time of the last finite point of the timeline."""
    newest = [segment for segment in reduced.segments if not segment.ghost and len(segment.step)]
    if not newest:
        return None, None, None
    last = max(newest, key=lambda segment: (segment.attempt, int(segment.step[-1])))
    return int(last.step[-1]), float(last.value[-1]), time_or_none(float(last.time[-1]))


def _nonfinite_since(reduced: ReducedSeries, last_finite: int | None) -> int | None:
    """The first step after the last finite one that has a NaN or an infinity."""
    newest = max((attempt for attempt, _, _ in reduced.nonfinite), default=None)
    steps = [step for attempt, step, _ in reduced.nonfinite if attempt == newest]
    after = [step for step in steps if last_finite is None or step > last_finite]
    if after:
        return min(after)
    return None if last_finite is None else last_finite + 1  # only the first thousand are listed

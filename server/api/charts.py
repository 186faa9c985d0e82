"""Routes of chart data: series over a range of steps, reduced without losing extremes; newest points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import msgspec
import numpy as np
from fastapi import APIRouter, Query, Request
from msgspec import Raw
from numpy.typing import NDArray

from holter.json_values import nonfinite_text, number
from holter.server.api.responses import (
    MSGPACK,
    RUN_NOT_FOUND,
    ApiResponse,
    MsgpackResponse,
    field_errors_response,
)
from holter.server.context import Context
from holter.server.ingest_http.json_body import MAX_STEP
from holter.server.read_models.chart_budget import read_limited_chart
from holter.server.read_models.chart_layout import metric_charts
from holter.server.read_models.series_grid import read_grid
from holter.server.schemas.points import (
    AttemptRange,
    ChartCurve,
    ChartData,
    ChartSegment,
    LatestPoints,
    MetricCharts,
    NonfinitePoint,
    SeriesGrid,
)
from holter.server.store import CurveSegment, ReducedSeries, Store
from holter.types import FloatArray, Labels, labels_of

MAX_SERIES = 500
POINTS_LIMIT = 100_000

Column = Callable[[NDArray[Any]], Any]
"""Encodes a column of numbers: as a list for JSON, as a buffer for msgpack."""
_MSGPACK_CONTENT = {MSGPACK: {"schema": {"type": "string", "format": "binary"}}}

router = APIRouter(tags=["runs"])


@router.get(
    "/runs/{run_id}/data",
    responses={200: {"model": ChartData, "content": _MSGPACK_CONTENT}, **RUN_NOT_FOUND},
)
def read_chart(
    request: Request,
    run_id: str,
    context: Context,
    metric: Annotated[list[str], Query(min_length=1, description="Once for each metric")],
    labels: Annotated[
        str | None, Query(description='A JSON object, e.g. {"rank": 3}: only these series')
    ] = None,
    from_step: Annotated[int | None, Query(alias="from", ge=-MAX_STEP, le=MAX_STEP)] = None,
    to_step: Annotated[int | None, Query(alias="to", ge=-MAX_STEP, le=MAX_STEP)] = None,
    points: Annotated[
        int, Query(ge=10, le=POINTS_LIMIT, description="Approximate number of points per series")
    ] = 1000,
) -> ApiResponse:
    """Series over a range of steps. Every minimum and maximum is among the points or in the band.

    Without `labels`, all series of a metric; metrics that the run does not have are left out. Of many series
    each has fewer points than requested: all of an answer have about 500,000. With
    `Accept: application/msgpack`, columns of numbers are buffers: see docs/rest.md.
    """
    try:
        selected = _parse_labels(labels)
    except ValueError as error:
        return field_errors_response([(("query", "labels"), str(error))])
    internal = context.runs.run_id(run_id)
    keys = context.runs.keys(internal, metric, selected)
    if len(keys) > MAX_SERIES:
        reason = f"these are {len(keys)} series, expected at most {MAX_SERIES}: name labels, or fewer metrics"
        return field_errors_response([(("query", "metric"), reason)])
    limited = read_limited_chart(
        context.store, internal, keys, from_step=from_step, to_step=to_step, points=points
    )
    binary = _accepts_msgpack(request)
    column = _buffer if binary else _encoded_list
    chart: ChartData = {
        "run_id": run_id,
        "attempts": [
            AttemptRange(number=each.number, first_step=each.first_step, last_step=each.last_step)
            for each in context.store.attempts(internal)
        ],
        "points": limited.points,
        "series": _chart_curves(context.store, limited.series, column),
    }
    return _response(chart, binary=binary)


@router.get("/runs/{run_id}/charts", responses={200: {"model": MetricCharts}, **RUN_NOT_FOUND})
def list_charts(run_id: str, context: Context) -> ApiResponse:
    """A chart for every metric of a run, in sections by role and by the first part of the name."""
    return ApiResponse(MetricCharts(charts=metric_charts(context.store.series(context.runs.run_id(run_id)))))


@router.get(
    "/runs/{run_id}/grid",
    responses={200: {"model": SeriesGrid, "content": _MSGPACK_CONTENT}, **RUN_NOT_FOUND},
)
def read_series_grid(
    request: Request,
    run_id: str,
    context: Context,
    metric: Annotated[str, Query(min_length=1, description="The metric whose series are the rows")],
    from_step: Annotated[int | None, Query(alias="from", ge=-MAX_STEP, le=MAX_STEP)] = None,
    to_step: Annotated[int | None, Query(alias="to", ge=-MAX_STEP, le=MAX_STEP)] = None,
    columns: Annotated[int, Query(ge=1, le=2000, description="Intervals of steps")] = 300,
) -> ApiResponse:
    """The series of one metric as a heat map of rows (ranks, as numbers) and intervals of steps.

    With `Accept: application/msgpack`, values are buffers of 32-bit floats.
    """
    internal = context.runs.run_id(run_id)
    keys = context.runs.keys(internal, [metric], None)
    grid = read_grid(context.store, internal, keys, from_step=from_step, to_step=to_step, columns=columns)
    binary = _accepts_msgpack(request)
    values: Column = _float_buffer if binary else _finite_list
    content = {
        "run_id": run_id,
        "metric": metric,
        "first_step": grid.first_step,
        "last_step": grid.last_step,
        "columns": columns,
        "rows_total": len(keys),
        "labels": [dict(key.labels) for key in grid.keys],
        "mean": values(grid.mean),
        "minimum": values(grid.minimum),
        "maximum": values(grid.maximum),
    }
    return _response(content, binary=binary)


def _float_buffer(column: NDArray[Any]) -> Any:
    return np.ascontiguousarray(column, dtype="<f4").data.cast("B")


def _finite_list(column: NDArray[Any]) -> Raw:
    """Finite values in the order of rows; null for others."""
    flat = column.astype(np.float64).ravel()
    items: list[float | None] = [*flat.tolist()]
    for index in np.flatnonzero(~np.isfinite(flat)).tolist():
        items[index] = None
    return Raw(msgspec.json.encode(items))


@router.get(
    "/runs/{run_id}/latest",
    responses={200: {"model": LatestPoints, "content": _MSGPACK_CONTENT}, **RUN_NOT_FOUND},
)
def read_latest_points(request: Request, run_id: str, context: Context) -> ApiResponse:
    """The newest point of every series of a run, as columns in the order of the series' names.

    With `Accept: application/msgpack`, columns of numbers are buffers: see docs/rest.md.
    """
    newest = context.store.newest_points(context.runs.run_id(run_id))
    binary = _accepts_msgpack(request)
    column: Column = _buffer if binary else _json_column
    metrics, labels = newest.names.as_msgpack if binary else newest.names.as_json
    value = _buffer(newest.value) if binary else _json_column(newest.value, _json_values)
    # not checked as LatestPoints: the columns are encoded already
    content = {
        "run_id": run_id,
        "metric": Raw(metrics),
        "labels": Raw(labels),
        "attempt": column(newest.attempt),
        "step": column(newest.step),
        "time": column(newest.time),
        "value": value,
    }
    return _response(content, binary=binary)


def _accepts_msgpack(request: Request) -> bool:
    return MSGPACK in request.headers.get("accept", "")


def _response(content: Mapping[str, Any], *, binary: bool) -> ApiResponse:
    response = MsgpackResponse(content) if binary else ApiResponse(content)
    response.headers["Vary"] = "Accept"
    return response


def _json_column(column: NDArray[Any], to_list: Column = np.ndarray.tolist) -> Raw:
    """A column as JSON; a value that is the same in all rows, as most steps are, is encoded only once."""
    bits = column.view(np.int64)
    if not len(bits) or np.any(bits != bits[0]):
        return Raw(msgspec.json.encode(to_list(column)))
    item = msgspec.json.encode(to_list(column[:1]))[1:-1]
    return Raw(b"[" + b",".join([item] * len(bits)) + b"]")


def _json_values(values: FloatArray) -> list[float | str]:
    """Values with NaN and infinities as strings."""
    items: list[float | str] = values.tolist()
    for index in np.flatnonzero(~np.isfinite(values)).tolist():
        items[index] = number(float(values[index]))
    return items


def _encoded_list(column: NDArray[Any]) -> Raw:
    """A column as JSON. Encoded column by column, as other threads wait for as long as one encoding takes."""
    return Raw(msgspec.json.encode(column.tolist()))


def _buffer(column: NDArray[Any]) -> Any:
    """Little-endian numbers of 64 bits: integers for steps, floats otherwise."""
    return np.ascontiguousarray(column, dtype="<i8" if column.dtype.kind == "i" else "<f8").data


def _parse_labels(text: str | None) -> Labels | None:
    """The labels of a query; None for any labels. Raises ValueError."""
    if text is None:
        return None
    try:
        labels = labels_of(msgspec.json.decode(text, type=dict[str, str | int | float | bool]))
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ValueError(f"expected a JSON object of names and values: {error}") from error
    if any("\0" in name + value for name, value in labels):
        raise ValueError("expected text without NUL")
    return labels


def _chart_curves(store: Store, chart: Iterable[ReducedSeries], column: Column) -> list[ChartCurve]:
    curves = []
    for series in chart:
        store.check_open()  # encoding hundreds of series would delay the end of a server that is stopping
        curves.append(_chart_curve(series, column))
    return curves


def _chart_curve(series: ReducedSeries, column: Column) -> ChartCurve:
    return {
        "metric": series.key.metric,
        "labels": dict(series.key.labels),
        "count": series.count,
        "reduced": series.reduced,
        "segments": [_chart_segment(segment, column) for segment in series.segments],
        "nonfinite": [_nonfinite_point(*point) for point in series.nonfinite],
        "nonfinite_count": series.nonfinite_count,
        "thinned": series.downsampled,
    }


def _nonfinite_point(attempt: int, step: int, value: float) -> NonfinitePoint:
    return {"attempt": int(attempt), "step": int(step), "value": nonfinite_text(float(value))}


def _chart_segment(segment: CurveSegment, column: Column) -> ChartSegment:
    band = segment.band
    return {
        "attempt": segment.attempt,
        "ghost": segment.ghost,
        "step": column(segment.step),
        "time": column(segment.time),
        "value": column(segment.value),
        "band": None
        if band is None
        else {
            "step": column(band.step),
            "minimum": column(band.minimum),
            "maximum": column(band.maximum),
            "mean": column(band.mean),
        },
    }

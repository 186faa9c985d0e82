"""Data of charts: series over a range of steps, reduced without losing an extreme."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import numpy as np
from fastapi import APIRouter, Query, Request
from msgspec import Raw
from numpy.typing import NDArray

from holter.json_values import number
from holter.server.api.responses import MSGPACK, ApiResponse, MsgpackResponse, field_errors_response
from holter.server.context import Context
from holter.server.ingest_http.json_body import MAX_STEP
from holter.server.schemas.points import ChartData, LatestPoints
from holter.server.schemas.service import Problem
from holter.server.store import CurveSegment, ReducedSeries
from holter.types import FloatArray, Labels, labels_of

SERIES_LIMIT = 500
POINTS_LIMIT = 100_000

_BUFFERS = {MSGPACK: {"schema": {"type": "string", "format": "binary"}}}

router = APIRouter(tags=["runs"])


@router.get(
    "/runs/{run_id}/data",
    responses={
        200: {"model": ChartData, "content": _BUFFERS},
        404: {"model": Problem, "description": "There is no such run"},
    },
)
def chart_data(
    request: Request,
    run_id: str,
    context: Context,
    metric: Annotated[list[str], Query(min_length=1, description="Once for each metric wanted")],
    labels: Annotated[
        str | None, Query(description='A JSON object, e.g. {"rank": 3}: only these series')
    ] = None,
    from_step: Annotated[int | None, Query(alias="from", ge=-MAX_STEP, le=MAX_STEP)] = None,
    to_step: Annotated[int | None, Query(alias="to", ge=-MAX_STEP, le=MAX_STEP)] = None,
    points: Annotated[int, Query(ge=10, le=POINTS_LIMIT, description="About how many, each series")] = 1000,
) -> ApiResponse:
    """Series over a range of steps. Every minimum and maximum is among the points or in the band.

    Without `labels`, all series of a metric; metrics that the run does not have are left out. With
    `Accept: application/msgpack`, columns of numbers are buffers: see docs/rest.md.
    """
    wanted = _labels(labels)
    if isinstance(wanted, str):
        return field_errors_response([(("query", "labels"), wanted)])
    internal = context.runs.run_id(run_id)
    keys = context.runs.keys(internal, metric, wanted)
    if len(keys) > SERIES_LIMIT:
        reason = (
            f"these are {len(keys)} series, expected at most {SERIES_LIMIT}: name labels, or fewer metrics"
        )
        return field_errors_response([(("query", "metric"), reason)])
    drawn = context.store.chart(internal, keys, from_step=from_step, to_step=to_step, points=points)
    attempts = context.store.attempts(internal)
    binary = MSGPACK in request.headers.get("accept", "")
    column = _buffer if binary else _list
    content = {
        "run_id": run_id,
        "attempts": [
            {"number": one.number, "first_step": one.first_step, "last_step": one.last_step}
            for one in attempts
        ],
        "series": [_series(one, column) for one in drawn],
    }
    return _answer(content, binary=binary)


@router.get(
    "/runs/{run_id}/latest",
    responses={
        200: {
            "model": LatestPoints,
            "content": {MSGPACK: {"schema": {"type": "string", "format": "binary"}}},
        },
        404: {"model": Problem, "description": "There is no such run"},
    },
)
def latest_points(request: Request, run_id: str, context: Context) -> ApiResponse:
    """The newest point of every series of a run, as columns in the order of the series' names.

    With `Accept: application/msgpack`, columns of numbers are buffers: see docs/rest.md.
    """
    newest = context.store.newest_points(context.runs.run_id(run_id))
    binary = MSGPACK in request.headers.get("accept", "")
    column = _buffer if binary else _text
    metrics, labels = newest.names.as_msgpack if binary else newest.names.as_json
    content = {
        "run_id": run_id,
        "metric": Raw(metrics),
        "labels": Raw(labels),
        "attempt": column(newest.attempt),
        "step": column(newest.step),
        "time": column(newest.time),
        "value": _buffer(newest.value) if binary else _text(newest.value, _words),
    }
    return _answer(content, binary=binary)


def _answer(content: dict[str, Any], *, binary: bool) -> ApiResponse:
    answer = MsgpackResponse(content) if binary else ApiResponse(content)
    answer.headers["Vary"] = "Accept"
    return answer


def _text(column: NDArray[Any], listed: Callable[[NDArray[Any]], Any] = np.ndarray.tolist) -> Raw:
    """A column as JSON text; where it is the same everywhere, as most steps are, that is written once."""
    bits = column.view(np.int64)
    if not len(bits) or np.any(bits != bits[0]):
        return Raw(msgspec.json.encode(listed(column)))
    one = msgspec.json.encode(listed(column[:1]))[1:-1]
    return Raw(b"[" + b",".join([one] * len(bits)) + b"]")


def _words(values: FloatArray) -> list[float | str | None]:
    """Values as JSON has them: NaN and infinities as strings."""
    found: list[float | str | None] = values.tolist()
    for place in np.flatnonzero(~np.isfinite(values)).tolist():
        found[place] = number(float(values[place]))
    return found


def _list(column: NDArray[Any]) -> Any:
    return column.tolist()


def _buffer(column: NDArray[Any]) -> Any:
    """64 bits each, little-endian: whole numbers for steps, floats for the rest."""
    return np.ascontiguousarray(column, dtype="<i8" if column.dtype.kind == "i" else "<f8").data


def _labels(text: str | None) -> Labels | str | None:
    """The labels asked for, None for any, or what was expected of them."""
    if text is None:
        return None
    try:
        found = labels_of(msgspec.json.decode(text, type=dict[str, str | int | float | bool]))
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        return f"expected a JSON object of names and values: {error}"
    if any("\0" in name + value for name, value in found):
        return "expected text without NUL"
    return found


def _series(one: ReducedSeries, column: Callable[[NDArray[Any]], Any]) -> dict[str, Any]:
    return {
        "metric": one.key.metric,
        "labels": dict(one.key.labels),
        "count": one.count,
        "reduced": one.reduced,
        "segments": [_segment(segment, column) for segment in one.segments],
        "nonfinite": [
            {"attempt": int(attempt), "step": int(step), "value": number(float(value))}
            for attempt, step, value in one.nonfinite
        ],
        "nonfinite_count": one.nonfinite_count,
        "thinned": one.downsampled,
    }


def _segment(segment: CurveSegment, column: Callable[[NDArray[Any]], Any]) -> dict[str, Any]:
    band = segment.band
    return {
        "attempt": segment.attempt,
        "ghost": segment.ghost,
        "step": column(segment.step),
        "time": column(segment.time),
        "value": column(segment.value),
        "band": band
        and {name: column(getattr(band, name)) for name in ("step", "minimum", "maximum", "mean")},
    }

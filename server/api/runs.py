"""Routes about one run: details, series, end, export, deletion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from holter.json_values import number, time_or_none
from holter.server.api.responses import RUN_NOT_FOUND, ApiResponse, ResponseDocs, field_errors_response
from holter.server.context import Context, ServerContext
from holter.server.import_export.export import open_export
from holter.server.import_export.file_formats import MEDIA, MissingPyarrowError, require_pyarrow
from holter.server.live import run_event
from holter.server.schemas.points import SeriesInfo, SeriesList
from holter.server.schemas.runs import RunDetail
from holter.server.store import SeriesSummary
from holter.server.store.keys import storable_text
from holter.tuning import Tuning

_FILE: ResponseDocs = {
    200: {"content": {media: {} for media in MEDIA.values()}, "description": "The file, streamed"}
}
ExportFormat = Literal["csv", "json", "parquet"]

router = APIRouter(tags=["runs"])


@router.get("/runs/{run_id}", responses={200: {"model": RunDetail}, **RUN_NOT_FOUND})
def read_run(run_id: str, context: Context) -> ApiResponse:
    """A run with its configuration, its first charts, and the cost of rollbacks."""
    return ApiResponse(context.runs.run(run_id))


@router.post("/runs/{run_id}/finish", responses={200: {"model": RunDetail}, **RUN_NOT_FOUND})
def finish_run(run_id: str, context: Context) -> ApiResponse:
    """Mark a run as finished, so that its silence is no stall. Later points make it a running one again."""
    context.analysis.request_analysis(context.runs.finish(run_id))
    context.live.publish(run_event(run_id))
    return ApiResponse(context.runs.run(run_id))


class StopReason(BaseModel):
    """Who asks a run to stop, and why; without `by`, it is the user who is logged in."""

    model_config = ConfigDict(extra="forbid")

    by: str | None = Field(default=None, max_length=200)
    reason: str | None = Field(default=None, max_length=2000)


def who_and_why(
    context: ServerContext, request: Request, body: StopReason | None
) -> tuple[str | None, str | None]:
    """Who asks a run for something, and the reason, as they can be stored."""
    body = body or StopReason()
    by = body.by or context.authenticator.user(request.headers)
    by, reason = (None if text is None else storable_text(text) for text in (by, body.reason))
    return by, reason


@router.post("/runs/{run_id}/stop", responses={200: {"model": RunDetail}, **RUN_NOT_FOUND})
def stop_run(run_id: str, context: Context, request: Request, body: StopReason | None = None) -> ApiResponse:
    """Ask the run's client to stop. It ends within about 30 s where it is one that can be asked."""
    by, reason = who_and_why(context, request, body)
    context.run_details.request_stop(context.runs.run_id(run_id), by=by, reason=reason)
    context.live.publish(run_event(run_id))
    return ApiResponse(context.runs.run(run_id))


@router.delete("/runs/{run_id}/stop", responses={200: {"model": RunDetail}, **RUN_NOT_FOUND})
def withdraw_stop(run_id: str, context: Context) -> ApiResponse:
    """Withdraw a request to stop. A client that has seen it stops nevertheless."""
    context.run_details.withdraw_stop(context.runs.run_id(run_id))
    context.live.publish(run_event(run_id))
    return ApiResponse(context.runs.run(run_id))


@router.get("/runs/{run_id}/series", responses={200: {"model": SeriesList}, **RUN_NOT_FOUND})
def list_series(run_id: str, context: Context, q: str | None = None) -> ApiResponse:
    """The series of a run by name. `q`: part of the metric's name or a label."""
    internal = context.runs.run_id(run_id)
    tuning = context.planned_events.display_tuning(context.planned_events.project_of(internal))
    part = (q or "").lower()
    matches = [
        summary for summary in context.store.series(internal) if not part or part in str(summary.key).lower()
    ]
    return ApiResponse(SeriesList(series=[_series_info(summary, tuning) for summary in matches]))


def _series_info(summary: SeriesSummary, tuning: Tuning) -> SeriesInfo:
    return {
        "metric": summary.key.metric,
        "labels": dict(summary.key.labels),
        "role": tuning.role(summary.key).value,
        "points": summary.points,
        "logged": summary.logged,
        "first_step": summary.first_step,
        "last_step": summary.last_step,
        "last_time": time_or_none(summary.last_time),
        "last_value": number(summary.last_value),
        "minimum": time_or_none(summary.minimum),
        "maximum": time_or_none(summary.maximum),
        "nonfinite": summary.nonfinite,
    }


@router.get("/runs/{run_id}/export", responses={**_FILE, **RUN_NOT_FOUND}, response_class=StreamingResponse)
def download_run(run_id: str, context: Context, format: ExportFormat = "csv") -> Response:
    """Export a run exactly as it is stored (docs/maintenance.md)."""
    number = context.runs.run_id(run_id)
    try:
        require_pyarrow(format)
    except MissingPyarrowError as error:
        return field_errors_response([(("query", "format"), str(error))])
    disposition = f'attachment; filename="{run_id}.{format}"'
    return StreamingResponse(
        _content(context, number, format),
        media_type=MEDIA[format],
        headers={"Content-Disposition": disposition},
    )


def _content(context: ServerContext, run_id: int, format: ExportFormat) -> Iterator[bytes]:
    with open_export(context.engine, run_id, format) as export:
        yield from export.content


@router.delete("/runs/{run_id}", status_code=204, responses=RUN_NOT_FOUND, response_class=Response)
def delete_run(run_id: str, context: Context) -> Response:
    """Delete a run with all its data, for good. Points that arrive later make a new run."""
    context.maintenance.delete(context.runs.run_id(run_id))
    context.live.publish(run_event(run_id))
    return Response(status_code=204)

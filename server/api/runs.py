"""What becomes of a run as a whole: taken out as a file, or deleted.

Runs: the overview, one run, its series, its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from fastapi import APIRouter
from starlette.responses import Response, StreamingResponse

from holter.json_values import number, time_or_none
from holter.server.api.responses import ApiResponse, field_errors_response
from holter.server.context import Context, ServerContext
from holter.server.import_export.export import MEDIA, MissingPyarrowError, exported, need_pyarrow
from holter.server.live import run_event
from holter.server.schemas.points import SeriesList
from holter.server.schemas.runs import RunDetail, RunList, RunState
from holter.server.schemas.service import Problem

router = APIRouter(tags=["runs"])
NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "There is no such run"}}


@router.get("/runs", responses={200: {"model": RunList}})
def list_runs(
    context: Context, project: str | None = None, state: RunState | None = None, q: str | None = None
) -> ApiResponse:
    """Every run, the one with the newest points first. `q`: part of the run's or project's name."""
    runs = context.runs.runs(project=project, state=state, q=q)
    return ApiResponse({"runs": [_with_numbers(run) for run in runs]})


@router.get("/runs/{run_id}", responses={200: {"model": RunDetail}, **NOT_FOUND})
def one_run(run_id: str, context: Context) -> ApiResponse:
    """One run with its configuration, the charts to begin with, and what rollbacks cost."""
    return ApiResponse(_with_numbers(context.runs.run(run_id)))


@router.post("/runs/{run_id}/finish", responses={200: {"model": RunDetail}, **NOT_FOUND})
def finish_run(run_id: str, context: Context) -> ApiResponse:
    """Say that a run has ended: silence is no longer a stall. Points that come later open it again."""
    context.analysis.look_soon(context.runs.finish(run_id))
    context.live.tell(run_event(run_id))
    return ApiResponse(_with_numbers(context.runs.run(run_id)))


@router.get("/runs/{run_id}/series", responses={200: {"model": SeriesList}, **NOT_FOUND})
def list_series(run_id: str, context: Context, q: str | None = None) -> ApiResponse:
    """The series of a run by name. `q`: part of the metric's name or a label."""
    wanted = (q or "").lower()
    internal = context.runs.run_id(run_id)
    told = context.planned_events.on_the_pages(context.planned_events.project_of(internal))
    summaries = context.store.series(internal)
    return ApiResponse(
        {
            "series": [
                {
                    "metric": one.key.metric,
                    "labels": dict(one.key.labels),
                    "role": told.role(one.key).value,
                    "points": one.points,
                    "logged": one.logged,
                    "first_step": one.first_step,
                    "last_step": one.last_step,
                    "last_time": time_or_none(one.last_time),
                    "last_value": number(one.last_value),
                    "minimum": time_or_none(one.minimum),
                    "maximum": time_or_none(one.maximum),
                    "nonfinite": one.nonfinite,
                }
                for one in summaries
                if not wanted or wanted in str(one.key).lower()
            ]
        }
    )


def _with_numbers(run: dict[str, Any]) -> dict[str, Any]:
    latest = {
        role: point and {**point, "value": number(point["value"])} for role, point in run["latest"].items()
    }
    return {**run, "latest": latest}


_NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "There is no such run"}}
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {media: {} for media in MEDIA.values()}, "description": "The file, as it is made"}
}
Form = Literal["csv", "jsonl", "json", "parquet", "arrow"]


@router.get("/runs/{run_id}/export", responses={**_FILE, **_NOT_FOUND}, response_class=StreamingResponse)
def export_run(run_id: str, context: Context, format: Form = "csv") -> Response:
    """A run exactly as it is stored, as a file (docs/keeping.md)."""
    number = context.runs.run_id(run_id)
    try:
        need_pyarrow(format)
    except MissingPyarrowError as error:
        return field_errors_response([(("query", "format"), str(error))])
    name = f'attachment; filename="{run_id}.{format}"'
    return StreamingResponse(
        _content(context, number, format), media_type=MEDIA[format], headers={"Content-Disposition": name}
    )


def _content(context: ServerContext, number: int, form: str) -> Iterator[bytes]:
    with exported(context.engine, number, form) as one:
        yield from one.content


@router.delete("/runs/{run_id}", status_code=204, responses=_NOT_FOUND, response_class=Response)
def delete_run(run_id: str, context: Context) -> Response:
    """Delete a run with everything that belongs to it, for good. What is sent later is another run."""
    context.maintenance.delete(context.runs.run_id(run_id))
    context.live.tell(run_event(run_id))
    return Response(status_code=204)

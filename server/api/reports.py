"""Routes of reports: of a run, and of a project's week, as HTML pages that need nothing else."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from holter.server.api.responses import RUN_NOT_FOUND, ResponseDocs, field_errors_response
from holter.server.context import Context
from holter.server.read_models.incident_context import IncidentContextReader
from holter.server.reports.run_report import RunReports
from holter.server.reports.week_report import WeekError, WeekReports, week_of

_PAGE: ResponseDocs = {200: {"content": {"text/html": {}}, "description": "The page"}}

router = APIRouter(tags=["reports"])


@router.get("/runs/{run_id}/report", responses={**_PAGE, **RUN_NOT_FOUND}, response_class=Response)
def read_run_report(run_id: str, context: Context) -> Response:
    """The report of a run: strip, figures, events with curves and advice, changes, configuration."""
    events = IncidentContextReader(context.engine, context.store, context.planned_events)
    reports = RunReports(context.engine, context.store, context.runs, events)
    html = reports.html(run_id, now=context.clock())
    name = f'inline; filename="holter-{run_id}.html"'
    return Response(html, media_type="text/html", headers={"Content-Disposition": name})


@router.get("/projects/{name}/report", responses=_PAGE, response_class=Response)
def read_week_report(
    name: str,
    context: Context,
    week: Annotated[
        str | None, Query(max_length=10, description="Such as 2026-W47; default: this week")
    ] = None,
) -> Response:
    """The weekly page of a project: its runs of the week, their strips and goodput, and its incidents."""
    now = context.clock()
    try:
        html = WeekReports(context.engine, context.runs).html(name, week or week_of(now), now=now)
    except WeekError as error:
        return field_errors_response([(("query", "week"), str(error))])
    return Response(html, media_type="text/html")

"""Routes about planned events of runs and projects, which open no incidents."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request

from holter.server.api.responses import RUN_NOT_FOUND, ApiResponse, not_found
from holter.server.context import Context
from holter.server.schemas.incidents import PlannedEventList, PlannedEventOverview, PlannedEventView
from holter.tuning import PlannedEvent

EventNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]
PROJECT_NOT_FOUND = not_found("There is no such project")
EVENT_NOT_FOUND = not_found("There is no such planned event")

router = APIRouter(tags=["expected events"])


@router.get("/expected", responses={200: {"model": PlannedEventOverview}})
def list_all(context: Context) -> ApiResponse:
    """The planned events of all projects and runs, the newest first."""
    return ApiResponse(PlannedEventOverview(expected=context.planned_events.list_all()))


@router.get("/runs/{run_id}/expected", responses={200: {"model": PlannedEventList}, **RUN_NOT_FOUND})
def list_for_run(run_id: str, context: Context) -> ApiResponse:
    """All planned events of a run: declared for it, for its project, or in holter.toml."""
    return ApiResponse(
        PlannedEventList(expected=context.planned_events.list_for_run(context.runs.run_id(run_id)))
    )


@router.post("/runs/{run_id}/expected", responses={200: {"model": PlannedEventView}, **RUN_NOT_FOUND})
def add_to_run(run_id: str, context: Context, request: Request, body: PlannedEvent) -> ApiResponse:
    """Declare a planned event of a run: findings of these kinds that begin there open no incident."""
    internal = context.runs.run_id(run_id)
    event = context.planned_events.add_to_run(internal, body, by=context.authenticator.user(request.headers))
    context.analysis.request_analysis(internal)
    return ApiResponse(event)


@router.delete(
    "/runs/{run_id}/expected/{number}", responses={200: {"model": PlannedEventList}, **EVENT_NOT_FOUND}
)
def remove_from_run(run_id: str, number: EventNumber, context: Context) -> ApiResponse:
    """Delete a planned event. Returns the remaining ones."""
    internal = context.runs.run_id(run_id)
    context.planned_events.remove_from_run(internal, number)
    context.analysis.request_analysis(internal)
    return ApiResponse(PlannedEventList(expected=context.planned_events.list_for_run(internal)))


@router.get("/projects/{name}/expected", responses={200: {"model": PlannedEventList}, **PROJECT_NOT_FOUND})
def list_for_project(name: str, context: Context) -> ApiResponse:
    """The planned events of all runs of a project: declared for it, or in holter.toml."""
    return ApiResponse(PlannedEventList(expected=context.planned_events.list_for_project(name)))


@router.post("/projects/{name}/expected", responses={200: {"model": PlannedEventView}, **PROJECT_NOT_FOUND})
def add_to_project(name: str, context: Context, request: Request, body: PlannedEvent) -> ApiResponse:
    """Declare a planned event of all runs of a project."""
    event = context.planned_events.add_to_project(name, body, by=context.authenticator.user(request.headers))
    _request_analyses(context, name)
    return ApiResponse(event)


@router.delete(
    "/projects/{name}/expected/{number}", responses={200: {"model": PlannedEventList}, **EVENT_NOT_FOUND}
)
def remove_from_project(name: str, number: EventNumber, context: Context) -> ApiResponse:
    """Delete a planned event. Returns the remaining ones."""
    context.planned_events.remove_from_project(name, number)
    _request_analyses(context, name)
    return ApiResponse(PlannedEventList(expected=context.planned_events.list_for_project(name)))


def _request_analyses(context: Context, project: str) -> None:
    for run_id in context.planned_events.affected_runs(project):
        context.analysis.request_analysis(run_id)

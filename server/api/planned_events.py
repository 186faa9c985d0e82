"""What is planned for runs and projects: so that a change on purpose raises nothing."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request

from holter.server.api.responses import ApiResponse
from holter.server.context import Context
from holter.server.schemas.incidents import PlannedEventList, PlannedEventView
from holter.server.schemas.service import Problem
from holter.tuning import Expected

Id = Annotated[int, Path(ge=1, le=2**31 - 1)]
NO_RUN: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "There is no such run"}}
NO_PROJECT: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "There is no such project"}
}
NOT_THERE: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "It is not expected there"}
}

router = APIRouter(tags=["expected events"])


@router.get("/runs/{run_id}/expected", responses={200: {"model": PlannedEventList}, **NO_RUN})
def expected_in_run(run_id: str, context: Context) -> ApiResponse:
    """Everything that is expected in a run: announced for it, for its project, or set in holter.toml."""
    return ApiResponse({"expected": context.planned_events.of_run(context.runs.run_id(run_id))})


@router.post("/runs/{run_id}/expected", responses={200: {"model": PlannedEventView}, **NO_RUN})
def expect_in_run(run_id: str, context: Context, request: Request, body: Expected) -> ApiResponse:
    """Announce what is planned for a run: what begins there, and is of these kinds, is not spoken."""
    internal = context.runs.run_id(run_id)
    announced = context.planned_events.announce(internal, body, by=context.authenticator.user(request.headers))
    context.analysis.look_soon(internal)
    return ApiResponse(announced)


@router.delete("/runs/{run_id}/expected/{number}", responses={200: {"model": PlannedEventList}, **NOT_THERE})
def withdraw_from_run(run_id: str, number: Id, context: Context) -> ApiResponse:
    """It is not planned after all. Answers with what is left."""
    internal = context.runs.run_id(run_id)
    context.planned_events.withdraw(internal, number)
    context.analysis.look_soon(internal)
    return ApiResponse({"expected": context.planned_events.of_run(internal)})


@router.get("/projects/{name}/expected", responses={200: {"model": PlannedEventList}, **NO_PROJECT})
def expected_in_project(name: str, context: Context) -> ApiResponse:
    """What is expected in all runs of a project: announced for it, or set in holter.toml."""
    return ApiResponse({"expected": context.planned_events.of_project(name)})


@router.post("/projects/{name}/expected", responses={200: {"model": PlannedEventView}, **NO_PROJECT})
def expect_in_project(name: str, context: Context, request: Request, body: Expected) -> ApiResponse:
    """Announce what is planned for every run of a project."""
    announced = context.planned_events.announce_for_project(name, body, by=context.authenticator.user(request.headers))
    _look(context, name)
    return ApiResponse(announced)


@router.delete(
    "/projects/{name}/expected/{number}", responses={200: {"model": PlannedEventList}, **NOT_THERE}
)
def withdraw_from_project(name: str, number: Id, context: Context) -> ApiResponse:
    """It is not planned after all. Answers with what is left."""
    context.planned_events.withdraw_for_project(name, number)
    _look(context, name)
    return ApiResponse({"expected": context.planned_events.of_project(name)})


def _look(context: Context, project: str) -> None:
    for run_id in context.planned_events.touched(project):
        context.analysis.look_soon(run_id)

"""What is planned for runs and projects: so that a change on purpose raises nothing."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request

from holter.server.api.responses import Answer
from holter.server.context import OfServer
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
def expected_in_run(run_id: str, parts: OfServer) -> Answer:
    """Everything that is expected in a run: announced for it, for its project, or set in holter.toml."""
    return Answer({"expected": parts.expected.of_run(parts.overview.run_id(run_id))})


@router.post("/runs/{run_id}/expected", responses={200: {"model": PlannedEventView}, **NO_RUN})
def expect_in_run(run_id: str, parts: OfServer, request: Request, body: Expected) -> Answer:
    """Announce what is planned for a run: what begins there, and is of these kinds, is not spoken."""
    internal = parts.overview.run_id(run_id)
    announced = parts.expected.announce(internal, body, by=parts.access.user(request.headers))
    parts.analysis.look_soon(internal)
    return Answer(announced)


@router.delete("/runs/{run_id}/expected/{number}", responses={200: {"model": PlannedEventList}, **NOT_THERE})
def withdraw_from_run(run_id: str, number: Id, parts: OfServer) -> Answer:
    """It is not planned after all. Answers with what is left."""
    internal = parts.overview.run_id(run_id)
    parts.expected.withdraw(internal, number)
    parts.analysis.look_soon(internal)
    return Answer({"expected": parts.expected.of_run(internal)})


@router.get("/projects/{name}/expected", responses={200: {"model": PlannedEventList}, **NO_PROJECT})
def expected_in_project(name: str, parts: OfServer) -> Answer:
    """What is expected in all runs of a project: announced for it, or set in holter.toml."""
    return Answer({"expected": parts.expected.of_project(name)})


@router.post("/projects/{name}/expected", responses={200: {"model": PlannedEventView}, **NO_PROJECT})
def expect_in_project(name: str, parts: OfServer, request: Request, body: Expected) -> Answer:
    """Announce what is planned for every run of a project."""
    announced = parts.expected.announce_for_project(name, body, by=parts.access.user(request.headers))
    _look(parts, name)
    return Answer(announced)


@router.delete(
    "/projects/{name}/expected/{number}", responses={200: {"model": PlannedEventList}, **NOT_THERE}
)
def withdraw_from_project(name: str, number: Id, parts: OfServer) -> Answer:
    """It is not planned after all. Answers with what is left."""
    parts.expected.withdraw_for_project(name, number)
    _look(parts, name)
    return Answer({"expected": parts.expected.of_project(name)})


def _look(parts: OfServer, project: str) -> None:
    for run_id in parts.expected.touched(project):
        parts.analysis.look_soon(run_id)

"""Incidents: the inbox, one incident, and what people do with it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Select, select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from holter.server.alerting import read_incident, read_incidents
from holter.server.alerting.incident import IncidentState
from holter.server.api.responses import ApiResponse
from holter.server.context import Context, ServerContext
from holter.server.models import IncidentRow
from holter.server.schemas.incidents import IncidentList, IncidentView
from holter.server.schemas.service import Problem
from holter.tuning import planned_event_for
from holter.types import Severity

Id = Annotated[int, Path(ge=1, le=2**63 - 1)]
LIST_LIMIT = 1000
NOT_FOUND: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "There is no such incident"}
}
NO_RUN: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "There is no such run"}}
ONE: dict[int | str, dict[str, Any]] = {200: {"model": IncidentView}, **NOT_FOUND}
ONE_OF_A_RUN: dict[int | str, dict[str, Any]] = {
    **ONE,
    409: {"model": Problem, "description": "The incident is about agents, which nothing is planned for"},
}

router = APIRouter(tags=["incidents"])


class By(BaseModel):
    """Who does it; left out, whoever is logged in."""

    model_config = ConfigDict(extra="forbid")
    by: str | None = Field(default=None, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")


class ByWithText(By):
    """Who does it, and perhaps a word about it."""

    text: str = Field(default="", max_length=10_000, pattern=r"^[^\x00]*$")


class Comment(By):
    """Words for an incident's history."""

    text: str = Field(min_length=1, max_length=10_000, pattern=r"^[^\x00]*[^\x00\s][^\x00]*$")


@router.get("/runs/{run_id}/incidents", responses={200: {"model": IncidentList}, **NO_RUN})
def incidents_of_run(run_id: str, context: Context) -> ApiResponse:
    """Every incident of a run, in the order of their steps."""
    internal = context.runs.run_id(run_id)
    query = (
        select(IncidentRow)
        .where(IncidentRow.run_id == internal)
        .order_by(IncidentRow.start_step, IncidentRow.id)
    )
    with Session(context.engine) as session:
        return _list(session, query)


@router.get("/incidents", responses={200: {"model": IncidentList}, **NO_RUN})
def list_incidents(
    context: Context,
    state: IncidentState | Literal["all"] = "all",
    acknowledged: bool | None = None,
    severity: Severity | None = None,
    run: Annotated[str | None, Query(description="The id of a run")] = None,
    limit: Annotated[int, Query(ge=1, le=LIST_LIMIT)] = 500,
) -> ApiResponse:
    """Incidents of all runs, the newest first."""
    query = select(IncidentRow).order_by(IncidentRow.opened_at.desc(), IncidentRow.id.desc()).limit(limit)
    if state != "all":
        query = query.where(IncidentRow.state == state)
    if acknowledged is not None:
        query = query.where(IncidentRow.acknowledged_at.is_not(None) == acknowledged)
    if severity is not None:
        query = query.where(IncidentRow.severity == severity)
    if run is not None:
        query = query.where(IncidentRow.run_id == context.runs.run_id(run))
    with Session(context.engine) as session:
        return _list(session, query)


@router.get("/incidents/{incident_id}", responses=ONE)
def one_incident(incident_id: Id, context: Context) -> ApiResponse:
    """One incident with its evidence, advice and history."""
    with Session(context.engine) as session:
        return ApiResponse(read_incident(session, incident_id).as_json())


@router.post("/incidents/{incident_id}/acknowledge", responses=ONE)
def acknowledge(incident_id: Id, context: Context, request: Request, body: By | None = None) -> ApiResponse:
    """Take it on: no more reminders about it."""
    return ApiResponse(context.incidents.acknowledge(incident_id, by=_by(context, request, body)).as_json())


@router.post("/incidents/{incident_id}/unacknowledge", responses=ONE)
def unacknowledge(incident_id: Id, context: Context, request: Request, body: By | None = None) -> ApiResponse:
    """Take an acknowledgement back."""
    return ApiResponse(context.incidents.unacknowledge(incident_id, by=_by(context, request, body)).as_json())


@router.post("/incidents/{incident_id}/close", responses=ONE)
def close(incident_id: Id, context: Context, request: Request, body: ByWithText | None = None) -> ApiResponse:
    """Done with it: it stays closed unless it gets worse."""
    text = body.text if body else ""
    return ApiResponse(
        context.incidents.close(incident_id, by=_by(context, request, body), text=text).as_json()
    )


@router.post("/incidents/{incident_id}/planned", responses=ONE_OF_A_RUN)
def planned_after_all(
    incident_id: Id, context: Context, request: Request, body: ByWithText | None = None
) -> ApiResponse:
    """It was planned: closed, and expected in these steps of the run, so that it does not come back."""
    by, note = _by(context, request, body), body.text.strip() if body else ""
    with Session(context.engine) as session:
        incident = read_incident(session, incident_id)
    if incident.run is None:
        raise HTTPException(409, "Silent agents cannot be planned for: close the incident instead.")
    number, planned_event = incident.run.number, planned_event_for(incident.finding, note=note)
    context.planned_events.add_to_run(number, planned_event, by=by)
    closed = context.incidents.close(incident_id, by=by, text=note or "This was planned.")
    context.analysis.request_analysis(number)
    return ApiResponse(closed.as_json())


@router.post("/incidents/{incident_id}/reopen", responses=ONE)
def reopen(
    incident_id: Id, context: Context, request: Request, body: ByWithText | None = None
) -> ApiResponse:
    """It was closed too early."""
    text = body.text if body else ""
    return ApiResponse(
        context.incidents.reopen(incident_id, by=_by(context, request, body), text=text).as_json()
    )


@router.post("/incidents/{incident_id}/comment", responses=ONE)
def comment(incident_id: Id, context: Context, request: Request, body: Comment) -> ApiResponse:
    """Add words to its history."""
    return ApiResponse(
        context.incidents.comment(incident_id, body.text, by=_by(context, request, body)).as_json()
    )


def _by(context: ServerContext, request: Request, body: By | None) -> str | None:
    return (body.by if body else None) or context.authenticator.user(request.headers)


def _list(session: Session, query: Select[IncidentRow]) -> ApiResponse:
    incidents = read_incidents(session, session.scalars(query).all())
    return ApiResponse({"incidents": [incident.as_json() for incident in incidents]})

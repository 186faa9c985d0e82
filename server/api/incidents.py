"""Routes about incidents: lists, one incident, and what people do with it."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Select, select
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from holter.json_values import MAX_JSON_INTEGER
from holter.server.alerting import Incident, UnknownIncidentError, read_incident, read_incidents
from holter.server.api.error_docs import problem_docs
from holter.server.api.responses import RUN_NOT_FOUND, ApiResponse, ResponseDocs, not_found
from holter.server.api.silences import silence_view
from holter.server.context import Context, ServerContext
from holter.server.incident_actions import NotPlannableError
from holter.server.models import IncidentRow
from holter.server.read_models.incident_context import IncidentContextReader
from holter.server.read_models.incident_list import IncidentFilter, IncidentListReader, IncidentOrder
from holter.server.schemas.alerting import SilenceView
from holter.server.schemas.events import IncidentContext, RunEvents
from holter.server.schemas.incidents import IncidentList, IncidentPage, IncidentView, incident_view
from holter.types import Severity

IncidentId = Annotated[int, Path(ge=1, le=2**63 - 1)]
StateFilter = Literal["unacknowledged", "open", "recovered", "closed", "all"]
MAX_LISTED = 1000
ONE_INCIDENT: ResponseDocs = {200: {"model": IncidentView}, **not_found("There is no such incident")}
ONE_OF_A_RUN: ResponseDocs = {
    **ONE_INCIDENT,
    409: problem_docs("The incident is about agents, which have no planned events"),
}

router = APIRouter(tags=["incidents"])


class Action(BaseModel):
    """An action on an incident. `by`: the person, by default the user who is logged in."""

    model_config = ConfigDict(extra="forbid")
    by: str | None = Field(default=None, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")


class ActionWithText(Action):
    """An action on an incident, with an optional text for its history."""

    text: str = Field(default="", max_length=10_000, pattern=r"^[^\x00]*$")


class Comment(Action):
    """A comment for an incident's history."""

    text: str = Field(min_length=1, max_length=10_000, pattern=r"^[^\x00]*[^\x00\s][^\x00]*$")


class SeveralIncidents(Action):
    """The numbers of incidents to act on."""

    ids: list[Annotated[int, Field(ge=1, le=MAX_JSON_INTEGER)]] = Field(min_length=1, max_length=MAX_LISTED)


class Mute(Action):
    """For how many seconds an incident is muted; null: until it recovers."""

    seconds: float | None = Field(ge=1, le=30 * 86_400)


class Assignment(Action):
    """Who is to work on an incident; null: nobody in particular."""

    assignee: str | None = Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")


@router.get("/runs/{run_id}/incidents", responses={200: {"model": IncidentList}, **RUN_NOT_FOUND})
def list_incidents_of_run(run_id: str, context: Context) -> ApiResponse:
    """All incidents of a run, ordered by their first steps."""
    internal = context.runs.run_id(run_id)
    query = select(IncidentRow).where(IncidentRow.run_id == internal)
    return _read_list(context, query.order_by(IncidentRow.start_step, IncidentRow.id))


@router.get("/incidents", responses={200: {"model": IncidentPage}, **RUN_NOT_FOUND})
def list_incidents(
    context: Context,
    state: StateFilter = "all",
    acknowledged: bool | None = None,
    severity: Severity | None = None,
    run: Annotated[str | None, Query(description="The id of a run")] = None,
    q: Annotated[str, Query(description="Words of texts and names", max_length=200)] = "",
    order: IncidentOrder = "opened",
    since: Annotated[float | None, Query(description="Unix seconds")] = None,
    until: Annotated[float | None, Query(description="Unix seconds")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 500,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> ApiResponse:
    """Incidents of all runs and of agents: the newest first, by when they were opened or began (`event`), or
    the most severe first.
    """
    wanted = IncidentFilter(
        state=state,
        acknowledged=acknowledged,
        severity=severity,
        run_id=None if run is None else context.runs.run_id(run),
        q=q,
        since=since,
        until=until,
    )
    reader = IncidentListReader(context.engine)
    return ApiResponse(reader.page(wanted, limit=limit, offset=offset, order=order))


@router.post("/incidents/acknowledge", responses={200: {"model": IncidentList}})
def acknowledge_several(context: Context, request: Request, body: SeveralIncidents) -> ApiResponse:
    """Acknowledge several incidents. Returns those that exist."""
    by = _person(context, request, body)
    incidents = []
    for incident_id in body.ids:
        with suppress(UnknownIncidentError):
            incidents.append(incident_view(context.incidents.acknowledge(incident_id, by=by)))
    return ApiResponse(IncidentList(incidents=incidents))


@router.get("/incidents/{incident_id}", responses=ONE_INCIDENT)
def read_one_incident(incident_id: IncidentId, context: Context) -> ApiResponse:
    """One incident with its evidence, advice and history."""
    with Session(context.engine) as session:
        return _response(read_incident(session, incident_id))


@router.post("/incidents/{incident_id}/acknowledge", responses=ONE_INCIDENT)
def acknowledge(
    incident_id: IncidentId, context: Context, request: Request, body: Action | None = None
) -> ApiResponse:
    """Acknowledge an incident: no further reminders about it."""
    return _response(context.incidents.acknowledge(incident_id, by=_person(context, request, body)))


@router.post("/incidents/{incident_id}/unacknowledge", responses=ONE_INCIDENT)
def unacknowledge(
    incident_id: IncidentId, context: Context, request: Request, body: Action | None = None
) -> ApiResponse:
    """Withdraw an acknowledgement."""
    return _response(context.incidents.unacknowledge(incident_id, by=_person(context, request, body)))


@router.post("/incidents/{incident_id}/close", responses=ONE_INCIDENT)
def close(
    incident_id: IncidentId, context: Context, request: Request, body: ActionWithText | None = None
) -> ApiResponse:
    """Close an incident. It stays closed unless it becomes more severe."""
    by, text = _person(context, request, body), body.text if body else ""
    return _response(context.incidents.close(incident_id, by=by, text=text))


@router.post("/incidents/{incident_id}/planned", responses=ONE_OF_A_RUN)
def close_as_planned(
    incident_id: IncidentId, context: Context, request: Request, body: ActionWithText | None = None
) -> ApiResponse:
    """Close an incident and declare a planned event for its steps, so that it does not open again."""
    by, note = _person(context, request, body), body.text.strip() if body else ""
    try:
        return _response(context.incident_actions.close_as_planned(incident_id, by=by, note=note))
    except NotPlannableError as error:
        raise HTTPException(409, str(error)) from None


@router.post("/incidents/{incident_id}/reopen", responses=ONE_INCIDENT)
def reopen(
    incident_id: IncidentId, context: Context, request: Request, body: ActionWithText | None = None
) -> ApiResponse:
    """Reopen a closed incident."""
    by, text = _person(context, request, body), body.text if body else ""
    return _response(context.incidents.reopen(incident_id, by=by, text=text))


@router.post(
    "/incidents/{incident_id}/mute",
    responses={200: {"model": SilenceView}, **not_found("There is no such incident")},
)
def mute(incident_id: IncidentId, context: Context, request: Request, body: Mute) -> ApiResponse:
    """Mute the notifications about an incident, for a time or until it recovers."""
    by = _person(context, request, body)
    silence = context.incidents.mute(incident_id, seconds=body.seconds, by=by)
    return ApiResponse(silence_view(silence, [], context.clock()))


@router.delete(
    "/incidents/{incident_id}/mute",
    status_code=204,
    responses=not_found("There is no such incident"),
    response_class=Response,
)
def unmute(incident_id: IncidentId, context: Context, request: Request) -> Response:
    """Send notifications about an incident again."""
    context.incidents.unmute(incident_id, by=context.authenticator.user(request.headers))
    return Response(status_code=204)


@router.post("/incidents/{incident_id}/assign", responses=ONE_INCIDENT)
def assign(incident_id: IncidentId, context: Context, request: Request, body: Assignment) -> ApiResponse:
    """Ask a person to work on an incident."""
    by, assignee = _person(context, request, body), (body.assignee or "").strip()
    return _response(context.incidents.assign(incident_id, assignee or None, by=by))


@router.get(
    "/incidents/{incident_id}/context",
    responses={200: {"model": IncidentContext}, **not_found("There is no such incident")},
)
def read_context(incident_id: IncidentId, context: Context) -> ApiResponse:
    """The event that an incident belongs to, what was changed before it, and similar ones of the past."""
    return ApiResponse(_context_reader(context).context(incident_id))


@router.get("/runs/{run_id}/events", responses={200: {"model": RunEvents}, **RUN_NOT_FOUND})
def list_events_of_run(run_id: str, context: Context) -> ApiResponse:
    """The incidents of a run by event, each with one step to go back to, and what was changed in the run."""
    return ApiResponse(_context_reader(context).events(context.runs.run_id(run_id)))


def _context_reader(context: ServerContext) -> IncidentContextReader:
    return IncidentContextReader(context.engine, context.store, context.planned_events)


@router.post("/incidents/{incident_id}/comment", responses=ONE_INCIDENT)
def comment(incident_id: IncidentId, context: Context, request: Request, body: Comment) -> ApiResponse:
    """Add a comment to an incident's history."""
    return _response(context.incidents.comment(incident_id, body.text, by=_person(context, request, body)))


def _person(context: ServerContext, request: Request, body: Action | None) -> str | None:
    return (body.by if body else None) or context.authenticator.user(request.headers)


def _response(incident: Incident) -> ApiResponse:
    return ApiResponse(incident_view(incident))


def _read_list(context: ServerContext, query: Select[IncidentRow]) -> ApiResponse:
    with Session(context.engine) as session:
        incidents = read_incidents(session, session.scalars(query).all())
    return ApiResponse(IncidentList(incidents=[incident_view(incident) for incident in incidents]))

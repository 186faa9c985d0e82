"""Routes about silences."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.server.alerting import UnknownIncidentError
from holter.server.alerting.incident import IncidentState
from holter.server.alerting.incident_labels import read_labels
from holter.server.alerting.incident_mutes import muted_incident
from holter.server.alerting.routing import LabelSet, all_match
from holter.server.alerting.silences import (
    LONGEST,
    MAX_COMMENT,
    MAX_MATCHERS,
    Silence,
    SilenceError,
    add_silence,
    expire_silence,
    read_silence,
    read_silences,
)
from holter.server.api.responses import ApiResponse, ResponseDocs, field_errors_response, not_found
from holter.server.context import Context
from holter.server.models import IncidentRow
from holter.server.schemas.alerting import SilenceList, SilenceView

SilenceId = Annotated[int, Path(ge=1, le=2**63 - 1)]
ONE_SILENCE: ResponseDocs = {200: {"model": SilenceView}, **not_found("There is no such silence")}
ANONYMOUS = "someone"

router = APIRouter(tags=["alerting"])


class NewSilence(BaseModel):
    """A new silence. `ends_at` (Unix seconds) or `seconds` from now on; `comment` is the reason."""

    model_config = ConfigDict(extra="forbid")
    matchers: list[Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00]*$")]] = Field(
        min_length=1, max_length=MAX_MATCHERS, examples=[['project="llm"', 'kind=~"spike_.*"']]
    )
    comment: str = Field(min_length=1, max_length=MAX_COMMENT, pattern=r"^[^\x00]*[^\x00\s][^\x00]*$")
    starts_at: float | None = Field(default=None, ge=0, le=2**40)
    ends_at: float | None = Field(default=None, ge=0, le=2**40)
    seconds: float | None = Field(default=None, ge=1, le=LONGEST)
    by: str | None = Field(default=None, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")


@router.get("/silences", responses={200: {"model": SilenceList}})
def list_silences(context: Context, expired: bool = False) -> ApiResponse:
    """The silences that have not ended, the newest first; `expired`: the ended ones, too."""
    now = context.clock()
    with Session(context.engine) as session:
        labels = _open_labels(session)
        silences = read_silences(session, now=now, expired=expired)
        return ApiResponse(SilenceList(silences=[silence_view(each, labels, now) for each in silences]))


@router.post("/silences", responses={200: {"model": SilenceView}})
def create_silence(context: Context, request: Request, body: NewSilence) -> ApiResponse:
    """Silence incidents by matchers of their labels, with a reason and an end."""
    now = context.clock()
    if (body.ends_at is None) == (body.seconds is None):
        return field_errors_response([(("body", "ends_at"), "expected either ends_at or seconds")])
    by = body.by or context.authenticator.user(request.headers) or ANONYMOUS
    begin = now if body.starts_at is None else body.starts_at
    ends_at = body.ends_at if body.ends_at is not None else begin + (body.seconds or 0.0)
    try:
        with Session(context.engine) as session, session.begin():
            silence = add_silence(
                session, body.matchers, comment=body.comment, by=by, now=now,
                starts_at=body.starts_at, ends_at=ends_at,
            )  # fmt: skip
            view = silence_view(silence, _open_labels(session), now)
    except SilenceError as error:
        name, _, reason = str(error).partition(": ")
        return field_errors_response([(("body", name), reason)])
    return ApiResponse(view)


@router.delete("/silences/{silence_id}", responses=ONE_SILENCE)
def end_silence(silence_id: SilenceId, context: Context, request: Request) -> ApiResponse:
    """End a silence now. It stays in the list of expired ones."""
    now = context.clock()
    with Session(context.engine) as session:
        incident_id = muted_incident(read_silence(session, silence_id))
    if incident_id is not None:
        with suppress(UnknownIncidentError):  # it may have been deleted
            context.incidents.unmute(incident_id, by=context.authenticator.user(request.headers))
    with Session(context.engine) as session, session.begin():
        silence = expire_silence(session, silence_id, now=now)
        view = silence_view(silence, [], now)
    context.notification_sender.wake()
    return ApiResponse(view)


def _open_labels(session: Session) -> list[LabelSet]:
    rows = session.scalars(select(IncidentRow).where(IncidentRow.state == IncidentState.OPEN)).all()
    return list(read_labels(session, rows).values())


def silence_view(silence: Silence, open_labels: list[LabelSet], now: float) -> SilenceView:
    """A silence as the REST interface returns it; `open_labels`: of the open incidents."""
    state = silence.state(now)
    muted = 0 if state == "expired" else sum(all_match(silence.matchers, labels) for labels in open_labels)
    return {
        "id": silence.id,
        "matchers": [str(matcher) for matcher in silence.matchers],
        "comment": silence.comment,
        "created_by": silence.created_by,
        "created_at": silence.created_at,
        "starts_at": silence.starts_at,
        "ends_at": silence.ends_at,
        "state": state,
        "muted": muted,
    }

"""Routes about channels and notifications."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from holter.server.alerting import read_incident
from holter.server.alerting.example import send_example
from holter.server.alerting.outbox import retry_given_up
from holter.server.api.error_docs import problem_docs
from holter.server.api.responses import ApiResponse, ResponseDocs, not_found
from holter.server.channels import Delivered
from holter.server.context import Context
from holter.server.read_models.notifications import (
    channel_views,
    read_all_given_up,
    read_decisions,
    read_notifications,
)
from holter.server.schemas.alerting import (
    ChannelTestResult,
    DecisionList,
    NotificationPage,
    NotificationState,
    ReceiverList,
    ReceiverView,
)

Number = Annotated[int, Path(ge=1, le=2**63 - 1)]
RETRIED: ResponseDocs = {
    200: {"model": NotificationPage},
    404: problem_docs("There is no such notification that was given up"),
}

router = APIRouter(tags=["alerting"])


@router.get("/receivers", responses={200: {"model": ReceiverList}})
def list_receivers(context: Context) -> ApiResponse:
    """All channels with the state of their delivery, and the receivers made of them."""
    with Session(context.engine) as session:
        channels = channel_views(
            session, context.channels, context.policy, context.notification_sender.paused()
        )
    receivers = [
        ReceiverView(name=name, channels=list(members)) for name, members in context.policy.receivers.items()
    ]
    return ApiResponse(ReceiverList(channels=channels, receivers=receivers))


@router.post(
    "/channels/{name}/test",
    responses={200: {"model": ChannelTestResult}, **not_found("There is no such channel")},
)
def test_channel(name: Annotated[str, Path(max_length=100)], context: Context) -> ApiResponse:
    """Send a test message through a channel, and wait for its answer."""
    opened = context.channels.get(name)
    if opened is None:
        raise HTTPException(404, f"There is no channel {name!r}.")
    outcome = send_example(opened, address=context.settings.address)
    if isinstance(outcome, Delivered):
        text = f"The test message arrived ({opened.channel.destination})."
        return ApiResponse(ChannelTestResult(delivered=True, text=text))
    return ApiResponse(ChannelTestResult(delivered=False, text=f"Not delivered: {outcome.reason}"))


@router.get("/notifications", responses={200: {"model": NotificationPage}})
def list_notifications(
    context: Context,
    state: NotificationState | None = None,
    channel: Annotated[str | None, Query(max_length=100, pattern=r"^[^\x00]*$")] = None,
    incident: Annotated[int | None, Query(ge=1, le=2**63 - 1)] = None,
    before: Annotated[int | None, Query(ge=1, le=2**63 - 1)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> ApiResponse:
    """Messages that were sent, wait, are muted or were given up, the newest first."""
    with Session(context.engine) as session:
        page = read_notifications(
            session, state=state, channel=channel, incident=incident, before=before, limit=limit
        )
    return ApiResponse(page)


@router.post("/notifications/{notification_id}/retry", responses=RETRIED)
def retry_notification(notification_id: Number, context: Context) -> ApiResponse:
    """Send a message again that was given up."""
    with Session(context.engine) as session, session.begin():
        if retry_given_up(session, notification_id, now=context.clock()) is None:
            raise HTTPException(404, f"Notification {notification_id} is not one that was given up.")
        session.flush()
        page = read_notifications(session, before=notification_id + 1, limit=1)
    context.notification_sender.wake()
    return ApiResponse(NotificationPage(notifications=page["notifications"], next=None))


@router.post("/notifications/retry", responses={200: {"model": NotificationPage}})
def retry_notifications(
    context: Context, channel: Annotated[str | None, Query(max_length=100, pattern=r"^[^\x00]*$")] = None
) -> ApiResponse:
    """Send all messages again that were given up, or those of one channel."""
    with Session(context.engine) as session, session.begin():
        for number in read_all_given_up(session, channel):
            retry_given_up(session, number, now=context.clock())
        session.flush()
        page = read_notifications(session, state="waiting", channel=channel)
    context.notification_sender.wake()
    return ApiResponse(page)


@router.get(
    "/incidents/{incident_id}/decisions",
    responses={200: {"model": DecisionList}, **not_found("There is no such incident")},
)
def list_decisions(incident_id: Number, context: Context) -> ApiResponse:
    """Why channels were, or were not, notified of an incident."""
    with Session(context.engine) as session:
        read_incident(session, incident_id)
        return ApiResponse(DecisionList(decisions=read_decisions(session, incident_id)))

"""Routes about routing, channels and notifications."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session
from starlette.exceptions import HTTPException

from holter.server.alerting import read_incident
from holter.server.alerting.dry_run import DryRun, route_incident
from holter.server.alerting.example import send_example
from holter.server.alerting.incident_labels import make_labels, read_labels
from holter.server.alerting.outbox import retry_given_up
from holter.server.alerting.routing import LabelSet, Route
from holter.server.alerting.routing.policy import DEFAULT_PATH
from holter.server.alerting.routing.time_intervals import WEEKDAYS
from holter.server.api.responses import ApiResponse, ResponseDocs, not_found
from holter.server.channels import Delivered
from holter.server.context import Context
from holter.server.models import IncidentRow
from holter.server.read_models.notifications import (
    channel_views,
    read_all_given_up,
    read_decisions,
    read_notifications,
)
from holter.server.schemas.alerting import (
    ChannelDecision,
    ChannelTestResult,
    DecisionList,
    DigestView,
    InhibitRuleView,
    NotificationPage,
    NotificationState,
    ReceiverList,
    ReceiverView,
    RouteStepView,
    RouteView,
    RoutingDecision,
    RoutingView,
    TimeIntervalView,
)
from holter.server.schemas.service import Problem
from holter.types import Kind, Severity

Number = Annotated[int, Path(ge=1, le=2**63 - 1)]
Text = Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")]
RETRIED: ResponseDocs = {
    200: {"model": NotificationPage},
    404: {"model": Problem, "description": "There is no such notification that was given up"},
}

router = APIRouter(tags=["alerting"])


class RoutingQuestion(BaseModel):
    """An incident to route: one that exists (`incident_id`), or its labels."""

    model_config = ConfigDict(extra="forbid")
    incident_id: int | None = Field(default=None, ge=1, le=2**63 - 1)
    project: Text = ""
    run: Text = ""
    tags: list[Text] = Field(default_factory=list, max_length=100)
    kind: Kind | None = None
    severity: Severity = Severity.WARNING
    confidence: float = Field(default=1.0, ge=0, le=1)
    metric: Text = ""
    attempt: int = Field(default=0, ge=0, le=2**31)
    labels: dict[Text, Text] = Field(default_factory=dict, max_length=100)


@router.get("/routing", responses={200: {"model": RoutingView}})
def read_routing(context: Context) -> ApiResponse:
    """The notification policy: the tree of routes, inhibition rules, time intervals and digests."""
    policy, now = context.policy, context.clock()
    intervals = policy.time_intervals.items()
    return ApiResponse(
        RoutingView(
            default=policy.root.path == DEFAULT_PATH,
            routes=[_route_view(route) for route in policy.root.walk()],
            inhibit_rules=[
                InhibitRuleView(
                    name=rule.name,
                    source_matchers=[str(matcher) for matcher in rule.source_matchers],
                    target_matchers=[str(matcher) for matcher in rule.target_matchers],
                    equal=list(rule.equal),
                )
                for rule in policy.inhibit_rules
            ],
            time_intervals=[
                TimeIntervalView(name=name, active=any(part.contains(now) for part in parts))
                for name, parts in intervals
            ],
            digests=[
                DigestView(
                    name=digest.name,
                    receiver=digest.receiver,
                    at=f"{digest.minute // 60:02}:{digest.minute % 60:02}",
                    weekday=None if digest.weekday is None else WEEKDAYS[digest.weekday],
                    location=digest.zone.key,
                    matchers=[str(matcher) for matcher in digest.matchers],
                )
                for digest in policy.digests
            ],
        )
    )


@router.post(
    "/routing/test",
    responses={200: {"model": RoutingDecision}, **not_found("There is no such incident")},
)
def test_routing(context: Context, body: RoutingQuestion) -> ApiResponse:
    """A dry run: where an incident would go now, and why. Sends nothing."""
    with Session(context.engine) as session:
        labels, number = _labels(session, body)
        result = route_incident(session, context.policy, labels, now=context.clock(), incident_id=number)
    return ApiResponse(_decision_view(result, labels))


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


def _labels(session: Session, body: RoutingQuestion) -> tuple[LabelSet, int]:
    if body.incident_id is not None:
        read_incident(session, body.incident_id)
        row = session.get_one(IncidentRow, body.incident_id)
        return read_labels(session, [row])[row.id], row.id
    labels = make_labels(
        project=body.project,
        run=body.run,
        tags=body.tags,
        kind="" if body.kind is None else body.kind.value,
        severity=body.severity.value,
        confidence=body.confidence,
        metric=body.metric,
        attempt=body.attempt,
        series_labels=body.labels,
    )
    return labels, 0


def _decision_view(result: DryRun, labels: LabelSet) -> RoutingDecision:
    return {
        "labels": {name: list(values) for name, values in labels.items()},
        "channels": [
            ChannelDecision(
                channel=each.target.channel,
                receiver=each.target.route.receiver,
                route=each.target.route.path,
                outcome=each.outcome,  # type: ignore[typeddict-item] # one of three constants
                text=each.text,
                group=each.group,
                group_wait=each.group_wait,
            )
            for each in result.decisions
        ],
        "steps": [
            RouteStepView(
                path=step.route.path,
                receiver=step.route.receiver,
                failed=None if step.failed is None else str(step.failed),
            )
            for step in result.steps
        ],
        "text": result.text,
    }


def _route_view(route: Route) -> RouteView:
    return {
        "path": route.path,
        "depth": route.path.count(".routes[") or int(route.path.startswith(f"{DEFAULT_PATH}.")),
        "receiver": route.receiver,
        "matchers": [str(matcher) for matcher in route.matchers],
        "group_by": list(route.group_by),
        "group_wait": route.group_wait,
        "group_interval": route.group_interval,
        "repeat_interval": route.repeat_interval,
        "continues": route.continues,
        "mute_time_intervals": list(route.mute_time_intervals),
        "active_time_intervals": list(route.active_time_intervals),
        "critical_passes": route.critical_passes,
        "escalate_after": route.escalate_after,
        "escalate_to": route.escalate_to,
    }

"""Routes about routing: the policy in force, a dry run, and other settings on trial."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from holter.json_values import MAX_JSON_INTEGER
from holter.server.alerting import read_incident
from holter.server.alerting.dry_run import DryRun, route_incident
from holter.server.alerting.incident_labels import make_labels, read_labels
from holter.server.alerting.messages import title_line
from holter.server.alerting.routing import LabelSet, NotificationPolicy, Route, RoutingError, build_policy
from holter.server.alerting.routing.policy import DEFAULT_PATH
from holter.server.alerting.routing.settings_text import read_settings_text, settings_text
from holter.server.alerting.routing.time_intervals import WEEKDAYS
from holter.server.alerting.routing_trial import ChangedRouting, try_policy
from holter.server.api.responses import ApiResponse, field_errors_response, not_found
from holter.server.context import Context
from holter.server.models import IncidentRow
from holter.server.read_models.settings_view import settings_file
from holter.server.schemas.alerting import (
    ChangedRoutingView,
    ChannelDecision,
    DigestView,
    InhibitRuleView,
    RouteStepView,
    RouteView,
    RoutingDecision,
    RoutingTrialResult,
    RoutingView,
    TimeIntervalView,
)
from holter.types import Kind, Severity

Text = Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")]
MAX_SETTINGS_TEXT = 65_536

router = APIRouter(tags=["alerting"])


class RoutingQuestion(BaseModel):
    """An incident to route: one that exists (`incident_id`), or its labels."""

    model_config = ConfigDict(extra="forbid")
    incident_id: int | None = Field(default=None, ge=1, le=MAX_JSON_INTEGER)
    project: Text = ""
    run: Text = ""
    tags: list[Text] = Field(default_factory=list, max_length=100)
    kind: Kind | None = None
    severity: Severity = Severity.WARNING
    confidence: float = Field(default=1.0, ge=0, le=1)
    metric: Text = ""
    attempt: int = Field(default=0, ge=0, le=2**31)
    labels: dict[Text, Text] = Field(default_factory=dict, max_length=100)


class RoutingTrialRequest(BaseModel):
    """Tables of `[alerting]` as in `holter.toml`, and how many of the newest incidents they are tried on."""

    model_config = ConfigDict(extra="forbid")
    toml: str = Field(max_length=MAX_SETTINGS_TEXT, examples=['[alerting.route]\nreceiver = "oncall"'])
    incidents: int = Field(default=200, ge=0, le=1000)


@router.get("/routing", responses={200: {"model": RoutingView}})
def read_routing(context: Context) -> ApiResponse:
    """The notification policy: the tree of routes, inhibition rules, time intervals and digests."""
    toml = settings_text(context.settings.alerting, context.policy)
    return ApiResponse(_routing_view(context, context.policy, toml))


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


@router.post("/routing/trial", responses={200: {"model": RoutingTrialResult}})
def try_routing(context: Context, body: RoutingTrialRequest) -> ApiResponse:
    """Check other settings of routing, and compare them with those in force. Changes and sends nothing."""
    try:
        trial = build_policy(context.channels, read_settings_text(body.toml))
    except RoutingError as error:
        return field_errors_response([(("body", "toml"), str(error))])
    with Session(context.engine) as session:
        result = try_policy(session, context.policy, trial, incidents=body.incidents)
    return ApiResponse(
        RoutingTrialResult(
            routing=_routing_view(context, trial, body.toml),
            compared=result.compared,
            changed=[_changed_view(each) for each in result.changed],
        )
    )


def _routing_view(context: Context, policy: NotificationPolicy, toml: str) -> RoutingView:
    now, file = context.clock(), settings_file(context.settings)
    return {
        "default": policy.root.path == DEFAULT_PATH,
        "toml": toml,
        "file": None if file is None else str(file),
        "routes": [_route_view(policy, route) for route in policy.root.walk()],
        "inhibit_rules": [
            InhibitRuleView(
                name=rule.name,
                source_matchers=[str(matcher) for matcher in rule.source_matchers],
                target_matchers=[str(matcher) for matcher in rule.target_matchers],
                equal=list(rule.equal),
            )
            for rule in policy.inhibit_rules
        ],
        "time_intervals": [
            TimeIntervalView(
                name=name,
                active=any(part.contains(now) for part in parts),
                parts=[part.describe() for part in parts],
            )
            for name, parts in policy.time_intervals.items()
        ],
        "digests": [
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
    }


def _changed_view(changed: ChangedRouting) -> ChangedRoutingView:
    return {
        "incident_id": changed.incident.id,
        "title": title_line(changed.incident),
        "opened_at": changed.incident.opened_at,
        "severity": changed.incident.finding.severity,
        "current": list(changed.current),
        "trial": list(changed.trial),
    }


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


def _route_view(policy: NotificationPolicy, route: Route) -> RouteView:
    return {
        "path": route.path,
        "depth": route.path.count(".routes[") or int(route.path.startswith(f"{DEFAULT_PATH}.")),
        "receiver": route.receiver,
        "channels": list(policy.channels_of(route.receiver)),
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

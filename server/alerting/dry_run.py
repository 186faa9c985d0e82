"""A dry run of the routing: where an incident with given labels would go now, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from holter.server.alerting.enqueue import MUTED, NOT_NOTIFIED, NOTIFIED
from holter.server.alerting.muting import Muting
from holter.server.alerting.routing import LabelSet, NotificationPolicy, trace_routes
from holter.server.alerting.routing.route_tree import RouteStep
from holter.server.alerting.routing.targets import ChannelTarget, channel_targets, describe_unrouted
from holter.types import Severity


@dataclass(frozen=True, slots=True)
class TargetDecision:
    """What a channel would get: its outcome (`notified`, `not_notified`, `muted`) with the reason."""

    target: ChannelTarget
    outcome: str
    text: str
    group: str
    group_wait: float


@dataclass(frozen=True, slots=True)
class DryRun:
    """The decisions about an incident, and every route that was tried. `text` sums them up."""

    decisions: Sequence[TargetDecision]
    steps: Sequence[RouteStep]
    text: str


def route_incident(
    session: Session, policy: NotificationPolicy, labels: LabelSet, *, now: float, incident_id: int = 0
) -> DryRun:
    """Where an incident with these labels would go now, with the silences and open incidents of now."""
    [severity] = labels.get("severity") or (Severity.WARNING.value,)
    muting = Muting(session, policy, now)
    decisions = []
    for target in channel_targets(policy, labels).values():
        outcome, text = NOTIFIED, f"{target.route.path} leads to it"
        if target.refusal:
            outcome, text = NOT_NOTIFIED, target.refusal
        elif muted := muting.reason(incident_id, labels, Severity(severity), target.route):
            outcome, text = MUTED, muted.text
        wait = target.route.group_wait
        decisions.append(
            TargetDecision(
                target=target,
                outcome=outcome,
                text=text,
                group=target.route.group_key(labels),
                group_wait=policy.channels[target.channel].settle if wait is None else wait,
            )
        )
    summary = _describe(decisions) if decisions else f"{describe_unrouted(policy, labels)}."
    return DryRun(decisions, trace_routes(policy.root, labels).steps, summary)


def _describe(decisions: Sequence[TargetDecision]) -> str:
    """One sentence: which channels, and why; then those that get nothing."""
    reached = [each for each in decisions if each.outcome == NOTIFIED]
    others = [
        f"{each.target.channel} gets nothing: {each.text}." for each in decisions if each not in reached
    ]
    names = ", ".join(
        f"{each.target.channel} (receiver {each.target.route.receiver}, because of {each.target.route.path})"
        for each in reached
    )
    first = f"This incident would go to {names}." if reached else "This incident would go to nobody."
    return " ".join([first, *others])

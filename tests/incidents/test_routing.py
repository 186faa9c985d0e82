"""Which changes notify which channel: each case is a sentence."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from holter.server.alerting.incident import EventType, IncidentState
from holter.server.alerting.incident_labels import make_labels
from holter.server.alerting.reasons import notification_reason
from holter.server.alerting.routing import ChannelPolicy
from holter.server.alerting.routing.targets import channel_targets
from holter.types import Severity
from tests.support.alerting import default_policy

ALL = ChannelPolicy(name="slack")
WORST = ChannelPolicy(name="pager", minimum=Severity.CRITICAL)
HISTORY = ChannelPolicy(name="archive", history=True)


class Case(NamedTuple):
    sentence: str
    events: set[EventType]
    expected: EventType | None
    channel: ChannelPolicy = ALL
    facts: dict[str, Any] = {}


CASES = [
    Case("an opening is sent", {EventType.OPENED}, EventType.OPENED),
    Case("information is not sent", {EventType.OPENED}, None, facts={"severity": Severity.INFO}),
    Case("a channel for critical incidents gets no warning", {EventType.OPENED}, None, WORST),
    Case(
        "a channel for critical incidents gets an escalation",
        {EventType.ESCALATED, EventType.RECLASSIFIED},
        EventType.ESCALATED,
        WORST,
        {"severity": Severity.CRITICAL},
    ),
    Case("an old run that is imported is not sent", {EventType.OPENED}, None, facts={"live": False}),
    Case(
        "unless the channel asks for history", {EventType.OPENED}, EventType.OPENED, HISTORY, {"live": False}
    ),
    Case("what is open when a run has caught up is sent then", set(), EventType.OPENED),
    Case("what ended while a run caught up is not", set(), None, facts={"state": IncidentState.RECOVERED}),
    Case(
        "without an earlier message a recovery is not sent",
        {EventType.RECOVERED},
        None,
        facts={"state": IncidentState.RECOVERED},
    ),
    Case(
        "what began and ended between two passes is sent once",
        {EventType.OPENED, EventType.RECOVERED},
        EventType.OPENED,
        facts={"state": IncidentState.RECOVERED},
    ),
    Case(
        "a recovery goes to who got an earlier message",
        {EventType.RECOVERED},
        EventType.RECOVERED,
        facts={"state": IncidentState.RECOVERED, "notified": True},
    ),
    Case(
        "a recovery is sent although the run is no longer live",
        {EventType.RECOVERED},
        EventType.RECOVERED,
        facts={"state": IncidentState.RECOVERED, "notified": True, "live": False},
    ),
    Case(
        "a recovery outweighs a new classification",
        {EventType.RECOVERED, EventType.RECLASSIFIED},
        EventType.RECOVERED,
        facts={"state": IncidentState.RECOVERED, "notified": True},
    ),
    Case("without a change there is no message", set(), None, facts={"notified": True}),
    Case("a comment is no message", {EventType.COMMENT}, None, facts={"notified": True}),
    Case(
        "a new classification is sent",
        {EventType.RECLASSIFIED},
        EventType.RECLASSIFIED,
        facts={"notified": True},
    ),
    Case(
        "but not once it is acknowledged",
        {EventType.RECLASSIFIED},
        None,
        facts={"notified": True, "acknowledged": True},
    ),
    Case(
        "nor of what has become information",
        {EventType.RECLASSIFIED},
        None,
        facts={"notified": True, "is_information": True},
    ),
    Case(
        "an escalation is sent although it is acknowledged",
        {EventType.RECLASSIFIED, EventType.ESCALATED},
        EventType.ESCALATED,
        facts={"notified": True, "acknowledged": True},
    ),
    Case(
        "a closing goes to who got an earlier message",
        {EventType.CLOSED},
        EventType.CLOSED,
        facts={"state": IncidentState.CLOSED, "notified": True},
    ),
    Case(
        "a closing without an earlier message is not sent",
        {EventType.CLOSED},
        None,
        facts={"state": IncidentState.CLOSED},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.sentence for case in CASES])
def test_the_reason_to_notify_a_channel(case: Case) -> None:
    facts = {
        "state": IncidentState.OPEN,
        "severity": Severity.WARNING,
        "live": True,
        "notified": False,
        **case.facts,
    }
    labels = make_labels(severity=facts.pop("severity").value)
    routed = bool(channel_targets(default_policy(case.channel), labels))
    reason = notification_reason(frozenset(case.events), routed=routed, history=case.channel.history, **facts)
    assert reason == case.expected

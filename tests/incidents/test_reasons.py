"""Who is told of what: one case a sentence."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from holter.server.alerting.incident import EventType, IncidentState
from holter.server.alerting.routing import Route, notification_reason
from holter.types import Severity

ALL = Route(channel="slack")
WORST = Route(channel="pager", minimum=Severity.CRITICAL)
HISTORY = Route(channel="archive", history=True)


class Case(NamedTuple):
    sentence: str
    events: set[EventType]
    expected: EventType | None
    route: Route = ALL
    facts: dict[str, Any] = {}


CASES = [
    Case("what opens is told", {EventType.OPENED}, EventType.OPENED),
    Case("information is told to nobody", {EventType.OPENED}, None, facts={"severity": Severity.INFO}),
    Case("a channel for the worst hears no warning", {EventType.OPENED}, None, WORST),
    Case(
        "a channel for the worst hears of what gets worse",
        {EventType.ESCALATED, EventType.RECLASSIFIED},
        EventType.ESCALATED,
        WORST,
        {"severity": Severity.CRITICAL},
    ),
    Case("an old run that is imported tells nobody", {EventType.OPENED}, None, facts={"live": False}),
    Case("unless a channel asks for history", {EventType.OPENED}, EventType.OPENED, HISTORY, {"live": False}),
    Case("what is open when a run has caught up is told then", set(), EventType.OPENED),
    Case("what ended while a run caught up is not", set(), None, facts={"state": IncidentState.RECOVERED}),
    Case(
        "what nobody was told of recovers in silence",
        {EventType.RECOVERED},
        None,
        facts={"state": IncidentState.RECOVERED},
    ),
    Case(
        "what began and ended between two looks is told once",
        {EventType.OPENED, EventType.RECOVERED},
        EventType.OPENED,
        facts={"state": IncidentState.RECOVERED},
    ),
    Case(
        "recovery is told to who heard of the incident",
        {EventType.RECOVERED},
        EventType.RECOVERED,
        facts={"state": IncidentState.RECOVERED, "notified": True},
    ),
    Case(
        "recovery is told although the run is no longer live",
        {EventType.RECOVERED},
        EventType.RECOVERED,
        facts={"state": IncidentState.RECOVERED, "notified": True, "live": False},
    ),
    Case(
        "recovery outweighs a new name",
        {EventType.RECOVERED, EventType.RECLASSIFIED},
        EventType.RECOVERED,
        facts={"state": IncidentState.RECOVERED, "notified": True},
    ),
    Case("nothing new is no message", set(), None, facts={"notified": True}),
    Case("a comment is no message", {EventType.COMMENT}, None, facts={"notified": True}),
    Case("a new name is told", {EventType.RECLASSIFIED}, EventType.RECLASSIFIED, facts={"notified": True}),
    Case(
        "but not to someone who is on it",
        {EventType.RECLASSIFIED},
        None,
        facts={"notified": True, "acknowledged": True},
    ),
    Case(
        "who is on it still hears that it got worse",
        {EventType.RECLASSIFIED, EventType.ESCALATED},
        EventType.ESCALATED,
        facts={"notified": True, "acknowledged": True},
    ),
    Case(
        "that it was closed is told to who heard of it",
        {EventType.CLOSED},
        EventType.CLOSED,
        facts={"state": IncidentState.CLOSED, "notified": True},
    ),
    Case(
        "closed before anyone was told is no message",
        {EventType.CLOSED},
        None,
        facts={"state": IncidentState.CLOSED},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.sentence for case in CASES])
def test_a_channel_is_told_what_it_should(case: Case) -> None:
    facts = {
        "state": IncidentState.OPEN,
        "severity": Severity.WARNING,
        "live": True,
        "notified": False,
        **case.facts,
    }
    assert notification_reason(frozenset(case.events), case.route, **facts) == case.expected

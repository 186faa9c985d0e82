"""Who is told of what: one case a sentence."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from holter.server.alerting.lifecycle import Event, State
from holter.server.alerting.routing import Route, reason
from holter.types import Severity

ALL = Route(channel="slack")
WORST = Route(channel="pager", minimum=Severity.CRITICAL)
HISTORY = Route(channel="archive", history=True)


class Case(NamedTuple):
    sentence: str
    events: set[Event]
    expected: Event | None
    route: Route = ALL
    facts: dict[str, Any] = {}


CASES = [
    Case("what opens is told", {Event.OPENED}, Event.OPENED),
    Case("information is told to nobody", {Event.OPENED}, None, facts={"severity": Severity.INFO}),
    Case("a channel for the worst hears no warning", {Event.OPENED}, None, WORST),
    Case(
        "a channel for the worst hears of what gets worse",
        {Event.ESCALATED, Event.RECLASSIFIED},
        Event.ESCALATED,
        WORST,
        {"severity": Severity.CRITICAL},
    ),
    Case("an old run that is imported tells nobody", {Event.OPENED}, None, facts={"live": False}),
    Case("unless a channel asks for history", {Event.OPENED}, Event.OPENED, HISTORY, {"live": False}),
    Case("what is open when a run has caught up is told then", set(), Event.OPENED),
    Case("what ended while a run caught up is not", set(), None, facts={"state": State.RECOVERED}),
    Case(
        "what nobody was told of recovers in silence",
        {Event.RECOVERED},
        None,
        facts={"state": State.RECOVERED},
    ),
    Case(
        "what began and ended between two looks is told once",
        {Event.OPENED, Event.RECOVERED},
        Event.OPENED,
        facts={"state": State.RECOVERED},
    ),
    Case(
        "recovery is told to who heard of the incident",
        {Event.RECOVERED},
        Event.RECOVERED,
        facts={"state": State.RECOVERED, "told": True},
    ),
    Case(
        "recovery is told although the run is no longer live",
        {Event.RECOVERED},
        Event.RECOVERED,
        facts={"state": State.RECOVERED, "told": True, "live": False},
    ),
    Case(
        "recovery outweighs a new name",
        {Event.RECOVERED, Event.RECLASSIFIED},
        Event.RECOVERED,
        facts={"state": State.RECOVERED, "told": True},
    ),
    Case("nothing new is no message", set(), None, facts={"told": True}),
    Case("a comment is no message", {Event.COMMENT}, None, facts={"told": True}),
    Case("a new name is told", {Event.RECLASSIFIED}, Event.RECLASSIFIED, facts={"told": True}),
    Case(
        "but not to someone who is on it",
        {Event.RECLASSIFIED},
        None,
        facts={"told": True, "acknowledged": True},
    ),
    Case(
        "who is on it still hears that it got worse",
        {Event.RECLASSIFIED, Event.ESCALATED},
        Event.ESCALATED,
        facts={"told": True, "acknowledged": True},
    ),
    Case(
        "that it was closed is told to who heard of it",
        {Event.CLOSED},
        Event.CLOSED,
        facts={"state": State.CLOSED, "told": True},
    ),
    Case("closed before anyone was told is no message", {Event.CLOSED}, None, facts={"state": State.CLOSED}),
]


@pytest.mark.parametrize("case", CASES, ids=[case.sentence for case in CASES])
def test_a_channel_is_told_what_it_should(case: Case) -> None:
    facts = {"state": State.OPEN, "severity": Severity.WARNING, "live": True, "told": False, **case.facts}
    assert reason(frozenset(case.events), case.route, **facts) == case.expected

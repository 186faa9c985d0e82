"""Alerts of PagerDuty follow the incidents that opened them, also where many are reported at once."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine

from tests.support.alerting import Alerting, Clock, add_run, make_candidate
from tests.support.endpoints import Endpoint


@pytest.fixture
def alerting(engine: Engine, clock: Clock, endpoint: Endpoint) -> Alerting:
    return Alerting(engine, clock, pagerduty_at(endpoint, settle=0))


def pagerduty_at(endpoint: Endpoint, **options: Any) -> dict[str, dict[str, Any]]:
    channel = {"type": "pagerduty", "routing_key": "R012", "api_url": endpoint.url, "allow_private": True}
    return {"team": {**channel, "calm": 0, **options}}


def events(endpoint: Endpoint, action: str) -> list[dict[str, Any]]:
    return [event.json for event in endpoint.requests if event.json["event_action"] == action]


def test_what_people_and_holter_do_with_an_incident_happens_to_its_alert(
    alerting: Alerting, endpoint: Endpoint, run_id: int
) -> None:
    [incident] = alerting.incidents.update_run(run_id, [make_candidate()])
    alerting.send_due()
    alerting.incidents.acknowledge(incident.id, by="ana")
    alerting.send_due()
    alerting.incidents.close(incident.id, by="ana", text="rolled back")
    alerting.send_due()
    [opened] = events(endpoint, "trigger")
    assert {event["dedup_key"] for event in events(endpoint, "acknowledge")} == {opened["dedup_key"]}
    assert {event["dedup_key"] for event in events(endpoint, "resolve")} == {opened["dedup_key"]}
    assert opened["links"][1]["href"].endswith("/runs/id-104b")


@pytest.mark.slow
def test_each_of_many_alerts_is_resolved_although_their_ends_are_one_summary(
    alerting: Alerting, endpoint: Endpoint, engine: Engine, clock: Clock
) -> None:
    numbers = []
    for number in range(24):
        clock.now += 1000  # fewer than `burst` within `window`
        run = add_run(engine, f"run-{number}", at=clock.now)
        [incident] = alerting.incidents.update_run(run, [make_candidate()])
        numbers.append(incident.id)
        alerting.send_due()
    assert len({event["dedup_key"] for event in events(endpoint, "trigger")}) == 24
    clock.now += 1000
    for number in numbers:
        alerting.incidents.close(number, by="ana", text="the switch was replaced")
    alerting.send_due()
    assert {event["dedup_key"] for event in events(endpoint, "resolve")} == {
        event["dedup_key"] for event in events(endpoint, "trigger")
    }


def test_an_alert_about_many_incidents_is_resolved_with_the_last(
    alerting: Alerting, endpoint: Endpoint, engine: Engine
) -> None:
    numbers = []
    for number in range(15):
        run = add_run(engine, f"run-{number}")
        [incident] = alerting.incidents.update_run(run, [make_candidate()])
        numbers.append(incident.id)
    alerting.send_due()
    [opened] = events(endpoint, "trigger")
    for number in numbers[:-1]:
        alerting.incidents.close(number, by="ana", text="")
    alerting.send_due()
    assert events(endpoint, "resolve") == []
    alerting.clock.now += 1000
    alerting.incidents.close(numbers[-1], by="ana", text="")
    alerting.send_due()
    assert {event["dedup_key"] for event in events(endpoint, "resolve")} == {opened["dedup_key"]}


def test_the_alert_of_a_group_stays_open_while_one_of_its_incidents_is(
    engine: Engine, clock: Clock, endpoint: Endpoint
) -> None:
    route = {"receiver": "team", "group_by": ["kind"], "group_wait": "10s", "group_interval": "5m"}
    alerting = Alerting(engine, clock, pagerduty_at(endpoint), {"route": route})
    numbers = [
        alerting.incidents.update_run(add_run(engine, f"r{number}"), [make_candidate()])[0].id
        for number in range(2)
    ]
    clock.now += 11
    assert alerting.send_due() == 1
    [opened] = events(endpoint, "trigger")
    alerting.incidents.close(numbers[0], by="ana", text="")
    clock.now += 301
    assert alerting.send_due() == 1
    assert events(endpoint, "resolve") == []
    alerting.incidents.close(numbers[1], by="ana", text="")
    clock.now += 301
    assert alerting.send_due() == 1
    assert {event["dedup_key"] for event in events(endpoint, "resolve")} == {opened["dedup_key"]}

"""PagerDuty and Opsgenie: alerts that open, are acknowledged and end as their incidents do."""

from __future__ import annotations

from hypothesis import given, settings

from holter.server.channels import Delivered, GiveUp
from holter.server.channels.channel import Channel, UpdatingChannel
from holter.server.channels.message import Message
from holter.server.channels.opsgenie import build_alert as opsgenie_alert
from holter.server.channels.pagerduty import build_alert as pagerduty_alert
from holter.server.channels.texts import alert_key
from holter.types import Severity
from tests.support.channel_messages import (
    MESSAGES,
    acknowledged_message,
    ended_message,
    message_about,
    open_channel,
)
from tests.support.endpoints import Endpoint
from tests.support.receivers import make_incident


def pagerduty(endpoint: Endpoint) -> Channel:
    endpoint.reply = type(endpoint.reply)(202, '{"status": "success"}')
    return open_channel("pagerduty", routing_key="R0123456789", api_url=endpoint.url)


def opsgenie(endpoint: Endpoint, **settings: object) -> Channel:
    endpoint.reply = type(endpoint.reply)(202, '{"result": "Request will be processed"}')
    return open_channel("opsgenie", api_key="k-1", api_url=endpoint.url, **settings)


def thread_of(channel: Channel, message: Message) -> str:
    outcome = channel.send(message, None)
    assert isinstance(outcome, Delivered)
    assert outcome.thread is not None
    return outcome.thread


def test_pagerduty_opens_acknowledges_and_resolves_one_alert(endpoint: Endpoint) -> None:
    channel = pagerduty(endpoint)
    thread = thread_of(channel, message_about())
    assert channel.send(acknowledged_message(), thread) == Delivered(thread)
    assert channel.send(ended_message(), thread) == Delivered(thread)
    events = [request.json for request in endpoint.requests]
    assert [event["event_action"] for event in events] == ["trigger", "acknowledge", "resolve"]
    assert {event["dedup_key"] for event in events} == {thread}
    assert {event["routing_key"] for event in events} == {"R0123456789"}
    assert all(request.path == "/v2/enqueue" for request in endpoint.requests)
    payload = events[0]["payload"]
    assert payload["severity"] == "warning"
    assert payload["source"] == "104b-emb-norm"
    assert payload["class"] == "spike_slow"
    assert "Loss rose from 2.31 to 4.02" in payload["summary"]
    assert events[0]["links"][0]["href"] == "https://holter/incidents/17"
    assert "payload" not in events[2]


def test_a_message_that_is_sent_again_has_the_same_key(endpoint: Endpoint) -> None:
    channel = pagerduty(endpoint)
    assert thread_of(channel, message_about()) == thread_of(channel, message_about(key="17.9.team"))
    assert alert_key(message_about()) != alert_key(message_about(group="incident-18"))
    assert alert_key(message_about()) != alert_key(message_about(link="https://other/incidents/17"))


def test_severities_are_those_of_the_services() -> None:
    for severity, pagerduty_name, priority in (
        (Severity.CRITICAL, "critical", "P1"),
        (Severity.WARNING, "warning", "P3"),
        (Severity.INFO, "info", "P5"),
    ):
        message = message_about(make_incident(severity=severity.value))
        assert pagerduty_alert(message)["payload"]["severity"] == pagerduty_name
        assert opsgenie_alert(message, "a")["priority"] == priority


def test_the_end_of_one_of_two_incidents_does_not_resolve_their_alert(endpoint: Endpoint) -> None:
    channel = pagerduty(endpoint)
    thread = thread_of(channel, message_about())
    channel.send(ended_message(resolved=False), thread)
    assert [request.json["event_action"] for request in endpoint.requests] == ["trigger"]


def test_alerts_of_a_summary_are_resolved_by_updates(endpoint: Endpoint) -> None:
    channel = pagerduty(endpoint)
    assert isinstance(channel, UpdatingChannel)
    thread = thread_of(channel, message_about())
    summary = ended_message(reason="summary", group="17.1.team")
    assert channel.update(summary, thread) == Delivered(thread)
    channel.send(summary, None)  # everything in it has ended: no alert begins
    assert [request.json["event_action"] for request in endpoint.requests] == ["trigger", "resolve"]


def test_a_digest_is_no_alert(endpoint: Endpoint) -> None:
    for channel in (pagerduty(endpoint), opsgenie(endpoint)):
        assert isinstance(channel.send(message_about(reason="digest", incidents=()), None), GiveUp)
    assert endpoint.requests == []


def test_opsgenie_creates_acknowledges_and_closes_one_alert(endpoint: Endpoint) -> None:
    channel = opsgenie(endpoint, teams=["ML"])
    thread = thread_of(channel, message_about())
    channel.send(acknowledged_message(), thread)
    channel.send(ended_message(), thread)
    created, acknowledged, closed = endpoint.requests
    assert created.path == "/v2/alerts"
    assert created.headers["authorization"] == "GenieKey k-1"
    assert created.json["alias"] == thread
    assert created.json["responders"] == [{"type": "team", "name": "ML"}]
    assert created.json["details"]["kind"] == "spike_slow"
    assert acknowledged.path == f"/v2/alerts/{thread}/acknowledge"
    assert closed.path == f"/v2/alerts/{thread}/close"
    assert closed.query == {"identifierType": "alias"}


def test_an_alert_that_somebody_deleted_is_closed(endpoint: Endpoint) -> None:
    channel = opsgenie(endpoint)
    thread = thread_of(channel, message_about())
    endpoint.fail(404)
    assert channel.send(ended_message(), thread) == Delivered(thread)


@settings(max_examples=25)
@given(MESSAGES)
def test_any_message_keeps_pagerdutys_limits(message: Message) -> None:
    alert = pagerduty_alert(message)
    payload = alert["payload"]
    assert 0 < len(payload["summary"]) <= 1024
    assert 0 < len(payload["source"]) <= 255
    assert all(link["href"].startswith("https://") for link in alert["links"])
    assert payload["severity"] in {"critical", "warning", "info"}
    assert len(alert_key(message)) <= 255
    assert len(str(alert)) < 512 * 1024


@settings(max_examples=25)
@given(MESSAGES)
def test_any_message_keeps_opsgenies_limits(message: Message) -> None:
    alert = opsgenie_alert(message, alert_key(message))
    assert len(alert["message"]) <= 130
    assert len(alert["alias"]) <= 512
    assert len(alert["description"]) <= 15_000
    assert len(alert["entity"]) <= 512
    assert len(alert["tags"]) <= 20
    assert all(len(tag) <= 50 for tag in alert["tags"])
    assert sum(len(name) + len(value) for name, value in alert["details"].items()) <= 8_000

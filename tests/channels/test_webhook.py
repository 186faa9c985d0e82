"""Webhooks: signed documents, Holter's and Alertmanager's, to an address of the user's own."""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import replace
from typing import Any

from hypothesis import given

from holter.server.channels import Delivered
from holter.server.channels.message import Message
from holter.server.channels.webhook_documents import alertmanager_document, holter_document
from tests.support.channel_messages import MESSAGES, ended_message, message_about, open_channel
from tests.support.documentation import ROOT, blocks_of
from tests.support.endpoints import Endpoint

SECRET = "a secret of signatures"


def test_the_document_has_everything_about_the_incident(endpoint: Endpoint) -> None:
    channel = open_channel("webhook", url=f"{endpoint.url}/hook?a=b")
    assert channel.send(message_about(), None) == Delivered()
    request = endpoint.only
    assert (request.path, request.query) == ("/hook", {"a": "b"})
    assert request.headers["idempotency-key"] == "17.0.team"
    document = request.json
    assert document["version"] == "1"
    assert document["status"] == "firing"
    assert document["reason"] == "opened"
    assert document["group"] == "incident-17"
    assert document["sent_at"] == "2023-11-14T22:15:00.000Z"
    [incident] = document["incidents"]
    assert incident["labels"]["kind"] == "spike_slow"
    assert incident["started_at"] == "2023-11-14T22:13:20.000Z"
    assert incident["ended_at"] is None
    assert incident["run"] == "k3v9"


def test_a_receiver_can_verify_the_signature(endpoint: Endpoint) -> None:
    channel = open_channel("webhook", url=endpoint.url, signing_secret=SECRET, token="t-1")
    channel.send(message_about(), None)
    request = endpoint.only
    timestamp = request.headers["holter-timestamp"]
    expected = hmac.new(SECRET.encode(), f"{timestamp}.".encode() + request.body, hashlib.sha256).hexdigest()
    assert request.headers["holter-signature"] == f"v1={expected}"
    assert abs(time.time() - int(timestamp)) < 60
    assert request.headers["authorization"] == "Bearer t-1"


def test_the_documented_verification_accepts_what_is_sent_and_nothing_else(endpoint: Endpoint) -> None:
    names: dict[str, Any] = {}
    [snippet] = blocks_of(ROOT / "docs" / "channels.md", "python")
    exec(snippet.text, names)
    open_channel("webhook", url=endpoint.url, signing_secret=SECRET).send(message_about(), None)
    request = endpoint.only
    headers = {name: request.headers[name.lower()] for name in ("Holter-Timestamp", "Holter-Signature")}
    verify = names["is_from_holter"]
    assert verify(SECRET, headers, request.body)
    assert not verify("another secret", headers, request.body)
    assert not verify(SECRET, headers, request.body + b" ")
    assert not verify(SECRET, headers | {"Holter-Timestamp": "1700000000"}, request.body)
    assert not verify(SECRET, headers, request.body, tolerance=-1.0)


def test_alertmanagers_format_names_the_same_alert_when_it_ends(endpoint: Endpoint) -> None:
    channel = open_channel("webhook", url=endpoint.url, format="alertmanager")
    channel.send(message_about(), None)
    channel.send(ended_message(), None)
    first, last = (request.json for request in endpoint.requests)
    assert first["version"] == "4"
    assert (first["status"], last["status"]) == ("firing", "resolved")
    assert first["groupKey"] == last["groupKey"]
    [alert], [ended] = first["alerts"], last["alerts"]
    assert alert["labels"]["alertname"] == "spike_slow"
    assert alert["fingerprint"] == ended["fingerprint"]
    assert alert["endsAt"] == "0001-01-01T00:00:00Z"
    assert ended["endsAt"] == "2023-11-14T22:14:50.000Z"
    assert first["externalURL"] == "https://holter"


def test_a_failing_channel_is_an_alert_that_ends_when_it_works_again() -> None:
    notice = replace(message_about(), incidents=(), resolved=True, group="failing.pager.7.hook")
    failing, working = (
        alertmanager_document(replace(notice, key=f"{reason}.pager.7.hook", reason=f"channel_{reason}"))
        for reason in ("failing", "working")
    )
    assert (failing["status"], working["status"]) == ("firing", "resolved")
    assert failing["groupKey"] == working["groupKey"]
    [alert], [ended] = failing["alerts"], working["alerts"]
    assert alert["fingerprint"] == ended["fingerprint"]
    assert alert["labels"]["alertname"] == ended["labels"]["alertname"] == "holter_channel_failing"
    assert alert["endsAt"] == "0001-01-01T00:00:00Z" != ended["endsAt"]


@given(MESSAGES)
def test_every_message_has_both_documents(message: Message) -> None:
    assert len(holter_document(message)["incidents"]) == len(message.incidents)
    document = alertmanager_document(message)
    assert len(document["alerts"]) == max(1, len(message.incidents))
    for alert in document["alerts"]:
        assert all(name.replace("_", "a").isalnum() and not name[0].isdigit() for name in alert["labels"])
        assert document["commonLabels"].items() <= alert["labels"].items()

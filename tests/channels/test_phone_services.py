"""ntfy and Pushover: notifications on phones."""

from __future__ import annotations

from urllib.parse import parse_qs

import hypothesis
import pytest
from hypothesis import given

from holter.server.channels import ChannelError, Delivered, Retry, open_channels
from holter.server.channels.channel import Channel, UpdatingChannel
from holter.server.channels.message import Message
from holter.server.channels.ntfy import MESSAGE, PICTURE_MESSAGE, build_payload
from holter.server.channels.pushover import PushoverSettings, build_fields
from tests.support.channel_messages import (
    MESSAGES,
    PICTURE,
    acknowledged_message,
    ended_message,
    message_about,
    open_channel,
)
from tests.support.endpoints import Endpoint
from tests.support.receivers import make_incident


def ntfy(endpoint: Endpoint) -> Channel:
    return open_channel("ntfy", server=endpoint.url, topic="training-x7", token="tk_1")


def pushover(endpoint: Endpoint, **settings: object) -> Channel:
    return open_channel("pushover", token="app", user="usr", api_url=endpoint.url, **settings)


def test_ntfy_gets_title_text_priority_and_link(endpoint: Endpoint) -> None:
    assert ntfy(endpoint).send(message_about(), None) == Delivered()
    request = endpoint.only
    assert request.headers["authorization"] == "Bearer tk_1"
    assert request.json["topic"] == "training-x7"
    assert request.json["priority"] == 4
    assert request.json["tags"] == ["warning"]
    assert request.json["click"] == "https://holter/incidents/17"
    assert "Loss rose from 2.31 to 4.02" in request.json["message"]


def test_ntfy_gets_the_picture_as_an_attachment(endpoint: Endpoint) -> None:
    incident = make_incident(run="Läufe & \r\nX-Priority: 1")
    assert ntfy(endpoint).send(message_about(incident, picture=PICTURE), None) == Delivered()
    request = endpoint.only
    assert (request.method, request.path, request.body) == ("PUT", "/training-x7", PICTURE)
    assert request.query["filename"] == "curve.png"
    assert request.query["title"] == message_about(incident).headline
    assert "x-priority" not in request.headers


def test_ntfy_without_attachments_gets_the_text(endpoint: Endpoint) -> None:
    endpoint.fail(400, '{"error": "attachments not allowed"}')
    assert ntfy(endpoint).send(message_about(picture=PICTURE), None) == Delivered()
    assert [request.method for request in endpoint.requests] == ["PUT", "POST"]


def test_a_message_that_is_sent_again_replaces_itself_in_ntfy() -> None:
    first, again = build_payload(message_about(), MESSAGE), build_payload(message_about(), MESSAGE)
    assert first["sequence_id"] == again["sequence_id"]
    assert build_payload(ended_message(), MESSAGE)["sequence_id"] != first["sequence_id"]


def test_ends_are_quiet(endpoint: Endpoint) -> None:
    assert build_payload(ended_message(), MESSAGE)["priority"] == 3
    pushover(endpoint).send(ended_message(), None)
    assert endpoint.only.part("priority") == b"-1"


def test_pushover_gets_text_link_and_picture(endpoint: Endpoint) -> None:
    assert pushover(endpoint).send(message_about(picture=PICTURE), None) == Delivered()
    request = endpoint.only
    assert request.path == "/1/messages.json"
    assert (request.part("token"), request.part("user")) == (b"app", b"usr")
    assert request.part("url") == b"https://holter/incidents/17"
    assert request.part("attachment") == PICTURE
    assert request.part("priority") == b"0"
    assert "retry" not in request.parts


def test_a_critical_incident_is_an_emergency_only_if_the_settings_say_so(endpoint: Endpoint) -> None:
    critical = message_about(make_incident(severity="critical"))
    pushover(endpoint).send(critical, None)
    pushover(endpoint, retry=60, expire=3600).send(critical, None)
    high, emergency = endpoint.requests
    assert high.part("priority") == b"1"
    assert [emergency.part(name) for name in ("priority", "retry", "expire")] == [b"2", b"60", b"3600"]


def test_an_emergency_ends_when_somebody_acknowledges_the_incident(endpoint: Endpoint) -> None:
    channel = pushover(endpoint, retry=60, expire=3600)
    outcome = channel.send(message_about(make_incident(severity="critical")), None)
    assert isinstance(outcome, Delivered)
    assert outcome.thread is not None
    assert isinstance(channel, UpdatingChannel)
    assert channel.update(message_about(), outcome.thread) == Delivered(outcome.thread)
    assert channel.update(acknowledged_message(), outcome.thread) == Delivered(outcome.thread)
    sent, cancelled = endpoint.requests
    assert sent.part("tags").decode() == outcome.thread
    assert cancelled.path == f"/1/receipts/cancel_by_tag/{outcome.thread}.json"
    assert parse_qs(cancelled.body.decode()) == {"token": ["app"]}


def test_a_wrong_token_waits_for_its_correction(endpoint: Endpoint) -> None:
    endpoint.fail(400, '{"token": "invalid", "errors": ["application token is invalid"], "status": 0}')
    assert isinstance(pushover(endpoint).send(message_about(), None), Retry)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"type": "pushover", "token": "a", "user": "b", "retry": 60}, "retry and expire"),
        ({"type": "pushover", "token": "a", "user": "b", "retry": 10, "expire": 60}, "retry"),
        ({"type": "pushover", "token": "a\r\nX: b", "user": "b"}, "token"),
        ({"type": "ntfy", "topic": "a/b"}, "topic"),
        ({"type": "ntfy", "topic": "a", "server": "ftp://x"}, "server"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, object], expected: str) -> None:
    with pytest.raises(ChannelError, match=rf"\[channels.team\].*{expected}"):
        open_channels({"team": settings})


@hypothesis.settings(max_examples=25)
@given(MESSAGES)
def test_any_message_keeps_the_limits_of_ntfy(message: Message) -> None:
    for limit in (MESSAGE, PICTURE_MESSAGE):
        payload = build_payload(message, limit)
        assert len(payload["message"].encode()) <= limit
        assert len(payload["title"].encode()) <= 250
        assert "\n" not in payload["title"]


@hypothesis.settings(max_examples=25)
@given(MESSAGES)
def test_any_message_keeps_the_limits_of_pushover(message: Message) -> None:
    settings = PushoverSettings(type="pushover", token="a", user="b", retry=30, expire=60)
    fields = build_fields(message, settings)
    assert 0 < len(fields["message"]) <= 1024
    assert len(fields["title"]) <= 250
    assert len(fields["url"]) <= 512
    assert len(fields["url_title"]) <= 100

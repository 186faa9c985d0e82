"""Apprise: services by their URL, through the real library in a process of its own."""

from __future__ import annotations

import base64
import time

import pytest

from holter.server.channels import ChannelError, Delivered, GiveUp, Retry, open_channels
from tests.support.channel_messages import PICTURE, message_about, open_channel
from tests.support.endpoints import Endpoint

pytestmark = pytest.mark.slow  # each send imports the library
SECRET = "very-secret"


def url_of(endpoint: Endpoint, path: str = SECRET) -> str:
    return f"{endpoint.url.replace('http://', 'json://')}/{path}?redirect=yes"


def test_the_message_arrives_with_its_picture(endpoint: Endpoint) -> None:
    channel = open_channel("apprise", url=url_of(endpoint))
    assert channel.destination == "Apprise (json://)"
    assert channel.send(message_about(picture=PICTURE), None) == Delivered()
    document = endpoint.only.json
    assert document["title"] == message_about().headline
    assert "Loss rose from 2.31 to 4.02" in document["message"]
    assert "https://holter/incidents/17" in document["message"]
    assert document["type"] == "warning"
    [attachment] = document["attachments"]
    assert attachment["filename"] == "curve.png"
    assert base64.b64decode(attachment["base64"]) == PICTURE


def test_a_picture_larger_than_the_pipe_to_the_process_arrives(endpoint: Endpoint) -> None:
    picture = PICTURE + bytes(200_000)  # a pipe holds 64 KiB, and the process reads after its imports only
    channel = open_channel("apprise", url=url_of(endpoint), deadline=20)
    assert channel.send(message_about(picture=picture), None) == Delivered()
    assert base64.b64decode(endpoint.only.json["attachments"][0]["base64"]) == picture


@pytest.mark.parametrize("status", [503, 302])
def test_a_failure_or_redirect_is_tried_again_and_names_no_secret(
    endpoint: Endpoint, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.fail(status, SECRET, Location=f"{endpoint.url}/elsewhere")
    outcome = open_channel("apprise", url=url_of(endpoint)).send(message_about(), None)
    assert outcome == Retry(f"Apprise: the service did not accept the message ({status})")
    assert len(endpoint.requests) == 1
    assert SECRET not in caplog.text


def test_a_service_that_hangs_is_left_at_the_deadline(endpoint: Endpoint) -> None:
    endpoint.fail(200, delay=60)
    began = time.monotonic()
    outcome = open_channel("apprise", url=url_of(endpoint), deadline=2).send(message_about(), None)
    assert outcome == Retry("Apprise: not finished within 2 s")
    assert time.monotonic() - began < 30


def test_private_addresses_are_refused(endpoint: Endpoint) -> None:
    outcome = open_channel("apprise", url=url_of(endpoint), allow_private=False).send(message_about(), None)
    assert isinstance(outcome, Retry)
    assert "allow_private" in outcome.reason
    assert endpoint.requests == []


def test_an_unknown_service_is_given_up() -> None:
    assert isinstance(open_channel("apprise", url="pigeon://loft").send(message_about(), None), GiveUp)


def test_what_is_no_url_is_refused_at_the_start() -> None:
    with pytest.raises(ChannelError, match=r"\[channels.team\] url: expected a URL of Apprise's"):
        open_channels({"team": {"type": "apprise", "url": SECRET}})

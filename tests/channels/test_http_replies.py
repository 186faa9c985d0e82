"""What the replies of services mean, for every channel that sends by HTTP."""

from __future__ import annotations

import time
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.server.channels import Delivered, GiveUp, Retry
from holter.server.channels.channel import Channel
from holter.server.channels.http_channel import retry_after
from tests.support.channel_messages import message_about, open_channel
from tests.support.endpoints import Endpoint

SECRET = "0123456789abcdef0123456789abcdef"
SETTINGS: dict[str, dict[str, Any]] = {
    "webhook": {"url": "{address}/" + SECRET, "signing_secret": SECRET},
    "pagerduty": {"api_url": "{address}", "routing_key": SECRET},
    "opsgenie": {"api_url": "{address}", "api_key": SECRET},
    "teams": {"url": "{address}/" + SECRET},
    "discord": {"url": "{address}/" + SECRET},
    "ntfy": {"server": "{address}", "topic": SECRET, "token": SECRET},
    "pushover": {"api_url": "{address}", "token": SECRET, "user": SECRET},
}
EVERY = pytest.mark.parametrize("kind", SETTINGS)


def channel_at(endpoint: Endpoint, kind: str, **settings: Any) -> Channel:
    own = {name: value.format(address=endpoint.url) for name, value in SETTINGS[kind].items()}
    return open_channel(kind, **own, **settings)


@EVERY
def test_what_is_accepted_is_delivered(endpoint: Endpoint, kind: str) -> None:
    endpoint.fail(202)
    assert isinstance(channel_at(endpoint, kind).send(message_about(), None), Delivered)
    assert SECRET not in endpoint.only.headers.get("user-agent", "")


@EVERY
def test_too_many_requests_wait_as_long_as_the_service_asks(endpoint: Endpoint, kind: str) -> None:
    channel = channel_at(endpoint, kind)
    endpoint.fail(429, Retry_After="17")
    outcome = channel.send(message_about(), None)
    assert isinstance(outcome, Retry)
    assert outcome.after == 17
    endpoint.fail(503, Retry_After=formatdate(time.time() + 90, usegmt=True))
    outcome = channel.send(message_about(), None)
    assert isinstance(outcome, Retry)
    assert 60 < outcome.after <= 90  # the time until that date


@EVERY
@pytest.mark.parametrize(
    ("status", "after"), [(500, None), (502, None), (408, None), (401, 300), (404, 300), (302, 300)]
)
def test_what_may_work_later_is_tried_again(
    endpoint: Endpoint, kind: str, status: int, after: float | None
) -> None:
    endpoint.fail(status)
    outcome = channel_at(endpoint, kind).send(message_about(), None)
    assert isinstance(outcome, Retry)
    assert outcome.after == after
    assert str(status) in outcome.reason


@EVERY
@pytest.mark.parametrize("status", [400, 413, 422])
def test_what_no_attempt_changes_is_given_up_and_no_secret_is_named(
    endpoint: Endpoint, kind: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.fail(status, f'{{"error": "{SECRET} is wrong"}}')
    outcome = channel_at(endpoint, kind).send(message_about(), None)
    assert isinstance(outcome, GiveUp)
    assert "is wrong" in outcome.reason
    assert SECRET not in outcome.reason + caplog.text


@EVERY
def test_a_service_that_hangs_is_left_at_the_deadline(endpoint: Endpoint, kind: str) -> None:
    endpoint.fail(200, delay=60)
    began = time.monotonic()
    outcome = channel_at(endpoint, kind, deadline=0.2).send(message_about(), None)
    assert isinstance(outcome, Retry)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("30", 30),
        ("0.5", 0.5),
        (" 7 ", 7),
        ("Tue, 14 Nov 2023 22:15:00 GMT", 20),
        ("Tue, 14 Nov 2023 22:00:00 GMT", 0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1e9", None),
        ("nan", None),
        ("٣", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, now=1_700_000_080.0) == seconds


@given(st.text())
def test_any_retry_after_is_read(value: str) -> None:
    seconds = retry_after({"retry-after": value})
    assert seconds is None or seconds >= 0

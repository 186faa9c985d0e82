"""The signature and the content of what Slack sends when a button is pressed."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.server.channels.slack import SlackSettings, respond
from holter.server.channels.slack_requests import SlackRequestError, parse_press, signers
from tests.support.receivers import SIGNING_SECRET, signed

NOW = 1_531_420_618.0
EXAMPLE = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&"
    b"channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&"
    b"response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F"
    b"96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
"""The example of Slack's documentation, with its signature."""
SIGNATURE = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
SECRETS = {"team": SIGNING_SECRET, "other": "another secret"}


def test_the_example_of_slacks_documentation_is_signed() -> None:
    assert signers(SECRETS, EXAMPLE, "1531420618", SIGNATURE, now=NOW) == ("team",)


@pytest.mark.parametrize("age", [-301, 301, 86_400])
def test_a_copy_is_refused_after_five_minutes(age: float) -> None:
    assert signers(SECRETS, EXAMPLE, "1531420618", SIGNATURE, now=NOW + age) == ()
    assert signers(SECRETS, EXAMPLE, "1531420618", SIGNATURE, now=NOW + 299) == ("team",)


@pytest.mark.parametrize(
    ("timestamp", "signature"),
    [
        ("", SIGNATURE),
        ("1531420619", SIGNATURE),
        ("1531420618.0", SIGNATURE),
        ("١٥٣١٤٢٠٦١٨", SIGNATURE),
        ("1531420618", ""),
        ("1531420618", SIGNATURE[3:]),
        ("1531420618", SIGNATURE.upper()),
        ("1531420618", "v0=é\udc80"),
    ],
)
def test_anything_else_is_not_signed(timestamp: str, signature: str) -> None:
    assert signers(SECRETS, EXAMPLE, timestamp, signature, now=NOW) == ()
    assert signers(SECRETS, EXAMPLE + b"&", "1531420618", SIGNATURE, now=NOW) == ()


def body(**changes: Any) -> bytes:
    action = {"action_id": "holter_acknowledge", "value": "17", "action_ts": f"{NOW - 2:.6f}"}
    action |= changes.pop("action", {})
    user = {"id": "U1", "name": "ada", "username": "ada.l"}
    values = {"type": "block_actions", "user": user, "response_url": "https://x", "actions": [action]}
    return urlencode({"payload": json.dumps(values | changes)}).encode()


def test_a_press_names_the_person_the_time_and_the_incidents() -> None:
    press = parse_press(body(), now=NOW)
    assert press is not None
    assert (press.action, press.incident_ids, press.user, press.group) == (
        "holter_acknowledge",
        (17,),
        "ada",
        False,
    )
    assert press.pressed_at == NOW - 2
    group = parse_press(body(action={"value": "all:17,18"}), now=NOW)
    assert group is not None
    assert (group.incident_ids, group.group) == ((17, 18), True)


def test_names_are_one_short_line() -> None:
    press = parse_press(body(user={"id": "U1", "name": "a\n\u202eb" + "c" * 900}), now=NOW)
    assert press is not None
    assert press.user == "a  b" + "c" * 196


def test_times_that_cannot_be_are_now() -> None:
    for text in ("", "nan", "1e300", "99999999999", f"{NOW + 301}"):
        press = parse_press(body(action={"action_ts": text}), now=NOW)
        assert press is not None
        assert press.pressed_at == NOW


def test_what_is_no_button_of_ours_is_ignored() -> None:
    assert parse_press(body(type="view_submission"), now=NOW) is None
    assert parse_press(body(actions=[]), now=NOW) is None
    assert parse_press(body(action={"action_id": "poll_vote"}), now=NOW) is None
    assert parse_press(b"ssl_check=1&token=x", now=NOW) is None


@pytest.mark.parametrize(
    "wrong",
    [
        b"payload=",
        b"payload=%5B",
        b"payload=" + b"%5B" * 100_000,
        b"payload=1",
        b"\xff\xfe",
        b"a=1&" * 1000,
        body(actions=5),
        body(user="ada"),
        body(action={"value": ""}),
        body(action={"value": "1;2"}),
        body(action={"value": "9" * 400}),
    ],
)
def test_another_form_is_refused_in_words(wrong: bytes) -> None:
    if wrong == b"payload=":
        assert parse_press(wrong, now=NOW) is None  # an empty field is none
        return
    with pytest.raises(SlackRequestError):
        parse_press(wrong, now=NOW)


@given(
    st.binary(max_size=300)
    | st.text(max_size=300).map(lambda text: f"payload={text}".encode(errors="replace"))
)
def test_any_body_is_parsed_or_refused(noise: bytes) -> None:
    with suppress(SlackRequestError):
        parse_press(noise, now=NOW)
    assert signers(SECRETS, noise, "1531420618", SIGNATURE, now=NOW) == ()
    assert signers(SECRETS, noise, "1531420618", signed(noise, NOW)["X-Slack-Signature"], now=NOW) == (
        "team",
    )


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/actions/x",
        "https://hooks.slack.com.evil.example/x",
        "https://hooks.slack.com@evil.example/x",
        "http://hooks.slack.com/actions/x",
        "file:///etc/passwd",
        "http://127.0.0.1:1/actions/x",
        "https://[::1",
        "",
    ],
)
def test_answers_go_to_slack_only(address: str) -> None:
    settings = SlackSettings(type="slack", url="https://hooks.slack.com/services/x")  # type: ignore[arg-type]
    assert (
        getattr(respond(settings, address, {}), "reason", "") == "the address for the answer is not Slack's"
    )

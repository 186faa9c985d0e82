"""Slack, against an HTTP server that checks what it is sent as Slack does."""

from __future__ import annotations

import json
import logging
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.server.alerting.incident import EventType
from holter.server.alerting.messages import compose
from holter.server.alerting.messages_of_many import summarize
from holter.server.channels import Delivered, GiveUp, Message, Retry, open_channels
from holter.server.channels.channel import Channel
from holter.server.channels.slack import build_payload
from tests.support.receivers import SlackServer, checked, make_incident

TOKEN = "xoxb-very-secret"


def message(reason: str = "opened", picture: bytes | None = None, **changes: Any) -> Message:
    return compose(
        make_incident(**changes),
        key="17.0.team",
        reason=EventType(reason),
        sent_at=1_700_000_240.0,
        address="http://127.0.0.1:8765",
        sketch="▁▁█▃▁  2.1 to 4.0",
        picture=picture,
    )


def webhook(slack: SlackServer, **options: Any) -> Channel:
    url = f"{slack.url}/services/T0/B0/very-secret"
    return open_channels({"team": {"type": "slack", "url": url, **options}})["team"].channel


def bot(slack: SlackServer) -> Channel:
    options = {"type": "slack", "token": TOKEN, "channel": "#training", "api_url": f"{slack.url}/api"}
    return open_channels({"team": options})["team"].channel


def test_a_webhook_gets_the_incident_as_block_kit(slack: SlackServer) -> None:
    assert webhook(slack).send(message(), None) == Delivered()
    [sent] = slack.payloads
    text = json.dumps(sent, ensure_ascii=False)
    assert sent["blocks"][0]["text"]["text"] == (
        ":large_orange_circle: Slow loss spike in 104b-emb-norm at step 1,514"
    )
    for part in ("Loss rose from 2.31", "What to do", "▁▁█▃▁", "http://127.0.0.1:8765/incidents/17", "97%"):
        assert part in text


def test_a_later_message_names_the_incident_and_links_to_it(slack: SlackServer) -> None:
    webhook(slack).send(message("recovered", state="recovered", end_step=1890), None)
    [sent] = slack.payloads
    assert sent["text"].startswith("Recovered: slow loss spike in 104b-emb-norm at step 1,514")
    assert "incidents/17" in json.dumps(sent)


def test_a_bot_keeps_an_incident_in_one_thread_with_its_picture(slack: SlackServer) -> None:
    channel = bot(slack)
    first = channel.send(message(picture=b"\x89PNG..."), None)
    assert first == Delivered(thread="17.1")
    assert channel.send(message("recovered", picture=b"\x89PNG..."), "17.1") == Delivered(thread="17.1")
    assert slack.uploads == [b"\x89PNG..."]
    methods = [method for method, _ in slack.calls]
    upload = ["files.getUploadURLExternal", "files.completeUploadExternal"]
    assert methods == ["chat.postMessage", *upload, "chat.postMessage"]
    assert "thread_ts" not in slack.calls[0][1]
    assert slack.calls[2][1]["thread_ts"] == slack.calls[3][1]["thread_ts"] == "17.1"
    assert slack.calls[0][1]["metadata"]["event_payload"] == {"key": "17.0.team"}
    assert f"Bearer {TOKEN}" in slack.tokens


def test_a_thread_that_was_deleted_starts_anew(slack: SlackServer) -> None:
    assert bot(slack).send(message("recovered"), "gone") == Delivered(thread="gone")
    assert len(slack.payloads) == 1


def test_a_picture_that_slack_does_not_take_does_not_matter(slack: SlackServer) -> None:
    slack.take = lambda path, kind, body: json.dumps(  # type: ignore[method-assign]
        {"ok": path.endswith("postMessage"), "ts": "17.1", "channel": "C1", "error": "missing_scope"}
    )
    assert bot(slack).send(message(picture=b"png"), None) == Delivered(thread="17.1")


@pytest.mark.parametrize(
    ("status", "body", "headers", "expected"),
    [
        (429, "", {"Retry-After": "30"}, Retry("Slack answered 429", after=30)),
        (500, "oops", {}, Retry("Slack answered 500 oops")),
        (503, "", {}, Retry("Slack answered 503")),
        (404, "no_service", {}, Retry("Slack answered 404 no_service", after=300)),
        (302, "", {"Location": "http://127.0.0.1:1/"}, Retry("Slack answered 302", after=300)),
        (400, "invalid_blocks", {}, GiveUp("Slack answered 400 invalid_blocks")),
    ],
)
def test_a_webhook_that_refuses_is_understood(
    slack: SlackServer, status: int, body: str, headers: dict[str, str], expected: object
) -> None:
    slack.answer(status, body, headers=headers)
    assert webhook(slack).send(message(), None) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("ratelimited", Retry("Slack answered 200 ratelimited")),
        ("invalid_auth", Retry("Slack answered 200 invalid_auth", after=300)),
        ("channel_not_found", Retry("Slack answered 200 channel_not_found", after=300)),
        ("invalid_blocks", GiveUp("Slack answered 200 invalid_blocks")),
    ],
)
def test_an_api_that_refuses_is_understood(slack: SlackServer, error: str, expected: object) -> None:
    slack.answer(200, json.dumps({"ok": False, "error": error}))
    assert bot(slack).send(message(), None) == expected


def test_an_answer_that_is_no_json_is_tried_again(slack: SlackServer) -> None:
    slack.answer(502, "<html>bad gateway</html>")
    assert isinstance(bot(slack).send(message(), None), Retry)


def test_a_server_that_does_not_answer_costs_no_more_than_the_timeout(slack: SlackServer) -> None:
    slack.answer(200, "ok", delay=60)
    began = time.monotonic()
    assert webhook(slack, timeout=0.3).send(message(), None) == Retry("Slack: no answer in time")
    assert time.monotonic() - began < 30


def test_the_address_of_a_webhook_is_in_no_log(slack: SlackServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    channel = webhook(slack)
    slack.answer(500, "oops")
    results = [channel.send(message(), None), channel.send(message(), None), channel.destination, channel]
    assert "very-secret" not in caplog.text + repr(results)


TEXTS = st.text(max_size=5000)


@given(TEXTS, TEXTS, TEXTS, st.dictionaries(st.text(max_size=300), st.floats(), max_size=40))
def test_any_message_stays_within_slacks_limits(
    summary: str, advice: str, run: str, evidence: dict[str, float]
) -> None:
    made = message(summary=summary or "x", advice=advice, run=run, evidence=evidence)
    checked(build_payload(made))


def test_what_a_run_is_called_cannot_call_everyone(slack: SlackServer) -> None:
    webhook(slack).send(message(run="<!channel> & <http://x|y>"), None)
    [sent] = slack.payloads
    assert "<!channel>" not in json.dumps([block for block in sent["blocks"] if block["type"] != "header"])
    assert "<!channel>" not in sent["text"]


def test_addresses_and_mentions_in_names_do_not_become_links() -> None:
    name = "<!here> https://evil.example/ <https://evil.example/|Open> #general & co"
    one = build_payload(message(run=name, metric=name))
    several = build_payload(
        summarize([make_incident(run=name)], key="1.0.team", sent_at=1.0, address="http://h/?a=1&b=<")
    )
    for payload in (one, several):
        assert (payload["parse"], payload["link_names"], payload["unfurl_links"]) == ("none", False, False)
        texts = [block["text"] for block in payload["blocks"] if "text" in block]
        texts += [field for block in payload["blocks"] for field in block.get("fields", ())]
        for text in (text for text in texts if text["type"] == "mrkdwn"):
            assert text["verbatim"] is True
            assert "<!here>" not in text["text"]
            assert "<https://evil.example/" not in text["text"]
    assert "<http://h/?a=1&amp;b=&lt;/incidents" in json.dumps(several)


def test_names_add_no_lines_and_turn_no_direction() -> None:
    name = "a\n*Recovered*\u202eb\x1b[2J\u2066c"
    several = summarize([make_incident(run=name)], key="1.0.team", sent_at=1.0, address="http://h")
    for payload in (build_payload(message(run=name, metric=name)), build_payload(several)):
        shown = json.dumps(payload, ensure_ascii=False)
        assert not re.search("[\\x1b\u202e\u2066]", shown)
        assert "\\u001b" not in shown
        assert "\\n*Recovered*" not in shown
        assert "a *Recovered* b" in shown


def test_a_summary_of_hundreds_stays_within_slacks_limits(slack: SlackServer) -> None:
    many = [make_incident(id=number, run="r" * 500) for number in range(300)]
    made = summarize(many, key="1.0.team", sent_at=1.0, address="http://h")
    assert webhook(slack).send(made, None) == Delivered()
    assert "and 280 more" in json.dumps(slack.payloads)

"""Slack, against an HTTP server that checks what it is sent as Slack does."""

from __future__ import annotations

import json
import logging
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.server.alerting.incident import EventType, HistoryEntry
from holter.server.alerting.message_incidents import message_incident
from holter.server.alerting.messages import compose
from holter.server.alerting.messages_of_many import summarize
from holter.server.channels import ChannelError, Delivered, GiveUp, Message, Retry, open_channels
from holter.server.channels.channel import Channel
from holter.server.channels.slack import SlackBot, SlackSettings
from holter.server.channels.slack_blocks import build_payload, build_reply
from holter.settings import Settings
from tests.support.receivers import SIGNING_SECRET, SlackServer, buttons_of, checked, make_incident

TOKEN = "xoxb-very-secret"
NOW = 1_700_000_240.0
MUTED = HistoryEntry(type=EventType.MUTED, at=1_700_000_100.0, by="ada", detail={"until": NOW + 7000})


def message(reason: str = "opened", picture: bytes | None = None, **changes: Any) -> Message:
    incident = make_incident(**changes)
    made = compose(
        incident,
        key="17.0.team",
        reason=EventType(reason),
        sent_at=NOW,
        address="http://127.0.0.1:8765",
        sketch="▁▁█▃▁  2.1 to 4.0",
        picture=picture,
    )
    return replace(made, incidents=(message_incident(incident, "http://127.0.0.1:8765", now=NOW),))


def webhook(slack: SlackServer, **options: Any) -> Channel:
    url = f"{slack.url}/services/T0/B0/very-secret"
    return open_channels({"team": {"type": "slack", "allow_private": True, "url": url, **options}})[
        "team"
    ].channel


def bot(slack: SlackServer, **options: Any) -> SlackBot:
    own = {
        "type": "slack",
        "allow_private": True,
        "token": TOKEN,
        "channel": "#training",
        "api_url": f"{slack.url}/api",
    }
    channel = open_channels({"team": own | options})["team"].channel
    assert isinstance(channel, SlackBot)
    return channel


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
    assert first == Delivered(thread="C1/17.1")
    thread = "C1/17.1"
    assert channel.send(message("recovered", picture=b"\x89PNG..."), thread) == Delivered(thread)
    assert slack.uploads == [b"\x89PNG..."]
    methods = [method for method, _ in slack.calls]
    upload = ["files.getUploadURLExternal", "files.completeUploadExternal"]
    assert methods == ["chat.postMessage", *upload, "chat.postMessage"]
    assert "thread_ts" not in slack.calls[0][1]
    assert slack.calls[2][1]["thread_ts"] == slack.calls[3][1]["thread_ts"] == "17.1"
    assert slack.calls[0][1]["metadata"]["event_payload"] == {"key": "17.0.team"}
    assert f"Bearer {TOKEN}" in slack.tokens


def test_the_first_message_is_updated_in_place(slack: SlackServer) -> None:
    channel = bot(slack)
    channel.send(message(), None)
    acknowledged = HistoryEntry(type=EventType.ACKNOWLEDGED, at=1_700_000_200.0, by="ada")
    later = message(acknowledged_by="ada", history=(acknowledged,))
    assert channel.update(later, "C1/17.1") == Delivered("C1/17.1")
    [shown] = slack.messages.values()
    assert "Acknowledged by ada at " in json.dumps(shown)
    assert "Warning, open, acknowledged by ada" in json.dumps(shown)
    assert [method for method, _ in slack.calls] == ["chat.postMessage", "chat.update"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("message_not_found", Delivered("C1/17.1")),
        ("edit_window_closed", Delivered("C1/17.1")),
        ("ratelimited", Retry("Slack answered 200 ratelimited")),
    ],
)
def test_an_update_that_is_not_possible_does_not_keep_the_news_back(
    slack: SlackServer, error: str, expected: object
) -> None:
    slack.answer(200, json.dumps({"ok": False, "error": error}))
    assert bot(slack).update(message(), "C1/17.1") == expected


def test_an_update_waits_as_long_as_slack_asks_for(slack: SlackServer) -> None:
    slack.answer(429, "", headers={"Retry-After": "7"})
    assert bot(slack).update(message(), "C1/17.1") == Retry("Slack answered 429", after=7)


def test_threads_of_older_versions_have_no_channel(slack: SlackServer) -> None:
    channel = bot(slack)
    assert channel.update(message(), "17.1") == Delivered("17.1")
    assert slack.calls == []  # chat.update takes no name of a channel
    assert bot(slack, channel="C1").update(message(), "17.1") == Delivered("17.1")
    assert [request["channel"] for _, request in slack.calls] == ["C1"]
    channel.send(message("recovered"), "17.1")
    assert (slack.payloads[-1]["channel"], slack.payloads[-1]["thread_ts"]) == ("#training", "17.1")


@pytest.mark.parametrize(
    ("reason", "in_channel"), [("escalated", True), ("reminder", True), ("recovered", False)]
)
def test_what_somebody_should_wake_up_for_is_shown_in_the_channel_too(
    slack: SlackServer, reason: str, in_channel: bool
) -> None:
    bot(slack).send(message(reason), "C1/17.1")
    assert slack.payloads[-1].get("reply_broadcast", False) is in_channel


def test_buttons_need_the_signing_secret(slack: SlackServer) -> None:
    webhook(slack).send(message(), None)
    webhook(slack, signing_secret=SIGNING_SECRET).send(message(), None)
    without, with_secret = slack.payloads
    assert buttons_of(without) == {}
    assert [*buttons_of(with_secret)] == ["Acknowledge", "Silence two hours", "Not an incident"]
    assert {each["value"] for each in buttons_of(with_secret).values()} == {"17"}


def test_the_signing_secret_of_the_environment_is_for_all_channels_without_one(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of a file")
    url = "https://hooks.slack.com/services/x"
    own = {
        "a": {"type": "slack", "url": url},
        "b": {"type": "slack", "url": url, "signing_secret": "own"},
        "c": {"type": "slack", "url": url, "signing_secret_file": str(tmp_path / "secret")},
        "mail": {"type": "email", "host": "h", "to": "a@example.com"},
    }
    settings = Settings(
        channels=own,
        slack_webhook_url=url,  # type: ignore[arg-type]
        slack_signing_secret=SIGNING_SECRET,  # type: ignore[arg-type]
    )
    opened = open_channels(settings.all_channels())
    secrets = {
        name: channel.settings.signing_secret.get_secret_value()
        for name, channel in opened.items()
        if isinstance(channel.settings, SlackSettings) and channel.settings.signing_secret
    }
    assert secrets == {"a": SIGNING_SECRET, "b": "own", "c": "of a file", "slack": SIGNING_SECRET}


def test_buttons_offer_what_can_still_be_done() -> None:
    def labels(**changes: Any) -> list[str]:
        return [*buttons_of(build_payload(message(**changes), buttons=True))]

    assert labels(acknowledged_by="ada") == ["Silence two hours", "Not an incident"]
    assert labels(history=(MUTED,)) == ["Acknowledge", "Not an incident"]
    assert labels(state="recovered") == labels(state="closed") == []


def test_several_incidents_are_acknowledged_at_once() -> None:
    [one] = message().incidents
    several = replace(
        message(), incidents=(one, replace(one, id=18), replace(one, id=19, acknowledged_by="ada"))
    )
    buttons = buttons_of(build_payload(several, buttons=True))
    assert {label: each["value"] for label, each in buttons.items()} == {
        "Acknowledge all": "all:17,18",
        "Silence all two hours": "all:17,18,19",
    }


def test_secrets_may_be_in_files(slack: SlackServer, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    options = {"type": "slack", "allow_private": True, "channel": "C1", "api_url": f"{slack.url}/api"}
    channel = open_channels({"team": options | {"token_file": str(tmp_path / "token")}})["team"].channel
    channel.send(message(), None)
    assert slack.tokens == {f"Bearer {TOKEN}"}
    with pytest.raises(ChannelError, match=r"signing_secret_file: .*/none cannot be read: No such file"):
        webhook(slack, signing_secret_file=str(tmp_path / "none"))
    with pytest.raises(ChannelError, match="expected one of token and token_file, not both"):
        bot(slack, token_file=str(tmp_path / "token"))


def test_a_thread_that_was_deleted_starts_anew(slack: SlackServer) -> None:
    assert bot(slack).send(message("recovered"), "gone") == Delivered(thread="gone")
    assert len(slack.payloads) == 1


def test_a_picture_that_slack_does_not_take_does_not_matter(slack: SlackServer) -> None:
    slack.take = lambda path, kind, body: json.dumps(  # type: ignore[method-assign]
        {"ok": path.endswith("postMessage"), "ts": "17.1", "channel": "C1", "error": "missing_scope"}
    )
    assert bot(slack).send(message(picture=b"png"), None) == Delivered(thread="C1/17.1")


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
    checked(build_payload(replace(made, status=(advice or "x",)), buttons=True))
    checked(build_reply(replace(made, reason="escalated")))


@given(st.integers(1, 400), st.integers(0, 2**63 - 1))
def test_buttons_of_any_number_of_incidents_stay_within_slacks_limits(count: int, first: int) -> None:
    made = message()
    [one] = made.incidents
    many = tuple(replace(one, id=first + number) for number in range(count))
    checked(build_payload(replace(made, incidents=many), buttons=True))


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

"""Buttons of Slack messages, from the signed request to the message that shows what became of it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy.orm import Session

from holter.server import tokens
from holter.server.context import ServerContext
from holter.settings import Settings
from tests.support.alerting import add_run, make_candidate
from tests.support.receivers import SIGNING_SECRET, SlackServer, buttons_of, signed, slack
from tests.support.waiting import wait_for

__all__ = ["slack"]
PATH = "/api/v1/slack/interactive"


@pytest.fixture
def settings(sqlite_url: str, slack: SlackServer) -> Settings:
    """A bot and a webhook, on a server that others can reach: without signature a login would be needed."""
    common = {"type": "slack", "allow_private": True, "settle": 0, "signing_secret": SIGNING_SECRET}
    bot = {"token": "xoxb-1", "channel": "#training", "api_url": f"{slack.url}/api"}
    hook = {"url": f"{slack.url}/services/x", "minimum": "critical", "signing_secret": "of another app"}
    return Settings(
        database_url=sqlite_url,
        password="correct horse",  # type: ignore[arg-type]
        channels={"bot": common | bot, "hook": common | hook},
    )


@pytest.fixture
def anyone(server: tuple[ServerContext, str]) -> Iterator[httpx.Client]:
    """A client without session or token."""
    with httpx.Client(base_url=server[1], timeout=60) as client:
        yield client


@pytest.fixture
def admin(server: tuple[ServerContext, str]) -> Iterator[httpx.Client]:
    """A client with a token."""
    with Session(server[0].engine) as session, session.begin():
        token = tokens.create(session, "ada", now=time.time(), scope=tokens.TokenScope.ALL)
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=server[1], timeout=60, headers=headers) as client:
        yield client


def opened(context: ServerContext, slack: SlackServer, **changes: Any) -> int:
    """An incident whose message has arrived."""
    [incident] = context.incidents.update_run(add_run(context.engine), [make_candidate(**changes)])
    wait_for(lambda: len(slack.payloads) == (2 if changes else 1))
    return incident.id


def press(anyone: httpx.Client, slack: SlackServer, label: str, **options: Any) -> httpx.Response:
    body, headers = slack.press(buttons_of(slack.payloads[0])[label], **options)
    return anyone.post(PATH, content=body, headers=headers)


def shown(slack: SlackServer) -> str:
    return json.dumps(slack.messages["17.1"], ensure_ascii=False)


def history(context: ServerContext, number: int) -> list[tuple[str, str | None]]:
    entries = context.incidents.comment(number, "x").history[:-1]
    return [(entry.type.value, entry.by) for entry in entries if entry.type != "notified"]


def test_acknowledge_does_what_the_page_does_and_is_shown(
    anyone: httpx.Client, context: ServerContext, slack: SlackServer
) -> None:
    number = opened(context, slack)
    answer = press(anyone, slack, "Acknowledge", user="ada")
    assert (answer.status_code, answer.content) == (200, b"")
    wait_for(lambda: "Acknowledged by ada at " in shown(slack))
    assert [*buttons_of(slack.messages["17.1"])] == ["Silence two hours", "Not an incident"]
    assert slack.responses == []  # the message is the answer
    press(anyone, slack, "Acknowledge", user="ben")
    wait_for(lambda: slack.responses)
    [words] = slack.responses
    assert words["text"].startswith(f"Incident {number} was acknowledged by ada at ")
    assert words["response_type"] == "ephemeral"
    assert history(context, number) == [("opened", None), ("acknowledged", "ada")]


def test_silence_lasts_two_hours_from_the_press_and_once(
    anyone: httpx.Client, context: ServerContext, slack: SlackServer, admin: httpx.Client
) -> None:
    number, pressed_at = opened(context, slack), time.time()
    for _ in range(2):  # Slack, or a copy of its request, may come twice
        press(anyone, slack, "Silence two hours", user="ada", at=pressed_at)
    wait_for(lambda: "Muted by ada until " in shown(slack))
    wait_for(lambda: slack.responses)
    assert "is silenced by ada until " in slack.responses[0]["text"]
    assert history(context, number) == [("opened", None), ("muted", "ada")]
    [silence] = admin.get("/api/v1/silences").json()["silences"]
    assert silence["matchers"] == [f'incident="{number}"']
    assert (silence["created_by"], silence["comment"]) == ("ada", "Silenced for two hours in Slack")
    assert silence["ends_at"] == pytest.approx(pressed_at + 7200, abs=1)
    admin.delete(f"/api/v1/silences/{silence['id']}")
    wait_for(lambda: "Muted by" not in shown(slack))
    assert history(context, number)[-1] == ("unmuted", "ada")


def test_not_an_incident_closes_it_and_it_does_not_open_again(
    anyone: httpx.Client, context: ServerContext, slack: SlackServer
) -> None:
    number = opened(context, slack)
    press(anyone, slack, "Not an incident", user="ada")
    wait_for(lambda: "Closed by ada at " in shown(slack))
    assert buttons_of(slack.messages["17.1"]) == {}
    assert ("closed", "ada") in history(context, number)
    [event] = context.planned_events.list_all()
    assert (event["note"], event["added_by"]) == ("Not an incident", "ada")
    press(anyone, slack, "Acknowledge", user="ben")
    wait_for(lambda: slack.responses)
    assert slack.responses[0]["text"].startswith(f"Incident {number} has ended already (Closed by ada at ")


def test_the_page_and_rest_update_the_message_too(
    context: ServerContext, slack: SlackServer, admin: httpx.Client
) -> None:
    number = opened(context, slack)
    assert admin.post(f"/api/v1/incidents/{number}/acknowledge", json={"by": "ada"}).status_code == 200
    wait_for(lambda: "Acknowledged by ada at " in shown(slack))


def test_a_webhooks_message_is_replaced_through_the_address_for_answers(
    anyone: httpx.Client, context: ServerContext, slack: SlackServer
) -> None:
    number = opened(context, slack, severity="critical")
    [by_hook] = [payload for payload in slack.payloads if "channel" not in payload]
    button = buttons_of(by_hook)["Acknowledge"]
    body, headers = slack.press(button, user="ada", secret="of another app")
    assert anyone.post(PATH, content=body, headers=headers).status_code == 200
    wait_for(lambda: slack.responses)
    [answer] = slack.responses
    assert answer["replace_original"] is True
    assert "Acknowledged by ada at " in json.dumps(answer)
    assert "Acknowledge" not in buttons_of(answer)
    assert ("acknowledged", "ada") in history(context, number)


def test_names_of_people_call_nobody(
    anyone: httpx.Client, context: ServerContext, slack: SlackServer
) -> None:
    opened(context, slack)
    press(anyone, slack, "Acknowledge", user="<!channel>")
    wait_for(lambda: "&lt;!channel&gt;" in shown(slack))
    press(anyone, slack, "Acknowledge", user="ben")
    wait_for(lambda: slack.responses)
    assert "by &lt;!channel&gt; at" in slack.responses[0]["text"]
    assert "<!channel>" not in json.dumps([slack.messages, slack.responses])


def test_unknown_incidents_are_answered_in_words(
    anyone: httpx.Client, context: ServerContext, slack: SlackServer
) -> None:
    opened(context, slack)
    button = buttons_of(slack.payloads[0])["Acknowledge"] | {"value": "99"}
    body, headers = slack.press(button)
    assert anyone.post(PATH, content=body, headers=headers).status_code == 200
    wait_for(lambda: slack.responses)
    assert slack.responses[0]["text"].startswith("Incident 99 is not known here any more")


def test_a_channel_acts_only_on_what_was_sent_to_it(
    anyone: httpx.Client, context: ServerContext, slack: SlackServer
) -> None:
    number = opened(context, slack)  # a warning: the webhook did not get it
    assert press(anyone, slack, "Acknowledge", secret="of another app").status_code == 200
    wait_for(lambda: slack.responses)
    assert "is not known here" in slack.responses[0]["text"]
    assert history(context, number) == [("opened", None)]


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"secret": "wrong"}, 403),
        ({"at": 1_700_000_000.0}, 403),
        ({"at": time.time() + 10_000}, 403),
    ],
)
def test_what_is_not_signed_now_does_nothing(
    anyone: httpx.Client, context: ServerContext, slack: SlackServer, options: dict[str, Any], status: int
) -> None:
    number = opened(context, slack)
    assert press(anyone, slack, "Acknowledge", **options).status_code == status
    assert history(context, number) == [("opened", None)]


def test_bodies_are_limited_and_of_slacks_form(anyone: httpx.Client) -> None:
    assert anyone.post(PATH).status_code == 403
    large = b"payload=" + b"x" * 300_000
    assert anyone.post(PATH, content=large, headers=signed(large, time.time())).status_code == 413
    noise = b"payload=%5B"
    answer = anyone.post(PATH, content=noise, headers=signed(noise, time.time()))
    assert (answer.status_code, answer.json()["detail"][:26]) == (400, "expected the field payload")
    check = b"ssl_check=1"
    assert anyone.post(PATH, content=check, headers=signed(check, time.time())).status_code == 200
    foreign = signed(check, time.time()) | {"Origin": "https://evil.example"}
    assert anyone.post(PATH, content=check, headers=foreign).status_code == 403


def test_a_failure_to_save_is_answered_in_words(
    anyone: httpx.Client, context: ServerContext, slack: SlackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(context, slack)

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(context.incidents, "acknowledge", fail)
    assert press(anyone, slack, "Acknowledge").status_code == 200
    wait_for(lambda: slack.responses)
    assert slack.responses[0]["text"].startswith("This could not be saved")

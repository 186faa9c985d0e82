"""Silences, routing, channels and notifications over REST, as a page and a program use them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from holter.server.context import ServerContext
from holter.settings import Settings
from holter.types import Severity
from tests.support.alerting import add_run, make_candidate
from tests.support.receivers import SlackServer, slack
from tests.support.waiting import wait_for

__all__ = ["slack"]
API = "/api/v1"


@pytest.fixture
def settings(sqlite_url: str, slack: SlackServer) -> Settings:
    url = f"{slack.url}/services/T0/B0/very-secret"
    channel = {"type": "slack", "allow_private": True, "url": url, "settle": 0}
    return Settings(
        database_url=sqlite_url,
        channels={"team": channel, "pager": channel | {"minimum": "critical"}},
        alerting={"receivers": {"oncall": {"channels": ["team", "pager"]}}},
    )


def silence(client: httpx.Client, **changes: Any) -> Any:
    body = {"matchers": ['project="llm"'], "comment": "maintenance", "seconds": 3600, **changes}
    return client.post(f"{API}/silences", json=body)


def test_a_silence_is_added_listed_and_ended(client: httpx.Client, context: ServerContext) -> None:
    context.incidents.update_run(add_run(context.engine), [make_candidate()])
    added = silence(client, by="ann").json()
    assert (added["state"], added["created_by"], added["muted"]) == ("active", "ann", 1)
    assert added["ends_at"] - added["starts_at"] == pytest.approx(3600)
    assert client.get(f"{API}/silences").json()["silences"] == [added]
    ended = client.delete(f"{API}/silences/{added['id']}").json()
    assert ended["state"] == "expired"
    assert client.get(f"{API}/silences").json()["silences"] == []
    assert len(client.get(f"{API}/silences?expired=true").json()["silences"]) == 1
    assert client.delete(f"{API}/silences/99").status_code == 404


def test_buttons_of_slack_need_a_signing_secret(client: httpx.Client) -> None:
    answer = client.post(f"{API}/slack/interactive", data={"payload": "{}"})
    assert (answer.status_code, answer.json()["detail"]) == (
        404,
        "No Slack channel has a signing_secret.",
    )


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"matchers": ["project"]}, "matchers"),
        ({"matchers": ["project=~("]}, "matchers"),
        ({"matchers": ['project=~".*"']}, "matchers"),
        ({"seconds": None}, "ends_at"),
        ({"ends_at": 1.0, "seconds": None}, "ends_at"),
        ({"comment": " "}, "comment"),
    ],
)
def test_a_wrong_silence_is_refused_with_its_field(
    client: httpx.Client, changes: dict[str, Any], field: str
) -> None:
    answer = silence(client, **changes)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"][:2] == ["body", field]


def test_a_dry_run_names_channels_and_reasons(client: httpx.Client) -> None:
    question = {"kind": "stall", "project": "llm", "severity": "critical"}
    decision = client.post(f"{API}/routing/test", json=question).json()
    outcomes = {each["channel"]: each["outcome"] for each in decision["channels"]}
    assert outcomes == {"team": "notified", "pager": "notified"}
    silence(client)
    decision = client.post(f"{API}/routing/test", json=question).json()
    assert {each["outcome"] for each in decision["channels"]} == {"muted"}
    assert "silence 1 by someone: maintenance" in decision["text"]
    info = client.post(f"{API}/routing/test", json=question | {"severity": "info"}).json()
    assert info["channels"] == []
    assert 'default.team needs severity=~"warning|critical"' in info["text"]


def test_the_policy_and_the_receivers_are_shown_without_secrets(client: httpx.Client) -> None:
    routing = client.get(f"{API}/routing").json()
    assert routing["default"]
    assert [route["path"] for route in routing["routes"]] == ["default", "default.team", "default.pager"]
    answer = client.get(f"{API}/receivers")
    assert answer.json()["receivers"] == [{"name": "oncall", "channels": ["team", "pager"]}]
    team = answer.json()["channels"][0]
    assert (team["name"], team["type"], team["state"], team["minimum"]) == (
        "team",
        "slack",
        "unused",
        "warning",
    )
    assert "very-secret" not in answer.text


BOTH = '[alerting.receivers.both]\nchannels = ["team", "pager"]'
TRIAL = """
[alerting.route]
receiver = "none"
[[alerting.route.routes]]
matchers = ["project=~l.m", "severity=warning"]
receiver = "pager"
mute_time_intervals = ["nights"]
[[alerting.time_intervals.nights]]
times = [{start_time = "22:00", end_time = "24:00"}]
weekdays = ["monday:friday"]
location = "Europe/Berlin"
"""


def test_other_settings_are_tried_on_the_newest_incidents(
    client: httpx.Client, context: ServerContext
) -> None:
    warning = make_candidate(severity=Severity.WARNING)
    [incident] = context.incidents.update_run(add_run(context.engine), [warning])

    def tried(toml: str) -> Any:
        return client.post(f"{API}/routing/trial", json={"toml": toml}).json()

    same = tried(client.get(f"{API}/routing").json()["toml"])
    assert (same["compared"], same["changed"], same["routing"]["default"]) == (1, [], False)
    trial = tried(f'[alerting.route]\nreceiver = "both"\n{BOTH}')
    assert trial["changed"] == []  # the minimum of the pager is critical
    [changed] = tried('[alerting.route]\nreceiver = "none"')["changed"]
    assert (changed["incident_id"], changed["current"], changed["trial"]) == (incident.id, ["team"], [])
    routing = tried(TRIAL)["routing"]
    assert routing["time_intervals"][0]["parts"] == ["monday to friday, 22:00 to 24:00 (Europe/Berlin)"]
    assert [route["channels"] for route in routing["routes"]] == [[], ["pager"]]
    assert client.get(f"{API}/routing").json()["default"]


@pytest.mark.parametrize(
    ("toml", "reason"),
    [
        ("[alerting.route]\nreceiver = ", "this is not TOML: Invalid value (at end of document)"),
        ("[channels.x]", "channels: expected tables of [alerting] only"),
        ("[alerting.route]\nreciever = 'team'", "alerting.route.reciever: unknown setting"),
        ("[alerting.route]\nreceiver = 'x'", "there is no receiver 'x': expected one of none, pager, team"),
        (
            "[alerting.route]\nreceiver = 'team'\ngroup_wait = 'soon'",
            "alerting.route.group_wait: expected a dur",
        ),
        ("[alerting.heartbeat]\nevery = 60", "alerting.heartbeat: it is no setting of routing"),
        ("[[alerting.route" + 9000 * ".routes" + "]]", ""),
        ("a = " + 9000 * "[", "this is not TOML"),
    ],
)
def test_wrong_settings_are_refused_with_the_key_and_what_is_expected(
    client: httpx.Client, toml: str, reason: str
) -> None:
    answer = client.post(f"{API}/routing/trial", json={"toml": toml})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "toml"]
    assert reason in answer.json()["detail"][0]["msg"]
    assert len(answer.text) < 1000


def test_a_channel_is_tested_from_the_page(client: httpx.Client, slack: SlackServer) -> None:
    assert client.post(f"{API}/channels/team/test").json()["delivered"]
    assert "nothing has happened" in slack.payloads[0]["text"]
    slack.answer(404, "no_service")
    refused = client.post(f"{API}/channels/team/test").json()
    assert refused == {"delivered": False, "text": "Not delivered: Slack answered 404 no_service"}
    assert client.post(f"{API}/channels/nobody/test").status_code == 404


def test_sent_messages_dead_letters_and_decisions_are_listed(
    client: httpx.Client, context: ServerContext, slack: SlackServer
) -> None:
    slack.answer(400, "invalid_blocks")
    [incident] = context.incidents.update_run(add_run(context.engine), [make_candidate()])

    def listed(**filters: Any) -> list[dict[str, Any]]:
        return list(client.get(f"{API}/notifications", params=filters).json()["notifications"])

    wait_for(lambda: listed(state="given_up"), 60)
    [dead] = listed(channel="team")
    assert (dead["incident_id"], dead["reason"], dead["attempts"]) == (incident.id, "opened", 1)
    assert dead["error"] == "Slack answered 400 invalid_blocks"
    retried = client.post(f"{API}/notifications/{dead['id']}/retry").json()["notifications"][0]
    assert retried["state"] in {"waiting", "delivered"}
    wait_for(lambda: listed(state="delivered"), 60)
    assert client.post(f"{API}/notifications/{dead['id']}/retry").status_code == 404
    decisions = client.get(f"{API}/incidents/{incident.id}/decisions").json()["decisions"]
    assert [(each["channel"], each["outcome"], each["text"]) for each in decisions] == [
        ("team", "notified", "default.team leads to it")
    ]
    assert client.get(f"{API}/incidents/99/decisions").status_code == 404

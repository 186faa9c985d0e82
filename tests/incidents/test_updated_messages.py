"""A bot's messages follow what people and Holter do with an incident, without a flood."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import Engine

from holter.server.alerting.notification_scheduler import NotificationScheduler
from holter.types import Kind, Severity
from tests.support.alerting import Alerting, Clock, add_run, channels_at, make_candidate
from tests.support.receivers import SlackServer


@pytest.fixture
def alerting(engine: Engine, clock: Clock, slack: SlackServer) -> Alerting:
    return Alerting(engine, clock, bot_at(slack))


def bot_at(slack: SlackServer, **options: Any) -> dict[str, dict[str, Any]]:
    bot = {"token": "xoxb-1", "channel": "#training", "api_url": f"{slack.url}/api"}
    channel = {"type": "slack", "allow_private": True, "settle": 0, "calm": 300, **bot, **options}
    return {"team": channel}


def opened(alerting: Alerting, run_id: int) -> int:
    """The number of an incident that was sent."""
    [incident] = alerting.incidents.update_run(run_id, [make_candidate()])
    assert alerting.send_due() == 1
    return incident.id


def title(payload: dict[str, Any]) -> str:
    return str(payload["blocks"][0]["text"]["text"])


def replies(slack: SlackServer) -> list[str]:
    return [title(payload).replace("\n", " ") for payload in slack.payloads if "thread_ts" in payload]


def test_an_acknowledgement_updates_the_message_and_is_news_in_its_thread(
    alerting: Alerting, slack: SlackServer, run_id: int, clock: Clock
) -> None:
    number = opened(alerting, run_id)
    clock.now += 30
    alerting.incidents.acknowledge(number, by="ada")
    assert alerting.send_due() == 1
    shown = json.dumps(slack.messages["17.1"], ensure_ascii=False)
    assert title(slack.messages["17.1"]) == ":large_orange_circle: Loss spike in 104b at step 1,514"
    assert "Acknowledged by ada at " in shown
    [reply] = replies(slack)
    assert reply.startswith(":large_orange_circle: *Acknowledged: fast loss spike in 104b at step 1,514*")
    assert "thread_ts" not in slack.payloads[0]
    assert slack.payloads[1]["thread_ts"] == "17.1"
    alerting.incidents.acknowledge(number, by="ben")
    assert alerting.send_due() == 0


def test_what_is_reclassified_recovers_and_closes_is_updated_in_place(
    alerting: Alerting, slack: SlackServer, run_id: int, clock: Clock
) -> None:
    number = opened(alerting, run_id)
    titles = []
    slow = make_candidate(kind=Kind.SPIKE_SLOW)
    alerting.incidents.update_run(run_id, [slow])
    alerting.send_due()
    titles.append(title(slack.messages["17.1"]))
    alerting.incidents.update_run(run_id, [make_candidate(kind=Kind.SPIKE_SLOW, end_step=1890)])
    clock.now += 301
    alerting.send_due()
    titles.append(title(slack.messages["17.1"]))
    alerting.incidents.close(number, by="ada", text="rolled back")
    alerting.send_due()
    titles.append(title(slack.messages["17.1"]))
    assert titles == [
        ":large_orange_circle: Slow loss spike in 104b at step 1,514",
        ":large_green_circle: Recovered: slow loss spike in 104b at step 1,514",
        ":large_green_circle: Closed: slow loss spike in 104b at step 1,514",
    ]
    assert len(replies(slack)) == 3
    assert list(slack.messages) == ["17.1", "17.2", "17.3", "17.4"]


def test_what_is_reclassified_after_somebody_acknowledged_is_updated_too(
    alerting: Alerting, slack: SlackServer, run_id: int
) -> None:
    number = opened(alerting, run_id)
    alerting.incidents.acknowledge(number, by="ada")
    alerting.incidents.update_run(run_id, [make_candidate(kind=Kind.SPIKE_SLOW)])
    alerting.send_due()
    assert title(slack.messages["17.1"]) == ":large_orange_circle: Slow loss spike in 104b at step 1,514"


def test_an_update_does_not_send_a_recovery_early(
    alerting: Alerting, slack: SlackServer, run_id: int, clock: Clock
) -> None:
    number = opened(alerting, run_id)
    alerting.incidents.update_run(run_id, [make_candidate(end_step=1890)])
    alerting.incidents.acknowledge(number, by="ada")
    assert alerting.send_due() == 1
    assert [reply.split("*")[1] for reply in replies(slack)] == [
        "Acknowledged: fast loss spike in 104b at step 1,514"
    ]
    clock.now += 301
    assert alerting.send_due() == 1
    assert replies(slack)[-1].split("*")[1] == "Recovered: fast loss spike in 104b at step 1,514"


def test_a_mute_is_shown_although_it_mutes(
    alerting: Alerting, slack: SlackServer, run_id: int, clock: Clock
) -> None:
    number = opened(alerting, run_id)
    alerting.incidents.mute(number, seconds=7200, by="ada")
    worse = make_candidate(kind=Kind.DIVERGENCE, severity=Severity.CRITICAL)
    alerting.incidents.update_run(run_id, [worse])
    assert alerting.send_due() == 1
    [reply] = replies(slack)
    assert "Muted by ada until " in reply
    assert "Muted by ada until " in json.dumps(slack.messages["17.1"])
    alerting.incidents.unmute(number, by="ben")
    alerting.send_due()
    assert [entry.split("*")[1].partition(":")[0] for entry in replies(slack)] == ["Muted", "Severity raised"]
    assert "Muted by" not in json.dumps(slack.messages["17.1"])
    history = [(entry.type, entry.by) for entry in alerting.incidents.comment(number, "x").history]
    assert ("muted", "ada") in history
    assert ("unmuted", "ben") in history


def test_who_acknowledges_before_the_message_arrives_is_in_it(
    alerting: Alerting, slack: SlackServer, run_id: int, clock: Clock
) -> None:
    slack.answer(503)
    [incident] = alerting.incidents.update_run(run_id, [make_candidate()])
    alerting.send_due()
    alerting.incidents.acknowledge(incident.id, by="ada")
    assert alerting.send_due() == 0  # the update does not overtake the message
    clock.now += 5
    alerting.send_due()
    assert "acknowledged by ada" in json.dumps(slack.payloads[0])
    assert {row.state for row in alerting.rows()} == {"delivered"}


def test_an_update_without_a_message_is_dropped(
    alerting: Alerting, slack: SlackServer, run_id: int, clock: Clock
) -> None:
    slack.answer(200, json.dumps({"ok": False, "error": "invalid_blocks"}))
    [incident] = alerting.incidents.update_run(run_id, [make_candidate()])
    alerting.send_due()
    alerting.incidents.acknowledge(incident.id, by="ada")
    assert alerting.send_due() == 0
    assert [(row.state, row.error) for row in alerting.rows()][1:] == [
        ("suppressed", "there is no message that it could update")
    ]


def test_updates_are_no_part_of_the_rate_limit(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    alerting = Alerting(engine, clock, bot_at(slack, burst=1))
    number = opened(alerting, run_id)
    alerting.incidents.acknowledge(number, by="ada")
    assert alerting.send_due() == 1
    alerting.incidents.update_run(add_run(engine, "other"), [make_candidate()])
    assert alerting.send_due() == 0
    clock.now += 3601
    assert alerting.send_due() == 1  # the acknowledgement does not count


def test_an_acknowledgement_does_not_wait_for_what_the_rate_limit_holds_back(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    route = {"receiver": "team", "repeat_interval": "10m"}
    alerting = Alerting(engine, clock, bot_at(slack, burst=1), {"route": route})
    number = opened(alerting, run_id)
    clock.now += 700
    NotificationScheduler(engine, alerting.policy, lambda: None, clock=clock).check()
    assert alerting.send_due() == 0  # the reminder is beyond the burst
    alerting.incidents.acknowledge(number, by="ada")
    assert alerting.send_due() == 1
    assert "cknowledged by ada" in json.dumps(slack.payloads[-1])
    clock.now += 3700
    assert alerting.send_due() == 0
    assert [(row.reason, row.state, row.error) for row in alerting.rows()] == [
        ("opened", "delivered", None),
        ("reminder", "suppressed", "somebody has acknowledged it"),
        ("acknowledged", "delivered", None),
    ]


def test_a_failing_update_is_tried_again_before_its_news(
    alerting: Alerting, slack: SlackServer, run_id: int, clock: Clock
) -> None:
    number = opened(alerting, run_id)
    alerting.incidents.acknowledge(number, by="ada")
    slack.answer(429, headers={"Retry-After": "20"})
    alerting.send_due()
    assert replies(slack) == []
    clock.now += 21
    alerting.send_due()
    assert len(replies(slack)) == 1


def test_messages_of_groups_show_the_present_state_of_all(
    engine: Engine, clock: Clock, slack: SlackServer
) -> None:
    route = {"receiver": "team", "group_by": ["kind"], "group_wait": "10s", "group_interval": "5m"}
    alerting = Alerting(engine, clock, bot_at(slack), {"route": route})
    incidents = [
        alerting.incidents.update_run(add_run(engine, f"r{number}"), [make_candidate()])[0]
        for number in range(3)
    ]
    clock.now += 11
    assert alerting.send_due() == 1
    alerting.incidents.acknowledge(incidents[1].id, by="ada")
    assert alerting.send_due() == 1  # within the group's interval
    shown = json.dumps(slack.messages["17.1"], ensure_ascii=False)
    assert title(slack.messages["17.1"]).endswith("3 incidents in 3 runs: Fast loss spike")
    assert "r1 · step 1,514 · open, acknowledged by ada" in shown
    assert "r2 · step 1,514 · open>" in shown


def test_incidents_that_change_in_a_summary_have_their_messages_updated(
    engine: Engine, clock: Clock, slack: SlackServer
) -> None:
    alerting = Alerting(engine, clock, bot_at(slack, burst=3, calm=0))
    runs = [add_run(engine, f"r{number}") for number in range(3)]
    for run in runs[:2]:
        alerting.incidents.update_run(run, [make_candidate()])
        alerting.send_due()
    alerting.incidents.update_run(runs[2], [make_candidate()])
    for run in runs[:2]:
        alerting.incidents.update_run(run, [make_candidate(end_step=1600)])
    assert alerting.send_due() == 1
    assert [title(slack.messages[ts]).partition(":large_green_circle: ")[2] for ts in ("17.1", "17.2")] == [
        "Recovered: fast loss spike in r0 at step 1,514",
        "Recovered: fast loss spike in r1 at step 1,514",
    ]
    assert "3 incidents in 3 runs: " in title(slack.messages["17.3"])


def test_only_channels_that_can_update_hear_of_acknowledgements(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    alerting = Alerting(engine, clock, channels_at(slack, settle=0))
    number = opened(alerting, run_id)
    alerting.incidents.acknowledge(number, by="ada")
    alerting.incidents.mute(number, seconds=60, by="ada")
    assert alerting.send_due() == 0
    assert len(alerting.rows()) == 1

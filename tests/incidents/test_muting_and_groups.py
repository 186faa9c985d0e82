"""Silences, inhibition and groups, from a change of an incident to the messages that arrive."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.server.alerting.silences import add_silence
from holter.server.models import NotificationDecisionRow
from holter.types import Kind, Severity
from tests.support.alerting import STALL, Alerting, Clock, add_run, channels_at, headlines, make_candidate
from tests.support.receivers import SlackServer


def silence(engine: Engine, clock: Clock, seconds: float) -> None:
    with Session(engine) as session, session.begin():
        add_silence(
            session, ['project="llm"'], comment="work", by="ann", now=clock.now, ends_at=clock.now + seconds
        )


def decisions(engine: Engine) -> list[tuple[str, str]]:
    with Session(engine) as session:
        rows = session.scalars(select(NotificationDecisionRow).order_by(NotificationDecisionRow.id))
        return [(row.outcome, row.text) for row in rows]


def test_a_silenced_incident_is_sent_when_the_silence_ends_and_it_is_still_open(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    alerting = Alerting(engine, clock, channels_at(slack))
    silence(engine, clock, 100_000)  # more than a day: it is not given up meanwhile
    alerting.incidents.update_run(run_id, [make_candidate()])
    clock.now += 90_000
    assert alerting.send_due() == 0
    clock.now += 20_000
    alerting.send_due()
    clock.now += 6
    alerting.send_due()
    assert len(slack.payloads) == 1
    assert decisions(engine) == [
        ("notified", "default.team leads to it"),
        ("muted", "silence 1 by ann: work"),
        ("notified", "no longer muted (silence 1 by ann: work)"),
    ]


def test_an_incident_that_ends_while_it_is_silenced_is_never_sent(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    alerting = Alerting(engine, clock, channels_at(slack))
    silence(engine, clock, 1000)
    alerting.incidents.update_run(run_id, [make_candidate()])
    clock.now += 10
    assert alerting.send_due() == 0
    alerting.incidents.update_run(run_id, [make_candidate(end_step=1600)])
    clock.now += 10
    assert alerting.send_due() == 0
    clock.now += 5000
    assert alerting.send_due() == 0
    assert {row.state for row in alerting.rows()} == {"suppressed"}
    assert slack.payloads == []


def test_a_dead_run_mutes_its_incidents_of_speed(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    alerting = Alerting(engine, clock, channels_at(slack))
    slow = make_candidate(kind=Kind.THROUGHPUT_REGRESSION, metric="tokens_per_second", fingerprint="slow")
    alerting.incidents.update_run(run_id, [make_candidate(STALL, fingerprint="dead"), slow])
    clock.now += 10
    assert alerting.send_due() == 1
    assert headlines(slack) == ["Stall in 104b at step 1,600"]
    assert decisions(engine)[-1] == ("muted", "inhibited by incident 1: a stall explains missing throughput")


def test_a_hundred_incidents_of_one_fault_are_one_message(
    engine: Engine, clock: Clock, slack: SlackServer
) -> None:
    route = {"receiver": "team", "group_by": ["kind"], "group_wait": "10s", "group_interval": "5m"}
    alerting = Alerting(engine, clock, channels_at(slack), {"route": route})
    runs = [add_run(engine, f"r{number:03}") for number in range(100)]
    for number in runs:
        alerting.incidents.update_run(number, [make_candidate()])
    clock.now += 11
    assert alerting.send_due() == 1
    for number in runs[:50]:
        alerting.incidents.update_run(number, [make_candidate(end_step=1600)])
    clock.now += 20
    assert alerting.send_due() == 0  # before the group's interval
    clock.now += 300
    assert alerting.send_due() == 1
    assert headlines(slack) == [
        "100 incidents in 100 runs: Fast loss spike",
        "Recovered: 50 incidents in 50 runs: Fast loss spike",
    ]


@pytest.mark.parametrize("group_by", [["severity"], ["kind"], ["..."]])
def test_what_is_told_about_an_incident_stays_in_its_group(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int, group_by: list[str]
) -> None:
    alerting = Alerting(
        engine, clock, channels_at(slack), {"route": {"receiver": "team", "group_by": group_by}}
    )
    alerting.incidents.update_run(run_id, [make_candidate()])
    clock.now += 10
    alerting.send_due()
    worse = make_candidate(kind=Kind.DIVERGENCE, severity=Severity.CRITICAL, fingerprint="loss|1514")
    alerting.incidents.update_run(run_id, [worse])
    clock.now += 400
    alerting.send_due()
    assert [row.reason for row in alerting.rows()] == ["opened", "escalated"]
    assert len({row.group_key for row in alerting.rows()}) == 1


def test_a_channel_to_which_no_route_leads_any_more_gets_the_end_in_the_same_group(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    channel = channels_at(slack)["team"]
    warnings = {"receiver": "lead", "matchers": ["severity=warning"], "group_by": ["run"]}
    route = {"receiver": "team", "group_by": ["project"], "routes": [warnings]}
    alerting = Alerting(engine, clock, {"team": channel, "lead": dict(channel)}, {"route": route})
    alerting.incidents.update_run(run_id, [make_candidate()])
    clock.now += 10
    alerting.send_due("lead")
    alerting.incidents.update_run(run_id, [make_candidate(severity=Severity.CRITICAL)])
    clock.now += 400
    alerting.send_due("lead")
    rows = [row for row in alerting.rows() if row.channel == "lead"]
    assert [row.reason for row in rows] == ["opened", "escalated"]
    assert len({(row.group_key, row.receiver) for row in rows}) == 1


def test_what_turns_out_to_be_information_before_it_is_sent_is_not_sent(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    alerting = Alerting(engine, clock, channels_at(slack, settle=5))
    alerting.incidents.update_run(run_id, [make_candidate()])
    clock.now += 1
    alerting.incidents.update_run(run_id, [make_candidate(severity=Severity.INFO)])
    clock.now += 10
    assert alerting.send_due() == 0
    assert {row.state for row in alerting.rows()} == {"suppressed"}
    assert slack.payloads == []

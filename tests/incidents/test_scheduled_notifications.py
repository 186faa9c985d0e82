"""Reminders, escalations, digests and reports of failing channels: what time alone causes, each once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.server.alerting.notification_scheduler import NotificationScheduler
from holter.server.alerting.routing.policy import Digest
from holter.server.alerting.scheduled import due_times
from holter.server.alerting.silences import add_silence
from holter.server.models import NotificationDecisionRow
from tests.support.alerting import Alerting, Clock, channels_at, headlines, make_candidate
from tests.support.receivers import SlackServer

HOUR = 3600.0


class Scheduled(Alerting):
    """Incidents and a sender of two channels, `team` and `lead`, with a scheduler that the test calls."""

    def __init__(self, engine: Engine, clock: Clock, slack: SlackServer, alerting: dict[str, Any]) -> None:
        channel = channels_at(slack, settle=0)["team"]
        super().__init__(engine, clock, {"team": channel, "lead": dict(channel)}, alerting)
        self.scheduler = NotificationScheduler(engine, self.policy, lambda: None, clock=clock)

    def check(self) -> list[tuple[str, str]]:
        """What the scheduler adds: channels and reasons. All of it is sent."""
        before = len(self.rows())
        self.scheduler.check()
        added = [(row.channel, row.reason) for row in self.rows()[before:]]
        self.send_due("team")
        self.send_due("lead")
        return added


def test_an_open_incident_is_repeated_until_somebody_acknowledges_it(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    alerting = Scheduled(engine, clock, slack, {"route": {"receiver": "team", "repeat_interval": "4h"}})
    [incident] = alerting.incidents.update_run(run_id, [make_candidate()])
    alerting.send_due()
    clock.now += 3.9 * HOUR
    assert alerting.check() == []
    clock.now += 0.2 * HOUR
    assert alerting.check() == [("team", "reminder")]
    assert alerting.check() == []
    assert headlines(slack)[-1] == "Still open: fast loss spike in 104b at step 1,514"
    alerting.incidents.acknowledge(incident.id, by="ana")
    clock.now += 5 * HOUR
    assert alerting.check() == []


def test_without_a_tree_nothing_is_repeated(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    alerting = Scheduled(engine, clock, slack, {})
    alerting.incidents.update_run(run_id, [make_candidate()])
    alerting.send_due()
    clock.now += 100 * HOUR
    assert alerting.check() == []


def test_an_incident_that_nobody_acknowledges_goes_to_another_receiver_once(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    route = {"receiver": "team", "repeat_interval": "0", "escalate_after": "15m", "escalate_to": "lead"}
    route |= {"group_by": ["project"]}
    alerting = Scheduled(engine, clock, slack, {"route": route})
    alerting.incidents.update_run(run_id, [make_candidate()])
    alerting.send_due()
    clock.now += 14 * 60
    assert alerting.check() == []
    clock.now += 61
    assert alerting.check() == [("lead", "not_acknowledged")]
    clock.now += HOUR
    assert alerting.check() == []
    assert headlines(slack)[-1] == "Not acknowledged: fast loss spike in 104b at step 1,514"
    alerting.incidents.update_run(run_id, [make_candidate(end_step=1600)])
    clock.now += 10
    assert [alerting.send_due("team"), alerting.send_due("lead")] == [1, 1]  # both get its end
    told = [row for row in alerting.rows() if row.channel == "lead"]
    assert {(row.receiver, row.group_key) for row in told} == {("lead", None)}
    with Session(engine) as session:
        decisions = session.scalars(select(NotificationDecisionRow).filter_by(channel="lead"))
        assert {decision.receiver for decision in decisions} == {"lead"}


def test_an_acknowledged_incident_is_not_escalated(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    route = {"receiver": "team", "escalate_after": "15m", "escalate_to": "lead"}
    alerting = Scheduled(engine, clock, slack, {"route": route})
    [incident] = alerting.incidents.update_run(run_id, [make_candidate()])
    alerting.send_due()
    alerting.incidents.acknowledge(incident.id)
    clock.now += HOUR
    assert alerting.check() == []


def test_a_digest_is_sent_once_a_day_at_its_local_time(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    clock.now = datetime(2026, 11, 23, 6, 59, tzinfo=UTC).timestamp()
    digest = {"receiver": "lead", "at": "08:00", "location": "Europe/Berlin"}
    alerting = Scheduled(engine, clock, slack, {"route": {"receiver": "team"}, "digests": {"Daily": digest}})
    alerting.incidents.update_run(run_id, [make_candidate()])
    assert alerting.check() == []
    clock.now += 61
    assert alerting.check() == [("lead", "digest")]
    assert headlines(slack)[-1] == "Daily: 1 new incident, 1 open"
    assert alerting.check() == []
    assert "104b" in str(slack.payloads[-1])


def test_a_digest_of_other_projects_says_that_nothing_happened(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    clock.now = datetime(2026, 11, 23, 8, 1, tzinfo=UTC).timestamp()
    digest = {"receiver": "lead", "matchers": ["project=other"]}
    alerting = Scheduled(engine, clock, slack, {"route": {"receiver": "none"}, "digests": {"Daily": digest}})
    alerting.incidents.update_run(run_id, [make_candidate()])
    assert alerting.check() == [("lead", "digest")]
    assert headlines(slack)[-1] == "Daily: 0 new incidents, 0 open"


def test_a_late_digest_leaves_what_began_after_its_time_to_the_next_one(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    clock.now = datetime(2026, 11, 23, 9, 0, tzinfo=UTC).timestamp()
    digest = {"receiver": "lead", "at": "08:00"}
    alerting = Scheduled(engine, clock, slack, {"route": {"receiver": "none"}, "digests": {"Daily": digest}})
    alerting.incidents.update_run(run_id, [make_candidate()])
    alerting.check()
    assert headlines(slack)[-1] == "Daily: 0 new incidents, 1 open"
    clock.now += 23 * HOUR
    alerting.check()
    assert headlines(slack)[-1] == "Daily: 1 new incident, 1 open"


@pytest.mark.parametrize(
    ("now", "weekday", "due", "before"),
    [
        ("2026-11-23T12:00", None, "2026-11-23T08:00", "2026-11-22T08:00"),
        ("2026-11-23T07:00", None, "2026-11-22T08:00", "2026-11-21T08:00"),
        ("2026-11-25T12:00", 0, "2026-11-23T08:00", "2026-11-16T08:00"),
        ("2026-10-25T12:00", None, "2026-10-25T08:00", "2026-10-24T08:00"),  # clocks were set back
    ],
)
def test_digests_are_due_by_the_clock_of_their_zone(
    now: str, weekday: int | None, due: str, before: str
) -> None:
    zone = ZoneInfo("Europe/Berlin")

    def seconds(text: str) -> float:
        return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()

    digest = Digest(name="d", receiver="team", minute=8 * 60, weekday=weekday, zone=zone)
    assert due_times(digest, seconds(now)) == (seconds(due), seconds(before))


def test_a_channel_that_fails_is_reported_by_the_other_until_it_works(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    alerting = Scheduled(engine, clock, slack, {"route": {"receiver": "team", "repeat_interval": "0"}})
    alerting.incidents.update_run(run_id, [make_candidate()])
    for _ in range(4):
        slack.answer(500, "down")
        alerting.send_due()
        clock.now += 200
    assert alerting.check() == [("lead", "channel_failing")]
    assert "Channel team does not deliver" in str(slack.payloads)
    clock.now += 700
    alerting.send_due()
    assert alerting.check() == [("lead", "channel_working")]
    assert alerting.check() == []


def test_a_message_that_was_muted_has_not_failed_for_as_long(
    engine: Engine, clock: Clock, slack: SlackServer, run_id: int
) -> None:
    alerting = Scheduled(engine, clock, slack, {"route": {"receiver": "team"}})
    with Session(engine) as session, session.begin():
        add_silence(
            session, ["project=llm"], comment="work", by="ann", now=clock.now, ends_at=clock.now + 2 * HOUR
        )
    alerting.incidents.update_run(run_id, [make_candidate()])
    assert alerting.check() == []
    clock.now += 2 * HOUR + 1
    for _ in range(4):
        slack.answer(503)
        alerting.send_due("team")
        clock.now += 40
    alerting.scheduler.check()
    assert len(alerting.rows()) == 1
    clock.now += 300
    slack.answer(503)
    assert alerting.check() == [("lead", "channel_failing")]


def test_two_servers_add_one_reminder(engine: Engine, clock: Clock, slack: SlackServer, run_id: int) -> None:
    alerting = Scheduled(engine, clock, slack, {"route": {"receiver": "team", "repeat_interval": "1h"}})
    other = NotificationScheduler(engine, alerting.policy, lambda: None, clock=clock)
    alerting.incidents.update_run(run_id, [make_candidate()])
    alerting.send_due()
    clock.now += 2 * HOUR
    assert alerting.scheduler.check() + other.check() == 1

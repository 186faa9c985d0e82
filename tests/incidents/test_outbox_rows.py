"""What the outbox notes of each message, so that nothing is lost, repeated or sent in another's name."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, select, update
from sqlalchemy.orm import Session

from holter.server.alerting.outbox import (
    ClaimedMessage,
    claim,
    give_up_orphans,
    release_claims,
    retry_given_up,
    seconds_until,
)
from holter.server.alerting.rate_limit import RateLimit, WaitUntil
from holter.server.alerting.silences import add_silence
from holter.server.channels import Delivered, GiveUp, Retry
from holter.server.models import NotificationDecisionRow
from holter.server.models.alerting import IncidentEventRow, NotificationRow
from holter.types import Kind, Severity
from tests.support.alerting import Alerting, Clock, add_run, make_candidate
from tests.support.recording_channels import RecordingChannel, UpdatingRecordingChannel, configured

DAY = 86_400.0


@pytest.fixture
def channel() -> RecordingChannel:
    return RecordingChannel()


@pytest.fixture
def alerting(engine: Engine, clock: Clock, channel: RecordingChannel) -> Alerting:
    return Alerting(engine, clock, {}, channels=configured(channel))


def with_route(alerting: Alerting, channel: RecordingChannel, **settings: Any) -> Alerting:
    route = {"route": {"receiver": "team", **settings}}
    return Alerting(alerting.engine, alerting.clock, {}, route, channels=configured(channel))


def claimed(alerting: Alerting, *, lease: float = 120.0, burst: int = 10) -> ClaimedMessage | WaitUntil:
    """What the channel claims, as a server that is killed after it leaves it."""
    limit = RateLimit(settle=0.0, burst=burst)
    with Session(alerting.engine) as session, session.begin():
        return claim(session, "team", limit, now=alerting.clock.now, lease=lease, policy=alerting.policy)


def message(alerting: Alerting, **options: Any) -> ClaimedMessage:
    found = claimed(alerting, **options)
    assert isinstance(found, ClaimedMessage)
    return found


def silence(alerting: Alerting, seconds: float) -> None:
    now = alerting.clock.now
    with Session(alerting.engine) as session, session.begin():
        add_silence(session, ['project="llm"'], comment="work", by="ann", now=now, ends_at=now + seconds)


def lines(alerting: Alerting) -> list[tuple[str, str]]:
    with Session(alerting.engine) as session:
        rows = session.scalars(select(IncidentEventRow).order_by(IncidentEventRow.id))
        return [(row.type, row.text) for row in rows if row.type in ("notified", "undelivered")]


def states(alerting: Alerting) -> list[str]:
    return [row.state for row in alerting.rows()]


def test_a_claimed_message_belongs_to_its_server_until_the_lease_ends(
    alerting: Alerting, run_id: int, clock: Clock
) -> None:
    alerting.incidents.update_run(run_id, [make_candidate()])
    first = message(alerting)
    assert claimed(alerting) == WaitUntil(clock.now + 120)
    clock.now += 120
    again = message(alerting)
    assert (again.key, first.attempts, again.attempts) == (first.key, 1, 2)


def test_news_about_an_incident_never_goes_under_the_key_of_what_may_have_arrived(
    alerting: Alerting, run_id: int, clock: Clock
) -> None:
    alerting.incidents.update_run(run_id, [make_candidate()])
    first = message(alerting)
    for changes in ({"severity": Severity.CRITICAL}, {"severity": Severity.CRITICAL, "end_step": 1600}):
        clock.now += 200
        alerting.incidents.update_run(run_id, [make_candidate(**changes)])
    second = message(alerting)
    rows = alerting.rows()
    assert first.key == rows[0].key
    assert second.key == rows[2].key
    assert second.notification_ids == (rows[2].id, rows[0].id, rows[1].id)
    assert second.created_at == rows[2].created_at


def test_what_a_killed_server_was_sending_is_sent_at_once_and_nothing_else_is(
    engine: Engine, clock: Clock, channel: RecordingChannel
) -> None:
    """At the start of the only server: neither what failed nor what waits for its time is sent early."""
    alerting = Alerting(engine, clock, {}, channels=configured(channel, calm=300))
    run = add_run(engine, "calm")
    alerting.incidents.update_run(run, [make_candidate()])
    alerting.send_due()
    alerting.incidents.update_run(run, [make_candidate(end_step=1600)])
    channel.answers = [Retry("down"), Retry("down")]
    for name in ("failed", "failed and in progress"):
        alerting.incidents.update_run(add_run(engine, name), [make_candidate()])
        alerting.send_due()
    clock.now += 3
    with Session(engine) as session, session.begin():
        query = update(NotificationRow).where(NotificationRow.id == alerting.rows()[2].id)
        session.execute(query.values(next_try_at=clock.now + 60))
    message(alerting)
    before = [row.next_try_at for row in alerting.rows()]
    assert before[3] == clock.now + 120
    with Session(engine) as session, session.begin():
        release_claims(session, now=clock.now)
    assert [row.next_try_at for row in alerting.rows()] == [*before[:3], clock.now]


def test_an_ending_goes_to_whoever_got_the_opening_although_it_is_silenced(
    alerting: Alerting, run_id: int, clock: Clock, channel: RecordingChannel
) -> None:
    steps = (1000, 2000)
    alerting.incidents.update_run(run_id, [make_candidate(start_step=step) for step in steps])
    assert alerting.send_due() == 2
    silence(alerting, 1000)
    clock.now += 10
    ended = [make_candidate(start_step=step, end_step=step + 50) for step in steps]
    alerting.incidents.update_run(run_id, [*ended, make_candidate(start_step=3000)])
    assert alerting.send_due() == 2
    assert [text.reason for text, _ in channel.sent[2:]] == ["recovered", "recovered"]
    assert states(alerting)[-1] == "waiting"


def test_why_it_is_muted_is_recorded_once_and_its_route_is_not_forgotten(
    alerting: Alerting, channel: RecordingChannel, run_id: int, clock: Clock
) -> None:
    routed = with_route(alerting, channel, group_wait="40s", group_by=["run"])
    silence(routed, 1000)
    routed.incidents.update_run(run_id, [make_candidate()])
    for _ in range(3):
        clock.now += 100
        assert routed.send_due() == 0
    clock.now += 1000
    assert routed.send_due() == 0  # it waits 40 s from the end of the silence on
    clock.now += 39
    assert routed.send_due() == 0
    clock.now += 1
    assert routed.send_due() == 1
    with Session(routed.engine) as session:
        rows = session.scalars(select(NotificationDecisionRow).order_by(NotificationDecisionRow.id))
        assert [row.outcome for row in rows] == ["notified", "muted", "notified"]


def test_updates_without_a_message_do_not_delay_others(engine: Engine, clock: Clock) -> None:
    updating = UpdatingRecordingChannel(GiveUp("too long"))
    alerting = Alerting(engine, clock, {}, channels=configured(updating))
    [incident] = alerting.incidents.update_run(add_run(engine, "a"), [make_candidate()])
    alerting.send_due()
    alerting.incidents.acknowledge(incident.id, by="ada")
    alerting.incidents.update_run(add_run(engine, "b"), [make_candidate()])
    assert isinstance(claimed(alerting), ClaimedMessage)
    assert states(alerting) == ["given_up", "suppressed", "waiting"]


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Delivered(), [("notified", "team (escalated)")]),
        (GiveUp("too long"), [("undelivered", "team (escalated): too long")]),
        (Retry("down"), []),
    ],
)
def test_the_history_has_one_line_for_a_message_about_two_changes(
    alerting: Alerting,
    channel: RecordingChannel,
    run_id: int,
    outcome: Any,
    expected: list[tuple[str, str]],
) -> None:
    alerting.incidents.update_run(run_id, [make_candidate()])
    alerting.send_due()
    channel.answers = [outcome]
    before = len(lines(alerting))
    alerting.incidents.update_run(run_id, [make_candidate(severity=Severity.CRITICAL)])
    ended = make_candidate(severity=Severity.CRITICAL, end_step=1600)
    alerting.incidents.update_run(run_id, [ended])
    alerting.send_due()
    assert lines(alerting)[before:] == expected


@pytest.mark.parametrize(
    ("seconds", "tried", "state", "error"),
    [
        (DAY, False, "waiting", None),
        (DAY + 1, False, "given_up", "not delivered within 24 hours: it never was its turn"),
        (
            DAY + 1,
            True,
            "given_up",
            "not delivered within 24 hours: the server stopped while it was being sent",
        ),
    ],
)
def test_what_is_older_than_a_day_is_given_up_and_the_history_states_it(
    alerting: Alerting, run_id: int, clock: Clock, seconds: float, tried: bool, state: str, error: str | None
) -> None:
    alerting.incidents.update_run(run_id, [make_candidate()])
    if tried:
        message(alerting)
    clock.now += seconds
    with Session(alerting.engine) as session, session.begin():
        give_up_orphans(session, ["team"], now=clock.now)  # not this one: its channel exists
    assert states(alerting) == ["waiting"]
    found = claimed(alerting)
    assert isinstance(found, ClaimedMessage) is (state == "waiting")
    [row] = alerting.rows()
    assert (row.state, row.error) == (state, error)
    assert lines(alerting) == ([] if error is None else [("undelivered", f"team (opened): {error}")])


def test_only_old_messages_of_channels_that_are_gone_are_given_up(
    alerting: Alerting, run_id: int, clock: Clock
) -> None:
    alerting.incidents.update_run(run_id, [make_candidate()])
    for seconds, state in ((DAY, "waiting"), (DAY + 1, "given_up")):
        with Session(alerting.engine) as session, session.begin():
            give_up_orphans(session, ["other"], now=clock.now + seconds)
        assert states(alerting) == [state]


def test_a_message_that_somebody_lets_be_sent_again_has_a_day_for_that(
    alerting: Alerting, channel: RecordingChannel, run_id: int, clock: Clock
) -> None:
    channel.answers = [GiveUp("no such room")]
    alerting.incidents.update_run(run_id, [make_candidate()])
    alerting.send_due()
    clock.now += 3 * DAY
    with Session(alerting.engine) as session, session.begin():
        retried = retry_given_up(session, alerting.rows()[0].id, now=clock.now)
        assert retried is not None
        assert (retried.state, retried.attempts, retried.error) == ("waiting", 0, None)
        assert retry_given_up(session, retried.id, now=clock.now) is None
        assert retry_given_up(session, 999, now=clock.now) is None
    clock.now += DAY
    assert alerting.send_due() == 1


def test_a_message_says_to_which_group_of_messages_it_belongs(
    alerting: Alerting, channel: RecordingChannel, run_id: int, clock: Clock
) -> None:
    [incident] = alerting.incidents.update_run(run_id, [make_candidate()])
    assert message(alerting).group == f"incident-{incident.id}"
    clock.now += 1000
    alerting.incidents.update_run(run_id, [make_candidate(end_step=1600)])
    assert message(alerting).group == f"incident-{incident.id}"


def test_an_end_is_one_although_other_incidents_of_the_channel_are_open(
    alerting: Alerting, run_id: int
) -> None:
    alerting.incidents.update_run(run_id, [make_candidate(), make_candidate(start_step=9000)])
    assert alerting.send_due() == 2
    alerting.incidents.update_run(run_id, [make_candidate(end_step=1600), make_candidate(start_step=9000)])
    assert message(alerting).resolved


def test_why_it_is_muted_names_its_route_or_the_root_where_that_is_gone(
    alerting: Alerting, channel: RecordingChannel, run_id: int, clock: Clock
) -> None:
    routes = [{"receiver": "team", "matchers": ['project="llm"']}]
    routed = with_route(alerting, channel, routes=routes)
    silence(routed, 1000)
    routed.incidents.update_run(run_id, [make_candidate()])
    assert routed.send_due() == 0
    clock.now += 2000
    assert alerting.send_due() == 1  # with other settings meanwhile
    with Session(routed.engine) as session:
        rows = session.scalars(select(NotificationDecisionRow).order_by(NotificationDecisionRow.id))
        notified, muted, sent = [row.detail["route"] for row in rows]
    assert notified == muted != sent == alerting.policy.root.path


def test_messages_of_a_group_have_its_key(alerting: Alerting, channel: RecordingChannel, run_id: int) -> None:
    grouped = with_route(alerting, channel, group_by=["kind"], group_wait="0s")
    grouped.incidents.update_run(run_id, [make_candidate()])
    found = message(grouped)
    assert found.group == grouped.rows()[0].group_key
    assert found.receiver == "team"


def test_a_summary_is_a_group_of_its_own_and_has_no_thread(
    alerting: Alerting, channel: RecordingChannel
) -> None:
    runs = [add_run(alerting.engine, name) for name in "abc"]
    for run in runs:
        alerting.incidents.update_run(run, [make_candidate()])
    alerting.send_due()
    for run in runs:
        alerting.incidents.update_run(run, [make_candidate(end_step=1600)])
    found = message(alerting, burst=4)
    assert (found.group, found.thread, found.resolved) == (found.key, None, True)


def test_when_its_points_arrived_is_the_earliest_time_of_what_a_message_is_about(
    alerting: Alerting, run_id: int, clock: Clock
) -> None:
    for severity, before in ((Severity.WARNING, 3), (Severity.CRITICAL, 7)):
        candidate = make_candidate(severity=severity)
        alerting.incidents.update_run(run_id, [candidate], arrived_at=clock.now - before)
    assert message(alerting).arrived_at == clock.now - 7
    clock.now += 1000
    alerting.incidents.update_run(add_run(alerting.engine, "b"), [make_candidate()])
    clock.now += 1000
    found = [message(alerting).arrived_at for _ in range(2)]
    assert found == [clock.now - 2007, None]


def test_without_groups_too_an_incident_is_not_sent_again_within_its_interval(
    alerting: Alerting, channel: RecordingChannel, run_id: int, clock: Clock
) -> None:
    spaced = with_route(alerting, channel, group_interval="5m")
    spaced.incidents.update_run(run_id, [make_candidate()])
    assert spaced.send_due() == 1
    clock.now += 100
    spaced.incidents.update_run(run_id, [make_candidate(severity=Severity.CRITICAL)])
    spaced.incidents.update_run(add_run(spaced.engine, "another"), [make_candidate()])
    assert spaced.send_due() == 1
    clock.now += 199
    assert spaced.send_due() == 0
    clock.now += 1
    assert spaced.send_due() == 1


def test_a_group_continues_its_own_thread_and_an_incident_that_of_its_first_message(
    alerting: Alerting, channel: RecordingChannel
) -> None:
    grouped = with_route(alerting, channel, group_by=["kind"], group_wait="0s", group_interval="1s")
    first, second, third = (add_run(grouped.engine, name) for name in "abc")
    grouped.incidents.update_run(first, [make_candidate()])
    grouped.send_due()
    grouped.incidents.update_run(second, [make_candidate(kind=Kind.DIVERGENCE)])
    grouped.clock.now += 10
    grouped.send_due()
    grouped.incidents.update_run(third, [make_candidate(kind=Kind.DIVERGENCE)])
    grouped.clock.now += 10
    grouped.send_due()
    # of a kind now that has another thread: whoever read of it in the first one reads on there
    grouped.incidents.update_run(first, [make_candidate(kind=Kind.DIVERGENCE, severity=Severity.CRITICAL)])
    grouped.clock.now += 10
    grouped.send_due()
    assert [thread for _, thread in channel.sent] == [None, None, "thread 2", "thread 1"]


def test_how_long_nothing_is_due() -> None:
    assert seconds_until(WaitUntil(None), 100.0) is None
    assert seconds_until(WaitUntil(100.5), 100.0) == 0.5
    overdue = seconds_until(WaitUntil(99.0), 100.0)
    assert overdue is not None
    assert 0 < overdue < 0.1, "0 would mean that something was sent"

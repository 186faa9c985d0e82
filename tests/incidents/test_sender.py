"""What the sender does with what a channel answers: pauses, repeats, reports and updates."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, update
from sqlalchemy.orm import Session

from holter.server.alerting import sender as sender_module
from holter.server.alerting.sender import ChannelHealth
from holter.server.channels import Delivered, GiveUp, Retry
from holter.server.models.alerting import NotificationRow
from holter.types import Severity
from tests.support.alerting import Alerting, Clock, add_run, make_candidate
from tests.support.recording_channels import (
    PacedRecordingChannel,
    RecordingChannel,
    UpdatingRecordingChannel,
    configured,
)
from tests.support.waiting import wait_for

DOWN = Retry("down")


@pytest.fixture
def start(sqlite_engine: Engine, clock: Clock) -> Callable[..., Alerting]:
    def new(channel: RecordingChannel, **settings: Any) -> Alerting:
        return Alerting(sqlite_engine, clock, {}, channels=configured(channel, burst=100, **settings))

    return new


def report(alerting: Alerting, *runs: str) -> list[int]:
    """An incident in each of these runs; their numbers."""
    found = []
    for run in runs:
        [incident] = alerting.incidents.update_run(add_run(alerting.engine, run), [make_candidate()])
        found.append(incident.id)
    return found


def pause(alerting: Alerting) -> float:
    return alerting.sender._threads["team"].pause


def test_each_attempt_is_reported_and_a_delivery_with_the_time_since_its_points_arrived(
    start: Callable[..., Alerting], clock: Clock
) -> None:
    alerting = start(RecordingChannel(DOWN, Delivered(), GiveUp("no such room")))
    attempts: list[tuple[str, str, float | None]] = []
    alerting.sender = alerting.new_sender(on_attempt=lambda *each: attempts.append(each))
    run = add_run(alerting.engine)
    alerting.incidents.update_run(run, [make_candidate()], arrived_at=clock.now - 7)
    alerting.incidents.update_run(run, [make_candidate(severity=Severity.CRITICAL)], arrived_at=clock.now - 3)
    alerting.send_due()
    clock.now += 3600
    alerting.send_due()
    report(alerting, "given up", "without a time")
    alerting.send_due()
    assert attempts == [
        ("team", "retry", None),
        ("team", "delivered", 3607.0),
        ("team", "give_up", None),
        ("team", "delivered", None),
    ]


def test_a_channel_that_raises_is_tried_again_and_its_text_is_nowhere(
    start: Callable[..., Alerting], caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> Delivered:
        raise RuntimeError("token-1234")

    alerting = start(RecordingChannel(fail))
    report(alerting, "a")
    alerting.send_due()
    assert alerting.rows()[0].error == "the channel raised RuntimeError"
    assert "channel team raised RuntimeError" in caplog.text
    assert "token-1234" not in caplog.text


@pytest.mark.parametrize(("failures", "state"), [(2, "waiting"), (3, "delivered")])
def test_three_failures_in_a_row_are_the_channels_and_what_failed_is_repeated_once_it_works(
    start: Callable[..., Alerting], clock: Clock, failures: int, state: str
) -> None:
    channel = RecordingChannel()
    alerting = start(channel)
    report(alerting, "before")
    alerting.send_due()
    channel.answers = [DOWN] * failures
    report(alerting, "failed")
    for _ in range(failures):
        assert alerting.sender.send_next("team") == 0
        clock.now = alerting.rows()[1].next_try_at
    clock.now -= 1
    report(alerting, "after")
    alerting.send_due()
    assert [row.state for row in alerting.rows()] == ["delivered", state, "delivered"]


def test_what_failed_before_the_start_is_repeated_after_the_first_delivery_only(
    start: Callable[..., Alerting], clock: Clock
) -> None:
    alerting = start(RecordingChannel(DOWN))
    report(alerting, "failed")
    alerting.send_due()
    alerting.sender = alerting.new_sender()
    report(alerting, "first")
    alerting.send_due()
    assert [row.state for row in alerting.rows()] == ["delivered", "delivered"]
    alerting.channels["team"].channel.answers = [DOWN]  # type: ignore[attr-defined]
    report(alerting, "fails later")
    alerting.send_due()
    report(alerting, "second")
    alerting.send_due()
    assert [row.state for row in alerting.rows()[2:]] == ["waiting", "delivered"]


def test_a_channel_is_paused_from_a_failure_until_a_delivery(
    start: Callable[..., Alerting], clock: Clock
) -> None:
    alerting = start(RecordingChannel(DOWN, DOWN))
    report(alerting, "a")
    assert alerting.sender.statuses() == {"team": ChannelHealth(failures=0, is_paused=False)}
    alerting.send_due()
    assert alerting.sender.paused() == {"team": clock.now + 2}
    assert alerting.sender.statuses() == {"team": ChannelHealth(failures=1, is_paused=True)}
    clock.now += 2
    assert alerting.sender.paused() == {}
    clock.now += 10
    alerting.send_due()
    assert alerting.sender.statuses() == {"team": ChannelHealth(failures=2, is_paused=True)}
    clock.now += 1.5  # the message is due again soon, the channel still paused
    with Session(alerting.engine) as session, session.begin():
        session.execute(update(NotificationRow).values(next_try_at=clock.now))
    alerting.send_due()
    assert alerting.sender.statuses() == {"team": ChannelHealth(failures=0, is_paused=False)}


@pytest.mark.parametrize(
    ("after", "row_waits", "channel_pauses"), [(None, 2, 2), (0.5, 2, 2), (40, 40, 40), (5000, 900, 900)]
)
def test_a_receiver_may_ask_for_a_longer_pause_up_to_a_quarter_of_an_hour(
    start: Callable[..., Alerting], clock: Clock, after: float | None, row_waits: float, channel_pauses: float
) -> None:
    alerting = start(RecordingChannel(Retry("busy", after=after)))
    report(alerting, "a")
    alerting.send_due()
    assert alerting.rows()[0].next_try_at == clock.now + row_waits
    assert pause(alerting) == channel_pauses


@pytest.mark.parametrize(("channel", "expected"), [(RecordingChannel, 0.0), (PacedRecordingChannel, 0.3)])
def test_only_a_receiver_that_limits_the_rate_is_given_time_after_a_delivery(
    start: Callable[..., Alerting], channel: type[RecordingChannel], expected: float
) -> None:
    alerting = start(channel())
    report(alerting, "a")
    alerting.send_due()
    assert pause(alerting) == expected


def shown_in_many_threads(alerting: Alerting, number: int) -> None:
    """Let an incident be shown by the first messages of 30 threads."""
    with Session(alerting.engine) as session, session.begin():
        for each in range(30):
            session.add(
                NotificationRow(
                    incident_id=number,
                    channel="team",
                    receiver="team",
                    key=f"earlier {each}",
                    reason="opened",
                    detail={},
                    state="delivered",
                    attempts=1,
                    next_try_at=0.0,
                    created_at=alerting.clock.now - 9e5,
                    delivered_at=alerting.clock.now - 9e5,
                    thread=f"earlier {each}",
                )
            )


@pytest.mark.parametrize(
    ("channel", "seconds", "updated"),
    [
        (UpdatingRecordingChannel, 60.0, 31),
        (PacedRecordingChannel, 60.0, 20),
        (UpdatingRecordingChannel, 0.0, 1),
    ],
)
def test_before_a_message_the_first_messages_of_its_threads_are_updated_the_newest_first(
    start: Callable[..., Alerting],
    monkeypatch: pytest.MonkeyPatch,
    channel: type[UpdatingRecordingChannel],
    seconds: float,
    updated: int,
) -> None:
    """Of all threads; of twenty where the rate is limited; and of no more after some seconds."""
    recording = channel()
    alerting = start(recording)
    [number] = report(alerting, "a")
    shown_in_many_threads(alerting, number)
    alerting.send_due()
    recording.updated.clear()
    monkeypatch.setattr(sender_module, "_UPDATE_SECONDS", seconds)
    alerting.incidents.close(number, by="ada", text="")
    assert alerting.send_due() == 1
    assert [thread for _, thread in recording.updated[:2]] == ["earlier 29", "earlier 28"][:updated]
    assert len(recording.updated) == min(updated, 30)
    assert len(recording.sent) == 2


def test_a_message_waits_for_an_update_that_failed(start: Callable[..., Alerting]) -> None:
    channel = UpdatingRecordingChannel(update_answers=[GiveUp("gone"), DOWN])
    alerting = start(channel)
    [number] = report(alerting, "a")
    alerting.send_due()
    alerting.incidents.acknowledge(number, by="ada")
    alerting.send_due()
    assert (len(channel.updated), len(channel.sent)) == (1, 2)  # what is gone needs no update
    alerting.incidents.close(number, by="ada", text="")
    alerting.send_due()
    assert (len(channel.updated), len(channel.sent)) == (2, 2)
    assert alerting.rows()[-1].error == "down"


def test_messages_in_progress_have_a_moment_to_arrive_when_the_server_stops(
    start: Callable[..., Alerting], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "_STOP_SECONDS", 60.0)  # on a busy machine a moment is long
    begun, stopping = threading.Event(), threading.Event()

    def arrive() -> Delivered:
        begun.set()
        stopping.wait(60)
        return Delivered()

    alerting = start(RecordingChannel(arrive))
    report(alerting, "a", "b")
    alerting.sender.start()
    assert begun.wait(60)
    alerting.sender.stop()
    stopping.set()
    alerting.sender.close()
    assert [row.state for row in alerting.rows()] == ["delivered", "waiting"]  # no further one was begun


def test_a_message_that_does_not_arrive_in_time_is_left_and_its_end_recorded_by_nobody(
    start: Callable[..., Alerting], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "_STOP_SECONDS", 0.05)
    begun, over = threading.Event(), threading.Event()

    def hang() -> Delivered:
        begun.set()
        over.wait(60)
        return Delivered()

    alerting = start(RecordingChannel(hang))
    report(alerting, "a")
    alerting.sender.start()
    assert begun.wait(60)
    before = time.monotonic()
    alerting.sender.close()
    assert time.monotonic() - before >= 0.35  # the time to arrive, and that for closed connections to end
    assert "stopped while a message was being sent: outbox team" in caplog.text
    over.set()
    alerting.sender._threads["team"].thread.join(60)
    assert [(row.state, row.attempts) for row in alerting.rows()] == [("waiting", 1)]


def test_a_sender_that_never_started_closes(
    start: Callable[..., Alerting], caplog: pytest.LogCaptureFixture
) -> None:
    start(RecordingChannel()).sender.close()
    assert caplog.text == ""


def test_a_rate_is_not_exceeded_whatever_arrives(
    start: Callable[..., Alerting], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "_POLL_SECONDS", 600.0)  # they wait for the interval, not for a poll
    times: list[float] = []

    def note() -> Delivered:
        times.append(time.monotonic())
        return Delivered()

    channel = PacedRecordingChannel(note, note, note)
    alerting = start(channel)
    report(alerting, "a", "b", "c")
    turns: list[str] = []
    alerting.sender = alerting.new_sender(on_turn=lambda name: lambda: turns.append(name))
    alerting.sender.start()
    alerting.sender.wake()
    wait_for(lambda: len(times) == 3)
    alerting.sender.close()
    assert min(times[1] - times[0], times[2] - times[1]) >= channel.least_interval
    assert set(turns) == {"team"}
    assert len(turns) >= 3


@pytest.mark.parametrize("channel", [RecordingChannel, PacedRecordingChannel])
def test_a_channel_with_nothing_to_send_waits(
    start: Callable[..., Alerting], channel: type[RecordingChannel]
) -> None:
    alerting = start(channel())
    report(alerting, "a")
    turns, busy = list[str](), threading.Event()

    def count(name: str) -> None:
        turns.append(name)
        if len(turns) > 20:
            busy.set()

    alerting.sender = alerting.new_sender(on_turn=lambda name: lambda: count(name))
    alerting.sender.start()
    wait_for(lambda: alerting.rows()[0].state == "delivered")
    assert not busy.wait(0.5)
    alerting.sender.close()

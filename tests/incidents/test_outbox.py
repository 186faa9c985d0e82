"""The outbox in both databases: through failures, restarts and kills, to a server in place of Slack."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, select, text, update
from sqlalchemy.orm import Session

from holter.server.alerting import IncidentStore, NotificationSender, build_policy
from holter.server.alerting import sender as sender_module
from holter.server.channels import open_channels
from holter.server.models.alerting import NotificationRow
from holter.types import Kind, Severity
from tests.support.alerting import (
    SPIKE,
    Alerting,
    Clock,
    NoCharts,
    add_run,
    channels_at,
    headlines,
    make_candidate,
)
from tests.support.receivers import SlackServer


@pytest.fixture
def make_alerting(engine: Engine, clock: Clock) -> Callable[..., Alerting]:
    return lambda settings: Alerting(engine, clock, settings)


def test_messages_follow_an_incident(
    make_alerting: Callable[..., Alerting], slack: SlackServer, run_id: int, clock: Clock
) -> None:
    alerting = make_alerting(channels_at(slack))
    alerting.incidents.update_run(run_id, [make_candidate()])
    assert alerting.send_due() == 0
    clock.now += 6
    assert alerting.send_due() == 1
    alerting.incidents.update_run(run_id, [make_candidate(kind=Kind.DIVERGENCE, severity=Severity.CRITICAL)])
    clock.now += 6
    alerting.incidents.update_run(
        run_id, [make_candidate(kind=Kind.SPIKE_SLOW, severity=Severity.CRITICAL, end_step=1890)]
    )
    clock.now += 6
    assert alerting.send_due() == 1
    assert headlines(slack) == [
        "Loss spike in 104b at step 1,514",
        "Severity raised: slow loss spike in 104b at step 1,514",
    ]
    assert [(row.reason, row.state) for row in alerting.rows()] == [
        ("opened", "delivered"),
        ("escalated", "folded"),
        ("escalated", "delivered"),
    ]
    assert alerting.rows()[1].detail["within"] == alerting.rows()[2].id


def test_the_history_names_channels_and_reasons(
    make_alerting: Callable[..., Alerting], slack: SlackServer, run_id: int
) -> None:
    alerting = make_alerting(channels_at(slack, settle=0))
    alerting.incidents.update_run(run_id, [make_candidate()])
    alerting.send_due()
    slack.answer(400, "invalid_blocks")
    [ended] = alerting.incidents.update_run(run_id, [make_candidate(end_step=1600)])
    alerting.send_due()
    history = alerting.incidents.comment(ended.id, "seen").history
    assert [(entry.type, entry.text) for entry in history] == [
        ("opened", SPIKE.summary),
        ("notified", "team (opened)"),
        ("recovered", SPIKE.summary),
        ("undelivered", "team (recovered): Slack answered 400 invalid_blocks"),
        ("comment", "seen"),
    ]


def test_a_failure_is_tried_again_ever_later_with_its_reason(
    make_alerting: Callable[..., Alerting], slack: SlackServer, run_id: int, clock: Clock
) -> None:
    alerting = make_alerting(channels_at(slack, settle=0))
    alerting.incidents.update_run(run_id, [make_candidate()])
    waits = []
    for _ in range(4):
        slack.answer(503)
        assert alerting.sender.send_next("team") == 0
        [row] = alerting.rows()
        assert (row.state, row.error) == ("waiting", "Slack answered 503")
        waits.append(row.next_try_at - clock.now)
        assert alerting.sender.send_next("team") == pytest.approx(waits[-1])
        clock.now = row.next_try_at
    assert waits == [2, 4, 8, 16]
    assert alerting.send_due() == 1
    [row] = alerting.rows()
    assert (row.state, row.attempts, row.error) == ("delivered", 5, None)
    assert len(slack.payloads) == 1


@pytest.mark.parametrize("restarted", [False, True])
def test_what_failed_is_tried_at_once_when_its_channel_works_again(
    make_alerting: Callable[..., Alerting], slack: SlackServer, engine: Engine, clock: Clock, restarted: bool
) -> None:
    alerting = make_alerting(channels_at(slack, settle=0))
    alerting.incidents.update_run(add_run(engine, "first"), [make_candidate()])
    for _ in range(8):
        slack.answer(503)
        alerting.sender.send_next("team")
        clock.now = alerting.rows()[0].next_try_at
    slack.answer(503)
    alerting.sender.send_next("team")
    assert alerting.rows()[0].next_try_at > clock.now + 200
    if restarted:
        alerting.sender = alerting.new_sender()
    alerting.incidents.update_run(add_run(engine, "second"), [make_candidate()])
    assert alerting.send_due() == 2
    assert [row.state for row in alerting.rows()] == ["delivered", "delivered"]


def test_a_message_that_fails_alone_waits_as_long_as_it_would_without_others(
    make_alerting: Callable[..., Alerting], slack: SlackServer, engine: Engine
) -> None:
    alerting = make_alerting(channels_at(slack, settle=0))
    alerting.incidents.update_run(add_run(engine, "begin"), [make_candidate()])
    alerting.send_due()
    alerting.incidents.update_run(add_run(engine, "bad"), [make_candidate()])
    slack.answer(503)
    alerting.sender.send_next("team")
    before = alerting.rows()[1].next_try_at
    alerting.incidents.update_run(add_run(engine, "good"), [make_candidate()])
    assert alerting.send_due() == 1
    assert [row.state for row in alerting.rows()] == ["delivered", "waiting", "delivered"]
    assert alerting.rows()[1].next_try_at == before


def test_it_waits_as_long_as_the_other_side_asks(
    make_alerting: Callable[..., Alerting], slack: SlackServer, run_id: int, clock: Clock
) -> None:
    alerting = make_alerting(channels_at(slack, settle=0))
    alerting.incidents.update_run(run_id, [make_candidate()])
    slack.answer(429, headers={"Retry-After": "120"})
    alerting.send_due()
    assert alerting.rows()[0].next_try_at == clock.now + 120


def test_a_channel_pauses_ever_longer_while_it_fails_and_begins_anew_once_it_works(
    make_alerting: Callable[..., Alerting], slack: SlackServer, engine: Engine, clock: Clock
) -> None:
    alerting = make_alerting(channels_at(slack, settle=0))
    thread = alerting.sender._threads["team"]

    def send(run: str, *statuses: int) -> list[float]:
        """The pauses after each of these answers to a message."""
        alerting.incidents.update_run(add_run(engine, run), [make_candidate()])
        pauses = []
        for status in statuses:
            slack.answer(status)
            thread.pause = 0.0
            assert alerting.sender.send_next("team") == 0
            pauses.append(thread.pause)
            clock.now += 4000
        return pauses

    assert send("first", 503, 503, 503, 200) == [2, 4, 8, 1]  # one message a second
    assert send("second", 503, 503, 200) == [2, 4, 1]
    assert send("third", *[503] * 6, 400) == [
        2,
        4,
        8,
        16,
        32,
        60,
        1,
    ]  # 400: given up, and no failure of the channel
    assert send("fourth", 503) == [2]
    slack.answer(429, headers={"Retry-After": "900"})
    alerting.sender.send_next("team")
    assert thread.pause == 900


def test_what_can_never_arrive_is_given_up_at_once(
    make_alerting: Callable[..., Alerting], slack: SlackServer, run_id: int
) -> None:
    alerting = make_alerting(channels_at(slack, settle=0))
    alerting.incidents.update_run(run_id, [make_candidate()])
    slack.answer(400, "invalid_blocks")
    alerting.send_due()
    [row] = alerting.rows()
    assert (row.state, row.error) == ("given_up", "Slack answered 400 invalid_blocks")


def test_what_did_not_arrive_for_a_day_is_given_up_with_the_reason(
    make_alerting: Callable[..., Alerting], slack: SlackServer, run_id: int, clock: Clock
) -> None:
    alerting = make_alerting(channels_at(slack, settle=0))
    alerting.incidents.update_run(run_id, [make_candidate()])
    slack.answer(503)
    alerting.send_due()
    clock.now += 86_401
    assert alerting.send_due() == 0
    [row] = alerting.rows()
    assert row.state == "given_up"
    assert row.error == "not delivered within 24 hours: Slack answered 503"
    assert slack.payloads == []


def test_what_waits_for_a_channel_that_is_gone_is_given_up_in_time(
    make_alerting: Callable[..., Alerting], slack: SlackServer, run_id: int, clock: Clock
) -> None:
    make_alerting(channels_at(slack)).incidents.update_run(run_id, [make_candidate()])
    without = make_alerting({})
    for age, state in ((3600, "waiting"), (90_000, "given_up")):
        clock.now += age
        sender = without.new_sender()
        sender.start()
        sender.close()
        assert without.rows()[0].state == state
    assert without.rows()[0].error == "not delivered within 24 hours: there is no channel team any more"


def test_a_burst_is_one_message_that_names_all(
    make_alerting: Callable[..., Alerting], slack: SlackServer, engine: Engine, clock: Clock
) -> None:
    alerting = make_alerting(channels_at(slack))
    for number in range(30):
        run = add_run(engine, f"run-{number}")
        alerting.incidents.update_run(
            run, [make_candidate(start_step=step) for step in range(100, 1100, 100)]
        )
    clock.now += 6
    assert alerting.send_due() == 1
    assert headlines(slack) == ["300 incidents in 30 runs: Fast loss spike"]
    states = [row.state for row in alerting.rows()]
    assert (states.count("delivered"), states.count("folded")) == (1, 299)
    clock.now += 1000
    alerting.incidents.update_run(add_run(engine, "later"), [make_candidate()])
    clock.now += 6
    assert alerting.send_due() == 1
    assert headlines(slack)[1] == "Loss spike in later at step 1,514"


def test_a_server_killed_between_sending_and_writing_sends_the_same_again(
    make_alerting: Callable[..., Alerting], slack: SlackServer, run_id: int, clock: Clock, engine: Engine
) -> None:
    alerting = make_alerting(channels_at(slack, settle=0))
    alerting.incidents.update_run(run_id, [make_candidate()])
    alerting.send_due()
    claimed = {"state": "waiting", "thread": None, "delivered_at": None, "next_try_at": clock.now + 120}
    with Session(engine) as session, session.begin():
        session.execute(update(NotificationRow).values(**claimed))  # as the kill left it
    after = make_alerting(channels_at(slack, settle=0))
    assert after.send_due() == 0
    clock.now += 121
    assert after.send_due() == 1
    assert slack.payloads[0] == slack.payloads[1]


def test_two_servers_on_one_database_send_each_message_once(
    make_alerting: Callable[..., Alerting], slack: SlackServer, engine: Engine, run_id: int
) -> None:
    alerting = make_alerting(channels_at(slack, settle=0, burst=100))
    alerting.incidents.update_run(run_id, [make_candidate(start_step=step) for step in range(100, 1300, 100)])
    others = [make_alerting(channels_at(slack, settle=0, burst=100)) for _ in range(3)]
    threads = [threading.Thread(target=one.send_due) for one in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {row.state for row in alerting.rows()} == {"delivered"}
    assert len(headlines(slack)) == len(set(headlines(slack))) == 12


def test_threads_are_kept_by_what_the_first_message_gave(
    make_alerting: Callable[..., Alerting], slack: SlackServer, run_id: int, clock: Clock
) -> None:
    bot = {
        "type": "slack",
        "allow_private": True,
        "token": "t",
        "channel": "C1",
        "api_url": f"{slack.url}/api",
        "settle": 0,
        "calm": 0,
    }
    alerting = make_alerting({"team": bot})
    alerting.incidents.update_run(run_id, [make_candidate(), make_candidate(start_step=9000)])
    assert alerting.send_due() == 2
    clock.now += 1
    alerting.incidents.update_run(
        run_id, [make_candidate(end_step=1890), make_candidate(start_step=9000, end_step=9100)]
    )
    assert alerting.send_due() == 2
    posts = [request for method, request in slack.calls if method == "chat.postMessage"]
    assert [post.get("thread_ts") for post in posts] == [None, None, "17.1", "17.2"]


class Running:
    """A sender with its threads, in real time."""

    def __init__(self, engine: Engine, settings: dict[str, dict[str, Any]]) -> None:
        channels = open_channels(settings)
        self.incidents = IncidentStore(engine, policy=build_policy(channels))
        self.sender = NotificationSender(engine, NoCharts(), channels, public_url="http://h")
        self.incidents.on_change(self.sender.wake)
        self.sender.start()


@pytest.fixture
def run_sender(engine: Engine) -> Iterator[Callable[[dict[str, dict[str, Any]]], Running]]:
    running: list[Running] = []

    def start(settings: dict[str, dict[str, Any]]) -> Running:
        running.append(Running(engine, settings))
        return running[-1]

    yield start
    for one in running:
        one.sender.close()


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_a_dead_channel_delays_no_other(
    # servers first: they end once nobody sends any more
    slack: SlackServer,
    mail_server: Callable[..., Any],
    run_id: int,
    run_sender: Callable[..., Running],
) -> None:
    mail = mail_server("none", login=False)
    mail.delay = 60.0
    url = f"smtp://127.0.0.1:{mail.port}?security=none"
    settings = {
        "mail": {
            "type": "email",
            "url": url,
            "to": "a@example.com",
            "settle": 0,
            "timeout": 60,
            "deadline": 90,
        }
    }
    alerting = run_sender({**channels_at(slack, settle=0), **settings})
    alerting.incidents.update_run(run_id, [make_candidate()])
    wait_for(lambda: len(slack.payloads) == 1, 50)  # less than the mail takes
    assert mail.mails == []


def test_a_message_leaves_soon_after_its_incident(
    run_sender: Callable[..., Running],
    slack: SlackServer,
    run_id: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sender_module, "_POLL_SECONDS", 600.0)
    alerting = run_sender(channels_at(slack, settle=0))
    time.sleep(0.2)  # its first look is over
    alerting.incidents.update_run(run_id, [make_candidate()])
    wait_for(lambda: len(slack.payloads) == 1)  # without the next poll


def test_a_channel_goes_on_after_its_database_failed(
    run_sender: Callable[..., Running],
    slack: SlackServer,
    run_id: int,
    engine: Engine,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def rename(before: str, after: str) -> None:
        with engine.begin() as connection:
            connection.execute(text(f"ALTER TABLE {before} RENAME TO {after}"))

    alerting = run_sender(channels_at(slack, settle=0))
    rename("notification", "missing")
    alerting.sender.wake()
    wait_for(lambda: "will be tried again" in caplog.text)
    rename("missing", "notification")
    alerting.incidents.update_run(run_id, [make_candidate()])
    wait_for(lambda: len(slack.payloads) == 1)


@pytest.mark.slow
def test_a_killed_server_delivers_after_its_next_start(slack: SlackServer, sqlite_engine: Engine) -> None:
    run = add_run(sqlite_engine, "killed")
    slack.answer(200, "ok", delay=120)  # hangs while it is delivered to
    program = """
        import sys, time
        from holter.server.channels import open_channels
        from holter.server.database import connect
        from holter.server.alerting import IncidentStore, NotificationSender, build_policy
        from tests.support.alerting import make_candidate
        from tests.support.alerting import NoCharts
        engine = connect(sys.argv[1])
        common = {"type": "slack", "allow_private": True, "settle": 0, "timeout": 60}
        channels = open_channels({"team": {**common, "url": sys.argv[2]}})
        sender = NotificationSender(engine, NoCharts(), channels, public_url="http://h")
        sender.start()
        incidents = IncidentStore(engine, policy=build_policy(channels))
        incidents.on_change(sender.wake)
        incidents.update_run(int(sys.argv[3]), [make_candidate()])
        print("enqueued", flush=True)
        time.sleep(600)
    """
    url = str(sqlite_engine.url)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), url, f"{slack.url}/services/x", str(run)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"enqueued\n"
        wait_for(lambda: not slack.answers)  # it is in the middle of delivering
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert slack.payloads == []
    running = Running(sqlite_engine, channels_at(slack, settle=0))
    try:
        wait_for(lambda: len(slack.payloads) == 1)
    finally:
        running.sender.close()
    with Session(sqlite_engine) as session:
        [row] = session.scalars(select(NotificationRow)).all()
    assert (row.state, row.attempts) == ("delivered", 2)
    assert "killed" in json.dumps(slack.payloads)

"""The outbox in both databases: through failures, restarts and kills, to a server that stands for Slack."""

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
from sqlalchemy import Engine, select, update
from sqlalchemy.orm import Session

from holter.server.alerting import IncidentStore, NotificationSender, routes
from holter.server.channels import open_channels
from holter.server.models.alerting import NotificationRow
from holter.types import Kind, Severity
from tests.channels.receivers import SlackServer
from tests.incidents.conftest import SPIKE, Clock, add_run, found


class NoCharts:
    """A store whose points are elsewhere: messages go out without a curve."""

    def chart(self, run_id: int, keys: object, **_: object) -> list[Any]:
        return []


def channels_at(slack: SlackServer, **options: Any) -> dict[str, dict[str, Any]]:
    url = f"{slack.url}/services/T0/B0/secret"
    return {"team": {"type": "slack", "url": url, "timeout": 5, "calm": 0, **options}}


class House:
    """Incidents and an outbox over one database, with clock and chance in hand."""

    def __init__(self, engine: Engine, clock: Clock, settings: dict[str, dict[str, Any]]) -> None:
        self.engine = engine
        self.clock = clock
        self.channels = open_channels(settings)
        self.incidents = IncidentStore(engine, routes=routes(self.channels), clock=clock)
        self.outbox = self.new_outbox()

    def new_outbox(self, **options: Any) -> NotificationSender:
        return NotificationSender(
            self.engine,
            NoCharts(),
            self.channels,
            public_url="http://127.0.0.1:8765/",
            clock=self.clock,
            chance=lambda: 0.0,
            **options,
        )

    def turns(self, name: str = "team") -> int:
        """Let the channel send all that is due; how many turns that took."""
        count = 0
        while self.outbox.turn(name) == 0:
            count += 1
        return count

    def rows(self) -> list[NotificationRow]:
        with Session(self.engine) as session:
            return list(session.scalars(select(NotificationRow).order_by(NotificationRow.id)))


@pytest.fixture
def make_house(engine: Engine, clock: Clock) -> Callable[..., House]:
    return lambda settings: House(engine, clock, settings)


def headlines(slack: SlackServer) -> list[str]:
    return [one["blocks"][0]["text"]["text"].partition(" ")[2] for one in slack.payloads]


def test_an_incident_is_told_as_it_goes(
    make_house: Callable[..., House], slack: SlackServer, run_id: int, clock: Clock
) -> None:
    house = make_house(channels_at(slack))
    house.incidents.fold(run_id, [found()])
    assert house.turns() == 0
    clock.now += 6
    assert house.turns() == 1
    house.incidents.fold(run_id, [found(kind=Kind.DIVERGENCE, severity=Severity.CRITICAL)])
    clock.now += 6
    house.incidents.fold(run_id, [found(kind=Kind.SPIKE_SLOW, severity=Severity.CRITICAL, end_step=1890)])
    clock.now += 6
    assert house.turns() == 1
    assert headlines(slack) == [
        "Loss spike in 104b at step 1,514",
        "Worse: slow loss spike in 104b at step 1,514",
    ]
    assert [(row.reason, row.state) for row in house.rows()] == [
        ("opened", "delivered"),
        ("escalated", "folded"),
        ("escalated", "delivered"),
    ]
    assert house.rows()[1].detail == {"within": house.rows()[2].id}


def test_the_history_says_who_was_told_and_why(
    make_house: Callable[..., House], slack: SlackServer, run_id: int
) -> None:
    house = make_house(channels_at(slack, settle=0))
    house.incidents.fold(run_id, [found()])
    house.turns()
    slack.answer(400, "invalid_blocks")
    [ended] = house.incidents.fold(run_id, [found(end_step=1600)])
    house.turns()
    told = house.incidents.comment(ended["id"], "seen")["events"]
    assert [(event["type"], event["text"]) for event in told] == [
        ("opened", SPIKE.summary),
        ("notified", "team (opened)"),
        ("recovered", SPIKE.summary),
        ("undelivered", "team (recovered): Slack answered 400 invalid_blocks"),
        ("comment", "seen"),
    ]


def test_a_failure_is_tried_again_ever_later_with_its_reason(
    make_house: Callable[..., House], slack: SlackServer, run_id: int, clock: Clock
) -> None:
    house = make_house(channels_at(slack, settle=0))
    house.incidents.fold(run_id, [found()])
    waits = []
    for _ in range(4):
        slack.answer(503)
        assert house.outbox.turn("team") == 0
        [row] = house.rows()
        assert (row.state, row.error) == ("waiting", "Slack answered 503")
        waits.append(row.next_try_at - clock.now)
        assert house.outbox.turn("team") == pytest.approx(waits[-1])
        clock.now = row.next_try_at
    assert waits == [2, 4, 8, 16]
    assert house.turns() == 1
    [row] = house.rows()
    assert (row.state, row.attempts, row.error) == ("delivered", 5, None)
    assert len(slack.payloads) == 1


def test_it_waits_as_long_as_the_other_side_asks(
    make_house: Callable[..., House], slack: SlackServer, run_id: int, clock: Clock
) -> None:
    house = make_house(channels_at(slack, settle=0))
    house.incidents.fold(run_id, [found()])
    slack.answer(429, headers={"Retry-After": "120"})
    house.turns()
    assert house.rows()[0].next_try_at == clock.now + 120


def test_what_can_never_arrive_is_given_up_at_once(
    make_house: Callable[..., House], slack: SlackServer, run_id: int
) -> None:
    house = make_house(channels_at(slack, settle=0))
    house.incidents.fold(run_id, [found()])
    slack.answer(400, "invalid_blocks")
    house.turns()
    [row] = house.rows()
    assert (row.state, row.error) == ("given_up", "Slack answered 400 invalid_blocks")


def test_what_did_not_arrive_for_a_day_is_given_up_with_the_reason(
    make_house: Callable[..., House], slack: SlackServer, run_id: int, clock: Clock
) -> None:
    house = make_house(channels_at(slack, settle=0))
    house.incidents.fold(run_id, [found()])
    slack.answer(503)
    house.turns()
    clock.now += 86_401
    assert house.turns() == 0
    [row] = house.rows()
    assert row.state == "given_up"
    assert row.error == "not delivered within 24 hours: Slack answered 503"
    assert slack.payloads == []


def test_what_waits_for_a_channel_that_is_gone_is_given_up_in_time(
    make_house: Callable[..., House], slack: SlackServer, run_id: int, clock: Clock
) -> None:
    make_house(channels_at(slack)).incidents.fold(run_id, [found()])
    without = make_house({})
    for age, state in ((3600, "waiting"), (90_000, "given_up")):
        clock.now += age
        outbox = without.new_outbox()
        outbox.start()
        outbox.close()
        assert without.rows()[0].state == state
    assert without.rows()[0].error == "not delivered within 24 hours: there is no channel team any more"


def test_a_burst_is_one_message_that_names_all(
    make_house: Callable[..., House], slack: SlackServer, engine: Engine, clock: Clock
) -> None:
    house = make_house(channels_at(slack))
    for number in range(30):
        run = add_run(engine, f"run-{number}")
        house.incidents.fold(run, [found(start_step=step) for step in range(100, 1100, 100)])
    clock.now += 6
    assert house.turns() == 1
    assert headlines(slack) == ["300 incidents in 30 runs"]
    states = [row.state for row in house.rows()]
    assert (states.count("delivered"), states.count("folded")) == (1, 299)
    clock.now += 1000
    house.incidents.fold(add_run(engine, "later"), [found()])
    clock.now += 6
    assert house.turns() == 1
    assert headlines(slack)[1] == "Loss spike in later at step 1,514"


def test_a_server_killed_between_sending_and_writing_sends_the_same_again(
    make_house: Callable[..., House], slack: SlackServer, run_id: int, clock: Clock, engine: Engine
) -> None:
    house = make_house(channels_at(slack, settle=0))
    house.incidents.fold(run_id, [found()])
    house.turns()
    claimed = {"state": "waiting", "thread": None, "delivered_at": None, "next_try_at": clock.now + 120}
    with Session(engine) as session, session.begin():
        session.execute(update(NotificationRow).values(**claimed))  # as the kill left it
    after = make_house(channels_at(slack, settle=0))
    assert after.turns() == 0
    clock.now += 121
    assert after.turns() == 1
    assert slack.payloads[0] == slack.payloads[1]


def test_two_servers_on_one_database_send_each_message_once(
    make_house: Callable[..., House], slack: SlackServer, engine: Engine, run_id: int
) -> None:
    house = make_house(channels_at(slack, settle=0, burst=100))
    house.incidents.fold(run_id, [found(start_step=step) for step in range(100, 1300, 100)])
    houses = [make_house(channels_at(slack, settle=0, burst=100)) for _ in range(3)]
    threads = [threading.Thread(target=one.turns) for one in houses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {row.state for row in house.rows()} == {"delivered"}
    assert len(headlines(slack)) == len(set(headlines(slack))) == 12


def test_threads_are_kept_by_what_the_first_message_gave(
    make_house: Callable[..., House], slack: SlackServer, run_id: int, clock: Clock
) -> None:
    bot = {
        "type": "slack",
        "token": "t",
        "channel": "C1",
        "api_url": f"{slack.url}/api",
        "settle": 0,
        "calm": 0,
    }
    house = make_house({"team": bot})
    house.incidents.fold(run_id, [found(), found(start_step=9000)])
    assert house.turns() == 2
    clock.now += 1
    house.incidents.fold(run_id, [found(end_step=1890), found(start_step=9000, end_step=9100)])
    assert house.turns() == 2
    assert [call[1].get("thread_ts") for call in slack.calls] == [None, None, "17.1", "17.2"]


class Running:
    """An outbox with its threads, in real time."""

    def __init__(self, engine: Engine, settings: dict[str, dict[str, Any]]) -> None:
        channels = open_channels(settings)
        self.incidents = IncidentStore(engine, routes=routes(channels))
        self.outbox = NotificationSender(engine, NoCharts(), channels, public_url="http://h")
        self.incidents.on_change(self.outbox.wake)
        self.outbox.start()


@pytest.fixture
def run_outbox(engine: Engine) -> Iterator[Callable[[dict[str, dict[str, Any]]], Running]]:
    running: list[Running] = []

    def start(settings: dict[str, dict[str, Any]]) -> Running:
        running.append(Running(engine, settings))
        return running[-1]

    yield start
    for one in running:
        one.outbox.close()


def wait_for(condition: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_a_dead_channel_delays_no_other(
    run_outbox: Callable[..., Running], slack: SlackServer, run_id: int, mail_server: Callable[..., Any]
) -> None:
    mail = mail_server("none", login=False)
    mail.delay = 3.0
    url = f"smtp://127.0.0.1:{mail.port}?security=none"
    settings = {"mail": {"type": "email", "url": url, "to": "a@example.com", "settle": 0, "timeout": 1}}
    house = run_outbox({**channels_at(slack, settle=0), **settings})
    began = time.monotonic()
    house.incidents.fold(run_id, [found()])
    wait_for(lambda: len(slack.payloads) == 1)
    assert time.monotonic() - began < 1


def test_a_message_leaves_soon_after_its_incident(
    run_outbox: Callable[..., Running], slack: SlackServer, run_id: int
) -> None:
    house = run_outbox(channels_at(slack, settle=0))
    time.sleep(0.2)
    began = time.monotonic()
    house.incidents.fold(run_id, [found()])
    wait_for(lambda: len(slack.payloads) == 1)
    assert time.monotonic() - began < 0.5


def test_a_killed_server_delivers_after_its_next_start(slack: SlackServer, sqlite_engine: Engine) -> None:
    run = add_run(sqlite_engine, "killed")
    slack.answer(200, "ok", delay=30)  # hangs while it is delivered to
    program = """
        import sys, time
        from holter.server.channels import open_channels
        from holter.server.database import connect
        from holter.server.alerting import Incidents
        from holter.server.alerting import Outbox, routes
        from tests.incidents.conftest import found
        from tests.incidents.test_outbox import NoCharts
        engine = connect(sys.argv[1])
        channels = open_channels({"team": {"type": "slack", "url": sys.argv[2], "settle": 0, "timeout": 60}})
        outbox = Outbox(engine, NoCharts(), channels, public_url="http://h", lease=1.0)
        outbox.start()
        incidents = Incidents(engine, routes=routes(channels))
        incidents.on_change(outbox.wake)
        incidents.fold(int(sys.argv[3]), [found()])
        print("told", flush=True)
        time.sleep(60)
    """
    url = str(sqlite_engine.url)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), url, f"{slack.url}/services/x", str(run)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"told\n"
        wait_for(lambda: not slack.answers)  # it is in the middle of delivering
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert slack.payloads == []
    running = Running(sqlite_engine, channels_at(slack, settle=0))
    try:
        wait_for(lambda: len(slack.payloads) == 1)
    finally:
        running.outbox.close()
    with Session(sqlite_engine) as session:
        [row] = session.scalars(select(NotificationRow)).all()
    assert (row.state, row.attempts) == ("delivered", 2)
    assert "killed" in json.dumps(slack.payloads)

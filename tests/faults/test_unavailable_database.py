"""The database is away for a while: everybody is told in time, and all goes on by itself afterwards.

`HOLTER_TEST_AWAY=60 pytest tests/faults/test_unavailable_database.py` keeps it away for so many seconds.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from sqlalchemy import event

from holter.server.database import connect, writing
from holter.server.store import Store
from holter.settings import Settings
from tests.support.batch_senders import BatchSender, assert_all_is_there, sending
from tests.support.command_runner import CommandRunner
from tests.support.forked_commands import ForkedCommand
from tests.support.postgresql import Postgres
from tests.support.receivers import SlackServer, slack
from tests.support.servers import served
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

__all__ = ["slack"]
AWAY = float(os.environ.get("HOLTER_TEST_AWAY", "3"))
MEMORY = 64 * 2**20
"""Bytes by which a server may grow meanwhile."""


class Log:
    """A log that somebody follows: 300 good steps, then as many as are asked for."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(exist_ok=True)
        self.path = folder / f"{name}.jsonl"
        self.steps = 0
        self.write(300)

    def write(self, count: int, loss: float | None = None) -> None:
        with self.path.open("a") as file:
            for step in range(self.steps, self.steps + count):
                now = time.time() - 300 + step / 10
                value = 2.0 + 0.01 * (step % 7) if loss is None else loss
                file.write(json.dumps({"step": step, "_timestamp": now, "loss": value}) + "\n")
        self.steps += count


def points_of(client: httpx.Client) -> dict[str, int]:
    """The points of each run; of none where the list is not to be had."""
    answer = client.get("/api/v1/runs")
    return {run["name"]: run["points"] for run in answer.json()["runs"]} if answer.status_code == 200 else {}


@pytest.mark.timeout(120 + 4 * AWAY)
def test_server_recovers_from_a_stopped_postgresql(
    postgres_cluster: Postgres,
    postgres_url: str,
    slack: SlackServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    watched, sent = Log(tmp_path / "watched", "watched"), Log(tmp_path / "sent", "sent")
    channels = {
        "team": {"type": "slack", "allow_private": True, "url": f"{slack.url}/services/T0/B0/x", "settle": 0}
    }
    monkeypatch.setenv("HOLTER_CHANNELS", json.dumps(channels))
    command_runner: CommandRunner = request.getfixturevalue("command_runner")  # which has this environment
    server = command_runner.begin(
        "watch", watched.path.parent, "--database-url", postgres_url, "--poll", "0.2"
    )
    wait_for(lambda: command_runner.answers("/readyz") == 200, 60)
    url = f"http://127.0.0.1:{command_runner.port}"
    with agent(sent.path.parent, url, tmp_path / "state"), httpx.Client(base_url=url, timeout=40) as client:
        port = command_runner.port
        senders = [
            BatchSender(port, "one", pause=0.1),
            BatchSender(port, "wide", metrics=30, rows=500, pause=0.1),
        ]
        wait_for(lambda: points_of(client).get("watched") == points_of(client).get("sent") == 300, 60)
        with sending(senders):
            wait_for(lambda: senders[1].acknowledged > 5)
            before = psutil.Process(server).memory_info().rss
            postgres_cluster.stop(signal.SIGQUIT)
            try:
                watched.write(5, loss=float("nan"))
                sent.write(100)
                look_while_away(client, senders)
            finally:
                postgres_cluster.start()
            wait_for(lambda: client.get("/readyz").status_code == 200, 60)
            assert psutil.Process(server).memory_info().rss < before + MEMORY
            acknowledged = [sender.acknowledged for sender in senders]
            wait_for(lambda: all(f.acknowledged > n for f, n in zip(senders, acknowledged, strict=True)))
        wait_for(lambda: points_of(client).get("watched") == 305, 90)
        wait_for(lambda: points_of(client).get("sent") == 400, 90)
        assert set(senders[0].answers) == {200, 503}
        wait_for(lambda: any("watched" in json.dumps(body) for body in slack.payloads), 60)
    check(postgres_url, senders)


def look_while_away(client: httpx.Client, senders: list[BatchSender]) -> None:
    """What a server says for as long as its database is away."""
    end = time.monotonic() + AWAY
    while time.monotonic() < end:
        began = time.monotonic()
        assert client.get("/healthz").status_code == 200
        for path in ("/readyz", "/api/v1/runs", "/api/v1/incidents"):
            answer = client.get(path)
            assert answer.status_code == 503, path
            assert answer.json()["detail"]
            assert path == "/readyz" or answer.headers["Retry-After"] == "5"
        assert time.monotonic() - began < 30
        time.sleep(0.3)
    assert all(sender.answers[503] for sender in senders)
    assert all(sender.slowest < 60 for sender in senders)


@contextmanager
def agent(folder: Path, url: str, state: Path) -> Iterator[None]:
    """`holter agent` on a folder, for as long as it is wanted."""
    command = ["agent", folder, "--server", url, "--state", state, "--poll", "0.2"]
    process = ForkedCommand(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def check(url: str, senders: list[BatchSender]) -> None:
    engine = connect(url)
    store = Store(engine)
    store.start()
    assert_all_is_there(store, senders)
    store.close()
    engine.dispose()


@pytest.mark.timeout(120 + 4 * AWAY)
def test_server_recovers_from_a_long_sqlite_lock(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    with served(Settings(database_url=sqlite_url)) as (context, url):
        patience(context.engine, AWAY / 3)
        senders = [BatchSender(int(url.rpartition(":")[2]), f"r{n}", pause=0.05) for n in range(8)]
        with sending(senders), httpx.Client(base_url=url, timeout=40) as client:
            wait_for(lambda: senders[0].acknowledged > 3)
            thief = connect(sqlite_url)
            with writing(thief):  # as a backup tool or a shell would that forgot its transaction
                time.sleep(AWAY)
                assert client.get("/api/v1/runs").status_code == 200
                assert client.get("/readyz").status_code == 503
            thief.dispose()
            wait_for(lambda: client.get("/readyz").status_code == 200)
            acknowledged = [sender.acknowledged for sender in senders]
            wait_for(lambda: all(f.acknowledged > n for f, n in zip(senders, acknowledged, strict=True)))
        for sender in senders:
            assert set(sender.answers) == {200, 503}
            assert sender.slowest < 60
            assert any("another process has locked the database" in said for said in sender.reasons)
    check(sqlite_url, senders)


def patience(engine: Any, seconds: float) -> None:
    """Connections wait for the lock no longer than this."""
    engine.dispose()

    @event.listens_for(engine, "connect")
    def shorten(connection: Any, _record: object) -> None:
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * min(seconds, 10))}")


def test_a_store_closes_in_time_while_the_database_is_locked(sqlite_url: str) -> None:
    engine = connect(sqlite_url)
    patience(engine, 0.5)
    store = Store(engine)
    store.start()
    sender = BatchSender(0, "r")
    store.accept(sender.delivery(0))
    thief = connect(sqlite_url)
    with writing(thief):
        replies = [store.submit(sender.delivery(number)) for number in range(1, 1500)]
        began = time.monotonic()
        store.close()
        assert time.monotonic() - began < 30
    assert all(reply.exception(0) is not None for reply in replies)
    thief.dispose()
    engine.dispose()


def test_silent_postgresql_times_out(postgres_cluster: Postgres, postgres_url: str) -> None:
    with (
        served(Settings(database_url=postgres_url)) as (_, url),
        httpx.Client(base_url=url, timeout=40) as client,
    ):
        senders = [BatchSender(int(url.rpartition(":")[2]), "r")]
        with sending(senders):
            wait_for(lambda: senders[0].acknowledged > 3)
            with postgres_cluster.frozen():
                began = time.monotonic()
                assert client.get("/readyz").status_code == 503
                assert time.monotonic() - began < 35
                assert client.get("/healthz").status_code == 200
            wait_for(lambda: client.get("/readyz").status_code == 200)
    check(postgres_url, senders)

"""Connections cut in the middle of an answer, and a server that is silent: every point is stored once.

`HOLTER_TEST_AWAY=60 pytest tests/faults/test_bad_connections.py` keeps the server silent for so many seconds.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest

import holter
from holter.server.database import connect
from holter.server.store import Store
from holter.types import SeriesKey
from tests.support.batch_senders import BatchSender, assert_all_is_there, sending
from tests.support.command_runner import CommandRunner
from tests.support.cutting_proxy import cutting_proxy
from tests.support.forked_commands import ForkedCommand
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

AWAY = float(os.environ.get("HOLTER_TEST_AWAY", "1"))
LOSS = SeriesKey("loss")


def check(url: str, senders: list[BatchSender]) -> None:
    engine = connect(url)
    store = Store(engine)
    store.start()
    assert_all_is_there(store, senders)
    store.close()
    engine.dispose()


def test_batch_with_a_cut_acknowledgement_is_stored_once(
    database_url: str, command_runner: CommandRunner
) -> None:
    command_runner.serve(database_url)
    with cutting_proxy(command_runner.port, 0.3) as network:
        senders = [BatchSender(network.port, f"r{n}", rows=200) for n in range(4)]
        with sending(senders):
            wait_for(lambda: sum(sender.arrived_before for sender in senders) > 10 and network.cuts > 20, 60)
            network.heal()
    assert network.cuts > 20
    assert command_runner.end(signal.SIGTERM) == 0
    check(database_url, senders)


def test_client_delivers_once_over_a_cutting_proxy(
    sqlite_url: str, command_runner: CommandRunner, tmp_path: Path
) -> None:
    command_runner.serve(sqlite_url)
    with cutting_proxy(command_runner.port, 0.3) as network:
        url = f"http://127.0.0.1:{network.port}"
        with holter.init("p", "r", server=url, spool=tmp_path / "spool") as run:
            for step in range(400):
                run.log({"loss": step / 7}, step=step)
                time.sleep(0.002 if network.cuts < 5 else 0.0)
            wait_for(lambda: network.cuts >= 2, 60)
            network.heal()
    wait_for(lambda: not list((tmp_path / "spool").glob("*/*.spool")))
    assert command_runner.end(signal.SIGTERM) == 0
    assert_curve(sqlite_url, "r", 400)


def assert_curve(url: str, run: str, steps: int) -> None:
    """A run has every step of its loss, each once, in one attempt."""
    engine = connect(url)
    store = Store(engine)
    assert store.check() == []
    found = store.read(1)[LOSS]
    assert found.step.tolist() == list(range(steps)), run
    assert found.value.tolist() == [step / 7 for step in range(steps)]
    (attempt,) = store.attempts(1)
    assert attempt.points == steps
    engine.dispose()


@pytest.mark.timeout(120 + 2 * AWAY)
def test_suspended_server_resumes(database_url: str, command_runner: CommandRunner) -> None:
    command_runner.serve(database_url)
    senders = [
        BatchSender(command_runner.port, "small"),
        BatchSender(command_runner.port, "wide", metrics=30, rows=500),
    ]
    with sending(senders):
        wait_for(lambda: all(sender.acknowledged > 3 for sender in senders))
        os.kill(command_runner.child, signal.SIGSTOP)
        before = [sender.acknowledged for sender in senders]
        time.sleep(AWAY)
        assert sum(f.acknowledged - n for f, n in zip(senders, before, strict=True)) <= len(senders)
        os.kill(command_runner.child, signal.SIGCONT)
        wait_for(lambda: all(f.acknowledged > n + 1 for f, n in zip(senders, before, strict=True)))
        answer = httpx.get(f"http://127.0.0.1:{command_runner.port}/api/v1/incidents", timeout=60)
        assert answer.json()["incidents"] == []
    assert command_runner.end(signal.SIGTERM) == 0
    check(database_url, senders)


def test_two_agents_on_one_log_with_a_clock_store_it_once(
    sqlite_url: str, command_runner: CommandRunner, tmp_path: Path
) -> None:
    command_runner.serve(sqlite_url)
    logs = tmp_path / "logs"
    logs.mkdir()
    log = logs / "log.csv"
    log.write_text("step,time,loss\n")
    url = f"http://127.0.0.1:{command_runner.port}"
    command = ["agent", logs, "--server", url]
    agents = [
        ForkedCommand([*command, "--state", tmp_path / name, "--poll", poll], stdout=subprocess.DEVNULL)
        for name, poll in (("one", "0.1"), ("other", "0.13"))
    ]
    try:
        with log.open("a") as file:
            for step in range(300):
                file.write(f"{step},{1.7e9 + step},{step / 7!r}\n")
                file.flush()
                time.sleep(0.02 if step < 150 else 0.0)
        wait_for(lambda: [ends(tmp_path / name) for name in ("one", "other")] == [log.stat().st_size] * 2)
    finally:
        for agent in agents:
            agent.terminate()
            agent.wait(60)
    assert command_runner.end(signal.SIGTERM) == 0
    engine = connect(sqlite_url)
    found = Store(engine).read(1)[LOSS]
    assert found.step.tolist() == list(range(300))
    assert found.value.tolist() == [step / 7 for step in range(300)]
    assert not found.attempt.any()
    assert Store(engine).check() == []
    engine.dispose()


def ends(state: Path) -> int:
    """How far an agent has come with its one log."""
    return max((json.loads(path.read_text())["offset"] for path in state.glob("*/*.cursor.json")), default=0)

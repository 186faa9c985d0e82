"""The file of the database, or its write-ahead log, is taken away under a server that has it open."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import httpx
import pytest
from sqlalchemy.exc import OperationalError

from holter.server.database import connect, writing
from holter.server.store import Store
from holter.settings import Settings
from tests.support.batch_senders import BatchSender, assert_all_is_there, sending
from tests.support.command_runner import CommandRunner
from tests.support.servers import served
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

SAID = "was removed or renamed"


def wait_until_refused(sender: BatchSender) -> None:
    wait_for(lambda: any(SAID in reason for reason in sender.reasons), 60)


def assert_kept(url: str, senders: list[BatchSender]) -> None:
    engine = connect(url)
    store = Store(engine)
    store.start()
    assert_all_is_there(store, senders)
    store.close()
    engine.dispose()


def test_without_write_ahead_log_nothing_is_acknowledged(
    sqlite_url: str, command_runner: CommandRunner
) -> None:
    log = Path(f"{sqlite_url.removeprefix('sqlite:///')}-wal")
    command_runner.serve(sqlite_url)
    senders = [
        BatchSender(command_runner.port, "r"),
        BatchSender(command_runner.port, "wide", metrics=30, rows=500),
    ]
    with sending(senders):
        wait_for(lambda: all(sender.acknowledged > 5 for sender in senders))
        log.unlink()
        wait_until_refused(senders[0])
        acknowledged = [sender.acknowledged for sender in senders]
        assert command_runner.answers("/readyz") == 503
        # what the log held is moved into the file within a second; until then reads say what they can
        wait_for(lambda: is_whole(sqlite_url, senders[0].acknowledged), 60)
        assert [sender.acknowledged for sender in senders] == acknowledged
        command_runner.end()
        command_runner.serve(sqlite_url)
        wait_for(lambda: all(sender.acknowledged > 20 for sender in senders), 60)
    command_runner.end()
    assert_kept(sqlite_url, senders)


def is_whole(url: str, batches: int) -> bool:
    """Whether the file alone, without any log, has all of the run "r"."""
    file = Path(url.removeprefix("sqlite:///"))
    copy = file.with_name("copy.db")
    for beside in file.parent.glob("copy.db*"):
        beside.unlink()
    copy.write_bytes(file.read_bytes())
    engine = connect(f"sqlite:///{copy}")
    try:
        found = [attempt.points for run in (1, 2) for attempt in Store(engine).attempts(run)]
        return batches * 150 in found
    except OperationalError:
        return False
    finally:
        engine.dispose()


@pytest.mark.parametrize("how", ["renamed", "replaced", "deleted"])
def test_removed_database_file_accepts_no_points(
    sqlite_url: str, sqlite_template: Path, tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    file, other = Path(sqlite_url.removeprefix("sqlite:///")), tmp_path / "other.db"
    with (
        served(Settings(database_url=sqlite_url)) as (_, url),
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        sender = BatchSender(int(url.rpartition(":")[2]), "r")
        sender.start()
        wait_for(lambda: sender.acknowledged > 5)
        if how == "renamed":
            file.rename(other)
        elif how == "replaced":
            other.write_bytes(sqlite_template.read_bytes())
            other.rename(file)
        else:
            file.unlink()
        wait_until_refused(sender)
        acknowledged = sender.acknowledged
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        assert sender.acknowledged == acknowledged
        sender.patience = 0
        sender.end()
        sender.join(60)
    if how == "renamed":  # put back, everything is there
        other.rename(file)
        assert_kept(sqlite_url, [sender])


def test_closed_connections_release_file_descriptors(sqlite_url: str) -> None:
    file = sqlite_url.removeprefix("sqlite:///")
    engine = connect(sqlite_url)
    with writing(engine), engine.connect():
        assert len(held(file)) >= 4
    engine.dispose()
    assert held(file) == []


def held(file: str) -> list[str]:
    """What this process has open of a database."""
    links = [os.path.realpath(entry) for entry in Path("/proc/self/fd").iterdir()]
    return [link for link in links if link.startswith(os.path.realpath(file))]

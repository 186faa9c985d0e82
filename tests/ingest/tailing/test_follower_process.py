"""Files are followed in a process of their own: one that hangs or kills it costs only itself."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from holter.server.database import connect
from holter.server.store import Store
from holter.types import SeriesKey
from tests.support.hostile_formats import install
from tests.support.servers import forked, stop
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow


@contextmanager
def watched(tmp_path: Path, **settings: str) -> Iterator[tuple[subprocess.Popen[str], str, Path]]:
    """`holter watch` on `logs`, with the harmful format: the process, its address, the database."""
    environment = install(tmp_path / "packages") | settings
    data = tmp_path / "data"
    with forked("watch", tmp_path / "logs", "--data-dir", data, **environment) as (process, address):
        yield process, address, data / "holter.db"


def rows(database: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as db:
        return db.execute(query).fetchall()


def has_read_all(database: Path, log: Path) -> bool:
    offsets = dict(rows(database, 'SELECT source, "offset" FROM source_cursor'))
    return offsets.get(str(log)) == log.stat().st_size


def problems(database: Path) -> list[tuple[object, ...]]:
    return rows(database, "SELECT source, reason FROM unreadable ORDER BY id")


def worker_of(process: subprocess.Popen[str]) -> psutil.Process | None:
    """The process that reads the files."""
    children = psutil.Process(process.pid).children()
    return next((child for child in children if "worker_process" in " ".join(child.cmdline())), None)


HARM = {
    "read loop": "processor time",
    "detect loop": "processor time",
    "read crash": "SIGABRT",
    "detect crash": "SIGABRT",
    "read memory": "MemoryError",
}


def test_harmful_files_are_told_once_each_and_the_others_are_followed(tmp_path: Path) -> None:
    good = tmp_path / "logs" / "good" / "metrics.csv"
    good.parent.mkdir(parents=True)
    good.write_text("step,loss\n1,2.5\n")
    bad = {harm: tmp_path / "logs" / harm / "file.harm" for harm in HARM}
    with watched(tmp_path, HOLTER_PARSE_SECONDS="1") as (process, address, database):
        wait_for(lambda: has_read_all(database, good))
        for harm, path in bad.items():
            path.parent.mkdir()
            path.write_text(f"{harm}\n")

        def all_are_told() -> bool:
            step = len(good.read_text().splitlines())
            with good.open("a") as file:
                file.write(f"{step},2.5\n")
            assert httpx.get(f"{address}/healthz", timeout=30).status_code == 200
            return len(problems(database)) >= len(HARM)

        wait_for(all_are_told, 300)  # several processes begin and end one after the other
        wait_for(lambda: has_read_all(database, good))
        reasons = dict(problems(database))
        for harm, path in bad.items():
            assert HARM[harm] in str(reasons[str(path)])
        stop(process, signal.SIGTERM)
    with watched(tmp_path, HOLTER_PARSE_SECONDS="1") as (process, address, database):
        bad["read loop"].write_text("nothing\n")  # it is read again, since it has changed
        with good.open("a") as file:
            file.write("1001,2.5\n")
        wait_for(lambda: has_read_all(database, good))
        wait_for(lambda: has_read_all(database, bad["read loop"]))
        stop(process, signal.SIGTERM)
    assert len(problems(database)) == len(HARM)  # also after a restart


def test_sigterm_ends_a_server_whose_worker_is_stuck(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with watched(tmp_path, HOLTER_PARSE_SECONDS="10000") as (process, address, _):
        worker = wait_for(lambda: worker_of(process))
        (tmp_path / "logs" / "file.harm").write_text("read loop\n")
        wait_for((tmp_path / "packages" / "looping").exists)
        assert httpx.get(f"{address}/healthz", timeout=30).status_code == 200
        stop(process, signal.SIGTERM)
        assert not worker.is_running()


def test_the_worker_ends_with_a_killed_server(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "file.harm").write_text("read loop\n")
    with watched(tmp_path, HOLTER_PARSE_SECONDS="10000") as (process, _, _):
        worker = wait_for(lambda: worker_of(process))
        wait_for((tmp_path / "packages" / "looping").exists)
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_for(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)


def test_a_worker_killed_at_random_moments_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    logs = [tmp_path / "logs" / name / "metrics.csv" for name in ("a", "b", "c")]
    for log in logs:
        log.parent.mkdir(parents=True)
        log.write_text("step,loss\n")
    chance, steps, killed = random.Random(7), 0, 0
    with watched(tmp_path) as (process, _, database):
        while killed < 8:
            worker = wait_for(lambda: worker_of(process))
            end = time.monotonic() + chance.uniform(0, 3)
            while time.monotonic() < end:
                for log in logs:
                    with log.open("a") as file:
                        file.write(f"{steps},{steps / 2}\n")
                steps += 1
                time.sleep(0.005)
            os.kill(worker.pid, signal.SIGKILL)
            wait_for(lambda pid=worker.pid: not psutil.pid_exists(pid))
            killed += 1
        for log in logs:
            wait_for(lambda log=log: has_read_all(database, log))
        assert problems(database) == []  # no file is the reason
        stop(process, signal.SIGTERM)
    engine = connect(f"sqlite:///{database}")
    store = Store(engine)
    try:
        for run_id in (1, 2, 3):
            loss = store.read(run_id)[SeriesKey("loss")]
            assert loss.step.tolist() == list(range(steps))
            assert set(loss.attempt.tolist()) == {0}
        assert store.check() == []
    finally:
        store.close()
        engine.dispose()

"""A full disk: points are refused with the reason, everything is readable, with room again it goes on."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from holter.server.database import connect
from holter.server.store import Store
from tests.support.batch_senders import BatchSender, assert_all_is_there, sending
from tests.support.command_runner import CommandRunner
from tests.support.mounts import mounted_tmpfs
from tests.support.postgresql import Postgres
from tests.support.servers import forked
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

SMALL, LARGE = 12 * 2**20, 200 * 2**20


@pytest.fixture
def small_disk(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder with little room: 12 MB, or what the test asks for. PostgreSQL can enter it, too."""
    with mounted_tmpfs(getattr(request, "param", SMALL)) as folder:
        yield folder


def enlarge(folder: Path) -> None:
    subprocess.run(["mount", "-o", f"remount,size={LARGE}", str(folder)], check=True)


def fill_and_go_on(url: str, port: int, reason: str, make_room: Callable[[], None]) -> list[BatchSender]:
    """Send until nothing more is taken, look at everything, make room, and see that it goes on by itself."""
    senders = [
        BatchSender(port, "wide", metrics=50, rows=1000, pause=0.1),
        BatchSender(port, "small", pause=0.1),
    ]
    wide = senders[0]
    with sending(senders), httpx.Client(base_url=url, timeout=60) as client:
        wait_for(lambda: any(reason in said for said in wide.reasons), 60)
        assert set(wide.answers) <= {200, 503}
        assert wide.retry_after == {"5"}
        assert client.get("/healthz").status_code == 200
        ready = client.get("/readyz")
        assert ready.status_code in {200, 503}  # a little may fit while much does not
        assert ready.status_code == 200 or reason in ready.json()["detail"]
        runs = {run["name"]: run for run in client.get("/api/v1/runs").json()["runs"]}
        assert runs["wide"]["points"] >= wide.acknowledged * 50_000
        chart = client.get(f"/api/v1/runs/{runs['wide']['id']}/data", params={"metric": "m0", "points": 100})
        assert chart.status_code == 200
        assert chart.json()["series"]
        before = wide.acknowledged
        make_room()
        wait_for(lambda: wide.acknowledged > before + 3, 60)
        assert client.get("/readyz").status_code == 200
    return senders


def check(database: str, senders: list[BatchSender]) -> None:
    engine = connect(database)
    store = Store(engine)
    store.start()
    assert_all_is_there(store, senders)
    store.close()
    engine.dispose()


def test_full_disk_rejects_points_and_serves_reads(small_disk: Path) -> None:
    with forked("serve", "--data-dir", small_disk) as (process, url):
        port = int(url.rpartition(":")[2])
        senders = fill_and_go_on(url, port, "the disk of the database is full", lambda: enlarge(small_disk))
        process.terminate()
        assert process.wait(60) == 0
    check(f"sqlite:///{small_disk / 'holter.db'}", senders)


def test_file_size_limit_is_treated_as_a_full_disk(tmp_path: Path) -> None:
    with forked("serve", "--data-dir", tmp_path) as (process, url):
        port = int(url.rpartition(":")[2])
        limits = psutil.Process(process.pid)
        limits.rlimit(resource.RLIMIT_FSIZE, (SMALL // 2, resource.RLIM_INFINITY))
        senders = fill_and_go_on(
            url, port, "the database file cannot be read or written",
            lambda: limits.rlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)),
        )  # fmt: skip
        process.terminate()
        assert process.wait(60) == 0
    check(f"sqlite:///{tmp_path / 'holter.db'}", senders)


def test_server_starts_on_a_full_disk_and_serves_reads(small_disk: Path) -> None:
    with forked("serve", "--data-dir", small_disk) as (process, url):
        senders = [BatchSender(int(url.rpartition(":")[2]), "small")]
        with sending(senders):
            wait_for(lambda: senders[0].acknowledged > 3)
        process.kill()
        process.wait()
    with (small_disk / "ballast").open("wb") as ballast:
        free = os.statvfs(small_disk)
        os.posix_fallocate(ballast.fileno(), 0, free.f_bavail * free.f_frsize)
    with forked("serve", "--data-dir", small_disk) as (_, url):
        (run,) = httpx.get(f"{url}/api/v1/runs", timeout=60).json()["runs"]
        assert run["points"] == senders[0].acknowledged * 150
        body = {"project": "p", "run": "r", "columns": {"step": [1], "a": [1]}}
        refused = httpx.post(f"{url}/api/v1/ingest", json=body, timeout=60)
        assert refused.status_code == 503
        assert "the disk of the database is full" in refused.json()["detail"]
        (small_disk / "ballast").unlink()
        wait_for(lambda: httpx.get(f"{url}/readyz", timeout=60).status_code == 200)
    check(f"sqlite:///{small_disk / 'holter.db'}", senders)


@pytest.fixture
def on_small_disk(
    small_disk: Path, postgres_cluster: Postgres, postgres_template: str
) -> Iterator[tuple[str, Path]]:
    """The address of a PostgreSQL database whose tables lie on the small disk; its log lies elsewhere."""
    with postgres_cluster.connection() as admin:
        shutil.chown(small_disk, postgres_cluster.user)
        admin.execute(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
    try:
        with postgres_cluster.connection() as admin:
            admin.execute(f"CREATE DATABASE on_small TEMPLATE {postgres_template} TABLESPACE small")
        yield postgres_cluster.url("on_small"), small_disk
    finally:
        with postgres_cluster.connection() as admin:
            admin.execute("DROP DATABASE IF EXISTS on_small WITH (FORCE)")
            admin.execute("DROP TABLESPACE small")


@pytest.mark.parametrize("small_disk", [2 * SMALL], indirect=True)
def test_full_disk_of_postgresql_tables_rejects_points(
    on_small_disk: tuple[str, Path], command_runner: CommandRunner
) -> None:
    database, disk = on_small_disk
    command_runner.serve(database)
    url = f"http://127.0.0.1:{command_runner.port}"
    senders = fill_and_go_on(
        url, command_runner.port, "the disk of the database is full", lambda: enlarge(disk)
    )
    assert command_runner.end(signal.SIGTERM) == 0
    check(database, senders)


@pytest.mark.parametrize("small_disk", [LARGE], indirect=True)
def test_full_disk_of_postgresql_log_loses_nothing_acknowledged(
    small_disk: Path, command_runner: CommandRunner
) -> None:
    cluster = Postgres(small_disk)
    try:
        cluster.start()
        database = cluster.url("postgres")
        command_runner.serve(database)
        senders = [
            BatchSender(command_runner.port, "wide", metrics=50, rows=1000, pause=0.1),
            BatchSender(command_runner.port, "r"),
        ]
        with sending(senders):
            wait_for(lambda: all(sender.acknowledged for sender in senders))
            ballast = small_disk / "ballast"
            with ballast.open("wb") as file:
                free = os.statvfs(small_disk)
                os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - SMALL)
            wait_for(lambda: all(sender.answers[503] for sender in senders), 60)
            assert command_runner.answers("/healthz") == 200
            cluster.stop(signal.SIGQUIT)  # it cannot write its log: no orderly end
            ballast.unlink()
            cluster.start()
            before = [sender.acknowledged for sender in senders]
            wait_for(lambda: all(f.acknowledged > n for f, n in zip(senders, before, strict=True)), 60)
        assert set().union(*(sender.answers for sender in senders)) <= {200, 503}
        assert command_runner.end(signal.SIGTERM) == 0
        check(database, senders)
    finally:
        cluster.stop()

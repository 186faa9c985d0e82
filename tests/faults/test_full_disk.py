"""A full disk: points are refused with the reason, everything is readable, with room again it goes on."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from holter.server.database import connect
from holter.server.store import Store
from tests.api.running import started
from tests.faults.conftest import Nursery
from tests.faults.feeding import Feeder, assert_all_is_there, feeding
from tests.postgres import Postgres
from tests.waiting import wait_for

SMALL, LARGE = 12 * 2**20, 200 * 2**20


@pytest.fixture
def small_disk(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder with little room: 12 MB, or what the test asks for. PostgreSQL can enter it, too."""
    folder = Path(tempfile.mkdtemp(prefix="holter-disk-"))
    size = getattr(request, "param", SMALL)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        folder.rmdir()
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
    folder.rmdir()


def enlarge(folder: Path) -> None:
    subprocess.run(["mount", "-o", f"remount,size={LARGE}", str(folder)], check=True)


def fill_and_go_on(url: str, port: int, reason: str, make_room: Callable[[], None]) -> list[Feeder]:
    """Send until nothing more is taken, look at everything, make room, and see that it goes on by itself."""
    feeders = [Feeder(port, "wide", metrics=50, rows=1000, pause=0.1), Feeder(port, "small", pause=0.1)]
    wide = feeders[0]
    with feeding(feeders), httpx.Client(base_url=url, timeout=30) as client:
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
        wait_for(lambda: wide.acknowledged > before + 3, 30)
        assert client.get("/readyz").status_code == 200
    return feeders


def check(database: str, feeders: list[Feeder]) -> None:
    engine = connect(database)
    store = Store(engine)
    store.start()
    assert_all_is_there(store, feeders)
    store.close()
    engine.dispose()


def test_a_full_disk_refuses_points_and_shows_what_is_there_until_there_is_room(small_disk: Path) -> None:
    with started("serve", "--data-dir", small_disk) as (process, url, _):
        port = int(url.rpartition(":")[2])
        feeders = fill_and_go_on(url, port, "the disk of the database is full", lambda: enlarge(small_disk))
        process.terminate()
        assert process.wait(20) == 0
    check(f"sqlite:///{small_disk / 'holter.db'}", feeders)


def test_a_file_that_may_not_grow_is_as_a_full_disk(tmp_path: Path) -> None:
    with started("serve", "--data-dir", tmp_path) as (process, url, _):
        port = int(url.rpartition(":")[2])
        limits = psutil.Process(process.pid)
        limits.rlimit(resource.RLIMIT_FSIZE, (SMALL // 2, resource.RLIM_INFINITY))
        feeders = fill_and_go_on(
            url, port, "the file of the database cannot be read or written",
            lambda: limits.rlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)),
        )  # fmt: skip
        process.terminate()
        assert process.wait(20) == 0
    check(f"sqlite:///{tmp_path / 'holter.db'}", feeders)


def test_a_server_starts_on_a_full_disk_and_shows_what_is_there(small_disk: Path) -> None:
    with started("serve", "--data-dir", small_disk) as (process, url, _):
        feeders = [Feeder(int(url.rpartition(":")[2]), "small")]
        with feeding(feeders):
            wait_for(lambda: feeders[0].acknowledged > 3)
        process.kill()
        process.wait()
    with (small_disk / "ballast").open("wb") as ballast:
        free = os.statvfs(small_disk)
        os.posix_fallocate(ballast.fileno(), 0, free.f_bavail * free.f_frsize)
    with started("serve", "--data-dir", small_disk) as (_, url, _seconds):
        (run,) = httpx.get(f"{url}/api/v1/runs", timeout=30).json()["runs"]
        assert run["points"] == feeders[0].acknowledged * 150
        body = {"project": "p", "run": "r", "columns": {"step": [1], "a": [1]}}
        refused = httpx.post(f"{url}/api/v1/ingest", json=body, timeout=30)
        assert refused.status_code == 503
        assert "the disk of the database is full" in refused.json()["detail"]
        (small_disk / "ballast").unlink()
        wait_for(lambda: httpx.get(f"{url}/readyz", timeout=30).status_code == 200)
    check(f"sqlite:///{small_disk / 'holter.db'}", feeders)


@pytest.fixture
def on_small_disk(
    small_disk: Path, postgres_cluster: Postgres, postgres_template: str
) -> Iterator[tuple[str, Path]]:
    """The address of a PostgreSQL database whose tables lie on the small disk; its log lies elsewhere."""
    with psycopg.connect(postgres_cluster.address, autocommit=True) as admin:
        shutil.chown(small_disk, postgres_cluster.user)
        admin.execute(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
        admin.execute(f"CREATE DATABASE on_small TEMPLATE {postgres_template} TABLESPACE small")
        yield postgres_cluster.url("on_small"), small_disk
        admin.execute("DROP DATABASE on_small WITH (FORCE)")
        admin.execute("DROP TABLESPACE small")


@pytest.mark.parametrize("small_disk", [2 * SMALL], indirect=True)
def test_a_disk_that_is_full_of_postgresqls_tables_is_as_one_of_a_file(
    on_small_disk: tuple[str, Path], nursery: Nursery
) -> None:
    database, disk = on_small_disk
    nursery.serve(database)
    url = f"http://127.0.0.1:{nursery.port}"
    feeders = fill_and_go_on(url, nursery.port, "the disk of the database is full", lambda: enlarge(disk))
    assert nursery.end(signal.SIGTERM) == 0
    check(database, feeders)


@pytest.mark.parametrize("small_disk", [LARGE], indirect=True)
def test_a_disk_that_is_full_of_postgresqls_log_stops_it_and_nothing_acknowledged_is_lost(
    small_disk: Path, nursery: Nursery
) -> None:
    cluster = Postgres(small_disk)
    cluster.start()
    try:
        database = cluster.url("postgres")
        nursery.serve(database)
        feeders = [Feeder(nursery.port, "wide", metrics=50, rows=1000, pause=0.1), Feeder(nursery.port, "r")]
        with feeding(feeders):
            wait_for(lambda: all(feeder.acknowledged for feeder in feeders))
            ballast = small_disk / "ballast"
            with ballast.open("wb") as file:
                free = os.statvfs(small_disk)
                os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - SMALL)
            wait_for(lambda: all(feeder.answers[503] for feeder in feeders), 60)
            assert nursery.answers("/healthz") == 200
            cluster.stop()  # it cannot write its log, and has ended or is about to
            ballast.unlink()
            cluster.start()
            before = [feeder.acknowledged for feeder in feeders]
            wait_for(lambda: all(f.acknowledged > n for f, n in zip(feeders, before, strict=True)), 60)
        assert set().union(*(feeder.answers for feeder in feeders)) <= {200, 503}
        assert nursery.end(signal.SIGTERM) == 0
        check(database, feeders)
    finally:
        cluster.stop()

"""A full disk: points are refused with the reason, everything is readable, with room again it goes on."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from holter.server.database import connect
from holter.server.store import Store
from tests.api.running import started
from tests.faults.feeding import Feeder, assert_all_is_there, feeding
from tests.waiting import wait_for

SMALL, LARGE = 12 * 2**20, 200 * 2**20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder with little room."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


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


def check(database: Path, feeders: list[Feeder]) -> None:
    engine = connect(f"sqlite:///{database}")
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
    check(small_disk / "holter.db", feeders)


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
    check(tmp_path / "holter.db", feeders)


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
    check(small_disk / "holter.db", feeders)

"""SIGTERM ends a server although threads never end; what was acknowledged until then is stored."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from holter.server.context import ServerContext
from holter.server.database import connect
from holter.server.store import Store, StoreLockedError
from holter.server.store.compaction import worker as compaction
from holter.settings import Settings
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support import endless_charts_program
from tests.support.servers import stop
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
WORKER_THREADS = 40
"""Requests that are handled in threads at once."""


@contextmanager
def server(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server whose charts never end: the process and its address."""
    program = [sys.executable, "-m", endless_charts_program.__name__]
    arguments = ["serve", "--port", "0", "--data-dir", str(folder)]
    process = subprocess.Popen(
        [*program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert address is not None
        url = address[0]
        wait_for(lambda: connects(url))
        yield process, url
    finally:
        process.kill()
        process.communicate()


def connects(url: str) -> bool:
    """Whether the server answers."""
    with suppress(httpx.TransportError):
        return httpx.get(f"{url}/readyz", timeout=60).is_success
    return False


class Sender:
    """Sends a point after the other, and counts those that were acknowledged."""

    def __init__(self, url: str, run: str) -> None:
        self.url, self.run, self.acknowledged = f"{url}/api/v1/ingest", run, 0
        self.thread = threading.Thread(target=self._send)
        self.thread.start()

    def _send(self) -> None:
        with httpx.Client(timeout=60) as client, suppress(httpx.TransportError):
            for step in count():
                points = [{"step": step, "values": {"loss": 1.0}}]
                body = {"project": "p", "run": self.run, "points": points}
                if not client.post(self.url, json=body).is_success:
                    return
                self.acknowledged = step + 1


def request_charts(url: str, number: int) -> list[threading.Thread]:
    """Request charts of the first run, from so many clients."""
    run = httpx.get(f"{url}/api/v1/runs", timeout=60).json()["runs"][0]["id"]

    def request() -> None:
        with suppress(httpx.TransportError):
            httpx.get(f"{url}/api/v1/runs/{run}/data?metric=loss", timeout=120)

    threads = [threading.Thread(target=request) for _ in range(number)]
    for thread in threads:
        thread.start()
    return threads


@pytest.mark.parametrize("charts", [1, WORKER_THREADS + 5], ids=["one", "more than threads"])
def test_sigterm_ends_a_server_whose_threads_do_not_end(tmp_path: Path, charts: int) -> None:
    with server(tmp_path) as (process, url):
        sender = Sender(url, "r")
        wait_for(lambda: sender.acknowledged)
        threads = request_charts(url, charts)
        assert process.stdout is not None
        for _ in range(min(charts, WORKER_THREADS)):
            assert process.stdout.readline() == "computing\n"
        before = sender.acknowledged
        wait_for(lambda: sender.acknowledged > before)
        output = stop(process, signal.SIGTERM)
        assert "Holter has stopped." in output
        assert "Traceback" not in output
        for thread in [*threads, sender.thread]:
            thread.join()
    assert stored_points(tmp_path / "holter.db") >= sender.acknowledged > before


def test_compaction_that_does_not_stop_delays_nobody_and_keeps_others_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = threading.Event(), threading.Event()

    def compact(*_: Any) -> int:
        began.set()
        go_on.wait(60)
        return 0

    monkeypatch.setattr(compaction, "compact", compact)
    monkeypatch.setattr(compaction, "_MAX_PENDING_COMMITS", 1)
    context = ServerContext(Settings(data_dir=tmp_path))
    context.start()
    batch = Batch(
        steps=np.arange(3), times=np.arange(3.0), columns=(Column(key=SeriesKey("loss"), values=np.ones(3)),)
    )
    context.store.accept(Delivery(project="p", run="r", writer="w", batch_id="1", batch=batch))
    assert began.wait(60)
    context.close()
    other = ServerContext(Settings(data_dir=tmp_path))
    with pytest.raises(StoreLockedError):
        other.start()
    go_on.set()
    context.store.close()


def stored_points(database: Path) -> int:
    """Points of the first run, in a database that no server has locked any more."""
    engine = connect(f"sqlite:///{database}")
    store = Store(engine)
    store.start()
    try:
        return len(store.read(1)[SeriesKey("loss")].step)
    finally:
        store.close()
        engine.dispose()

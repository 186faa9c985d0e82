"""Holter: its client sends over HTTP to a server process that acknowledges what is on disk."""

from __future__ import annotations

import http.client
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
import numpy as np

from holter import init
from holter.ingest import formats
from holter.ingest.tailing.follower import Follower
from holter.ingest.tensorboard import numba_kernels
from holter.ingest.tensorboard.event_file import EventFile
from holter.ingest.tensorboard.jit import no_kernels
from holter.server.database import connect
from holter.server.migrate import upgrade
from holter.server.store import Store
from peers.workloads import Workload

_FINISH_TIMEOUT = 600.0


class HolterPeer:
    """A server on a folder, started before the measurement."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server: subprocess.Popen[str] | None = subprocess.Popen(
            [sys.executable, "-m", "holter", "serve", "--port", "0", "--data-dir", str(self._folder)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._server.stdout is not None
        output = self._server.stdout.readline().split()
        self._address = next(word for word in output if word.startswith("http"))
        self._http = http.client.HTTPConnection(urlsplit(self._address).netloc)
        self._get("/api/v1/runs")

    def write(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """Log all rows, and wait until the server has acknowledged the last batch."""
        for run, run_rows in enumerate(rows):
            client_run = init(
                "bench", f"run-{run}", server=self._address, spool=self._folder / "spool", environ={}
            )
            for step, row in enumerate(run_rows):
                client_run.log(row, step=step)
            client_run.finish(_FINISH_TIMEOUT)

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Query over HTTP and decode, as the charts of the dashboard do."""
        runs = self._get("/api/v1/runs?project=bench")["runs"]
        assert len(runs) == workload.runs, f"found {len(runs)} runs, expected {workload.runs}"
        run = next(each["id"] for each in runs if each["name"] == "run-0")
        stored = sum(each["points"] for each in runs)
        assert stored == workload.points, f"stored {stored} of {workload.points} points"
        names = [f"train/metric_{n}" for n in range(min(20, workload.metrics))]

        def chart(metrics: list[str], points: int) -> int:
            query = "&".join(f"metric={quote(name)}" for name in metrics)
            answer = self._get(f"/api/v1/runs/{run}/data?points={points}&{query}", msgpack=True)
            segments = [segment for series in answer["series"] for segment in series["segments"]]
            return sum(len(np.frombuffer(segment["value"])) for segment in segments)

        def latest() -> int:
            return len(np.frombuffer(self._get(f"/api/v1/runs/{run}/latest", msgpack=True)["value"]))

        expected = min(workload.steps, 900)
        queries: dict[str, Any] = {"20 series": (lambda: chart(names, 1000), expected)}
        if workload.steps <= 100_000:
            queries["one series"] = (lambda: chart(names[:1], workload.steps), workload.steps)
        return queries | {"last values": (latest, workload.metrics)}

    def loaders(self, path: Path) -> dict[str, Any]:
        """Read event files into a store, with numpy or compiled; checksums are verified."""
        expected = int((path / "points").read_text())
        empty = self._folder / "empty.sqlite"  # a server has created its tables before it reads a file
        engine = connect(f"sqlite:///{empty}")
        upgrade(engine)
        engine.dispose()
        return {
            "durable, numpy": lambda: self._load(path, EventFile(no_kernels), expected, empty),
            "durable, compiled": lambda: self._load(
                path, EventFile(lambda size: numba_kernels), expected, empty
            ),
        }

    def _load(self, path: Path, events: EventFile, expected: int, empty: Path) -> int:
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            engine = connect(f"sqlite:///{shutil.copy(empty, Path(folder) / 'holter.db')}")
            store = Store(engine)
            store.start()
            stored = 0

            def count_points(commit: Any) -> None:
                nonlocal stored
                stored += commit.points

            store.on_commit(count_points)
            Follower([path], store, known={**formats(), "tensorboard": events}).catch_up()
            store.close()
            engine.dispose()
        assert stored == expected, f"stored {stored} of {expected} points"
        return stored

    def _get(self, path: str, *, msgpack: bool = False) -> Any:
        self._http.request("GET", path, headers={"Accept": "application/msgpack"} if msgpack else {})
        answer = self._http.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body[:300]!r}")
        return (msgspec.msgpack if msgpack else msgspec.json).decode(body)

    def size(self) -> int:
        """The size of the used pages of the database, after compaction."""
        self.close()
        (path,) = self._folder.glob("*.db")
        engine = connect(f"sqlite:///{path}")
        store = Store(engine)
        store.start()
        store.compact()
        store.close()
        engine.dispose()
        with sqlite3.connect(path) as database:
            pages, free, size = (
                int(database.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_count", "freelist_count", "page_size")
            )
        return (pages - free) * size

    def close(self) -> None:
        """Stop the server."""
        if self._server is not None:
            self._http.close()
            self._server.terminate()
            self._server.wait(60)
            self._server = None

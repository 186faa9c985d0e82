"""Holter: its client, over HTTP, to a server in a process of its own, acknowledged when it is on disk."""

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

_PATIENCE = 600.0


class Peer:
    """A server over a folder, started before anything is measured."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server: subprocess.Popen[str] | None = subprocess.Popen(
            [sys.executable, "-m", "holter", "serve", "--port", "0", "--data-dir", str(self._folder)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._server.stdout is not None
        words = self._server.stdout.readline().split()
        self._address = next(word for word in words if word.startswith("http"))
        self._http = http.client.HTTPConnection(urlsplit(self._address).netloc)
        self._get("/api/v1/runs")

    def write(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """From the first call of the client until the server has acknowledged the last batch."""
        for run, held in enumerate(rows):
            opened = init(
                "bench", f"run-{run}", server=self._address, spool=self._folder / "spool", environ={}
            )
            for step, row in enumerate(held):
                opened.log(row, step=step)
            opened.finish(_PATIENCE)

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Over HTTP, decoded; the charts of the dashboard ask the same."""
        runs = self._get("/api/v1/runs?project=bench")["runs"]
        assert len(runs) == workload.runs, f"found {len(runs)} runs, expected {workload.runs}"
        run = next(one["id"] for one in runs if one["name"] == "run-0")
        stored = sum(one["points"] for one in runs)
        assert stored == workload.points, f"stored {stored} of {workload.points} points"
        names = [f"train/metric_{n}" for n in range(min(20, workload.metrics))]

        def chart(wanted: list[str], points: int) -> int:
            asked = "&".join(f"metric={quote(name)}" for name in wanted)
            answer = self._get(f"/api/v1/runs/{run}/data?points={points}&{asked}", packed=True)
            segments = [part for one in answer["series"] for part in one["segments"]]
            return sum(len(np.frombuffer(part["value"])) for part in segments)

        def last() -> int:
            return len(np.frombuffer(self._get(f"/api/v1/runs/{run}/latest", packed=True)["value"]))

        few = min(workload.steps, 900)
        found: dict[str, Any] = {"20 series": (lambda: chart(names, 1000), few)}
        if workload.steps <= 100_000:
            found["one series"] = (lambda: chart(names[:1], workload.steps), workload.steps)
        return found | {"last values": (last, workload.metrics)}

    def loaders(self, path: Path) -> dict[str, Any]:
        """Event files to durable points in a store, by numpy alone and compiled; checksums verified."""
        wanted = int((path / "points").read_text())
        empty = self._folder / "empty.sqlite"  # a server's tables are there long before it reads a file
        engine = connect(f"sqlite:///{empty}")
        upgrade(engine)
        engine.dispose()
        return {
            "durable, numpy": lambda: self._followed(path, EventFile(no_kernels), wanted, empty),
            "durable, compiled": lambda: self._followed(
                path, EventFile(lambda size: numba_kernels), wanted, empty
            ),
        }

    def _followed(self, path: Path, events: EventFile, wanted: int, empty: Path) -> int:
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            engine = connect(f"sqlite:///{shutil.copy(empty, Path(folder) / 'holter.db')}")
            store = Store(engine)
            store.start()
            stored = 0

            def count(commit: Any) -> None:
                nonlocal stored
                stored += commit.points

            store.on_commit(count)
            Follower([path], store, known={**formats(), "tensorboard": events}).catch_up()
            store.close()
            engine.dispose()
        assert stored == wanted, f"stored {stored} of {wanted} points"
        return stored

    def _get(self, path: str, *, packed: bool = False) -> Any:
        self._http.request("GET", path, headers={"Accept": "application/msgpack"} if packed else {})
        answer = self._http.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body[:300]!r}")
        return (msgspec.msgpack if packed else msgspec.json).decode(body)

    def size(self) -> int:
        """Pages in use of the database file, after compaction."""
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

"""Holter: its client sends over HTTP to a server process that acknowledges what is on disk."""

from __future__ import annotations

import http.client
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
import numpy as np

import holter.client.run
from holter import init
from holter.server.database import connect
from holter.server.maintenance.vacuum import vacuum
from holter.server.migrate import upgrade
from holter.server.store import Store
from peers.clock import SimulatedClock
from peers.peer import PeerBase
from peers.workloads import LoggedRun, Workload

_FINISH_TIMEOUT = 600.0


class HolterPeer(PeerBase):
    """A server on a folder, started before the measurement."""

    compacts_by_itself = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._server: subprocess.Popen[str] | None = subprocess.Popen(
            [sys.executable, "-m", "holter", "serve", "--port", "0", "--data-dir", str(self.folder)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._server.stdout is not None
        output = self._server.stdout.readline().split()
        self._address = next(word for word in output if word.startswith("http"))
        self._http = http.client.HTTPConnection(urlsplit(self._address).netloc)
        self._runs()

    def write(self, workload: Workload, runs: list[LoggedRun]) -> None:
        """Log all rows, and wait until the server has acknowledged the last batch."""
        clock = SimulatedClock()
        holter.client.run.now = clock.time
        for number, run in enumerate(runs):
            client_run = init(
                "bench", f"run-{number}", server=self._address, spool=self.folder / "spool", environ={}
            )
            for step, row in enumerate(run.rows):
                clock.seconds = run.times[step]
                client_run.log(row, step=step)
            client_run.finish(_FINISH_TIMEOUT)

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Query over HTTP and decode, as the charts of the dashboard do."""
        runs = self._runs()
        assert len(runs) == workload.runs, f"found {len(runs)} runs, expected {workload.runs}"
        run = next(each["id"] for each in runs if each["name"] == "run-0")
        stored = sum(each["points"] for each in runs)
        assert stored == workload.points, f"stored {stored} of {workload.points} points"

        def chart(metrics: list[str], points: int) -> int:
            query = "&".join(f"metric={quote(name)}" for name in metrics)
            answer = self._get(f"/api/v1/runs/{run}/data?points={points}&{query}", msgpack=True)
            segments = [segment for series in answer["series"] for segment in series["segments"]]
            return sum(len(np.frombuffer(segment["value"])) for segment in segments)

        def latest() -> int:
            return len(np.frombuffer(self._get(f"/api/v1/runs/{run}/latest", msgpack=True)["value"]))

        names = workload.names[:20]
        expected = min(workload.steps, 900)
        return {
            "one series": (lambda: chart(names[:1], workload.steps), workload.steps),
            "20 series": (lambda: chart(names, 1000), len(names) * expected),
            "long series": (lambda: chart(names, 1000), expected),
            "last values": (latest, workload.metrics),
        }

    def loaders(self, path: Path) -> dict[str, Any]:
        """Read event files into a store, with numpy or compiled; checksums are verified."""
        # imported here as only this measurement needs what numba takes to import
        from holter.ingest.tensorboard import numba_kernels  # noqa: PLC0415
        from holter.ingest.tensorboard.event_file import EventFile  # noqa: PLC0415
        from holter.ingest.tensorboard.jit import no_kernels  # noqa: PLC0415

        expected = int((path / "points").read_text())
        empty = self.folder / "empty.sqlite"  # a server has created its tables before it reads a file
        engine = connect(f"sqlite:///{empty}")
        upgrade(engine)
        engine.dispose()
        return {
            "durable, numpy": lambda: self._load(path, EventFile(no_kernels), expected, empty),
            "durable, compiled": lambda: self._load(
                path, EventFile(lambda size: numba_kernels), expected, empty
            ),
        }

    def _load(self, path: Path, events: Any, expected: int, empty: Path) -> int:
        from holter.ingest import formats  # noqa: PLC0415 - as above
        from holter.ingest.tailing.follower import Follower  # noqa: PLC0415

        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
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

    def _runs(self) -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = self._get("/api/v1/runs")["runs"]
        return runs

    def is_quiet(self) -> bool:
        """Whether all runs are analysed."""
        return all(run["state"] == "finished" and run["analyzed"] for run in self._runs())

    def compact(self) -> None:
        """Compact what is left, as the server does 15 s after the last point, and return free space."""
        (path,) = self.folder.glob("*.db")
        engine = connect(f"sqlite:///{path}")
        store = Store(engine)
        store.start()
        store.compact()
        store.close()
        vacuum(engine)
        engine.dispose()

    def close(self) -> None:
        """Stop the server."""
        if self._server is not None:
            self._http.close()
            self._server.terminate()
            self._server.wait(60)
            self._server = None

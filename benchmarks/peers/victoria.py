"""VictoriaMetrics, a general engine for time series, over HTTP: no axis of steps, and no fsync."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from peers.roster import CACHE
from peers.worker import bytes_below
from peers.workloads import Workload

_A_BODY = 1_000_000  # characters


class Peer:
    """A single node over a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        binary = next((CACHE / "victoria-metrics" / "usr" / "bin").glob("victoria-metrics"))
        port = _free_port()
        self._process = subprocess.Popen(
            [
                binary,
                f"-storageDataPath={folder}",
                f"-httpListenAddr=127.0.0.1:{port}",
                "-retentionPeriod=10y",
            ],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        self._http = http.client.HTTPConnection("127.0.0.1", port)
        while True:
            try:
                self._ask("GET", "/health")
                return
            except OSError:
                self._http.close()
                time.sleep(0.02)

    def write(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """A line a series, or, live, a body a step."""
        for run in range(workload.runs):
            times, columns = workload.columns(run)
            stamps = (1e3 * times).astype(int).tolist()
            if workload.live:
                for step, row in enumerate(rows[run]):
                    lines = [
                        _line(run, name, [value], stamps[step : step + 1]) for name, value in row.items()
                    ]
                    self._ask("POST", "/api/v1/import", "\n".join(lines))
                continue
            body: list[str] = []
            for name, values in columns.items():
                body.append(_line(run, name, values.tolist(), stamps))
                if len(body) * len(body[0]) > _A_BODY:
                    self._ask("POST", "/api/v1/import", "\n".join(body))
                    body = []
            if body:
                self._ask("POST", "/api/v1/import", "\n".join(body))
        self._ask("GET", "/internal/force_flush")

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Series come whole."""
        some = min(20, workload.metrics)

        def export(count: int) -> int:
            total = 0
            for number in range(count):
                match = f'{{__name__="train/metric_{number}",run="0"}}'
                for line in self._ask("GET", f"/api/v1/export?match[]={quote(match)}").splitlines():
                    total += len(json.loads(line)["values"])
            return total

        return {
            "one series": (lambda: export(1), 1),
            "20 series": (lambda: export(some), 1),
        }

    def _ask(self, method: str, path: str, body: str | None = None) -> bytes:
        self._http.request(method, path, body)
        answer = self._http.getresponse()
        said = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{path}: {answer.status} {said[:200]!r}")
        return said

    def size(self) -> int:
        """Its folder, after it has stopped, when everything is written and merged."""
        self.close()
        return bytes_below(self._folder)

    def close(self) -> None:
        """Stop it as it wants to be stopped."""
        self._http.close()
        self._process.terminate()
        self._process.wait(60)


def _line(run: int, name: str, values: list[float], stamps: list[int]) -> str:
    metric = {"__name__": name, "run": str(run)}
    return json.dumps({"metric": metric, "values": values, "timestamps": stamps})


def _free_port() -> int:
    """A port that is free now: this server cannot choose one by itself."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
    return port

"""VictoriaMetrics, a general time series database, over HTTP: without steps and without fsync."""

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
from peers.worker import folder_size
from peers.workloads import Workload

_MAX_BODY_CHARACTERS = 1_000_000


class VictoriaMetricsPeer:
    """A single VictoriaMetrics node on a folder."""

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
                self._request("GET", "/health")
                return
            except OSError:
                self._http.close()
                time.sleep(0.02)

    def write(self, workload: Workload, rows: list[list[dict[str, float]]]) -> None:
        """Send one line per series; for live workloads, one request per step."""
        for run in range(workload.runs):
            times, columns = workload.columns(run)
            stamps = (1e3 * times).astype(int).tolist()
            if workload.live:
                for step, row in enumerate(rows[run]):
                    lines = [
                        _line(run, name, [value], stamps[step : step + 1]) for name, value in row.items()
                    ]
                    self._request("POST", "/api/v1/import", "\n".join(lines))
                continue
            body: list[str] = []
            for name, values in columns.items():
                body.append(_line(run, name, values.tolist(), stamps))
                if len(body) * len(body[0]) > _MAX_BODY_CHARACTERS:
                    self._request("POST", "/api/v1/import", "\n".join(body))
                    body = []
            if body:
                self._request("POST", "/api/v1/import", "\n".join(body))
        self._request("GET", "/internal/force_flush")

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Export complete series."""
        series = min(20, workload.metrics)

        def export(count: int) -> int:
            total = 0
            for number in range(count):
                match = f'{{__name__="train/metric_{number}",run="0"}}'
                for line in self._request("GET", f"/api/v1/export?match[]={quote(match)}").splitlines():
                    total += len(json.loads(line)["values"])
            return total

        return {
            "one series": (lambda: export(1), 1),
            "20 series": (lambda: export(series), 1),
        }

    def _request(self, method: str, path: str, body: str | None = None) -> bytes:
        self._http.request(method, path, body)
        answer = self._http.getresponse()
        content: bytes = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{path}: {answer.status} {content[:200]!r}")
        return content

    def size(self) -> int:
        """The size of the folder after the process has stopped, when all parts are written and merged."""
        self.close()
        return folder_size(self._folder)

    def close(self) -> None:
        """Stop the process with SIGTERM, so that it writes its data."""
        self._http.close()
        self._process.terminate()
        self._process.wait(60)


def _line(run: int, name: str, values: list[float], stamps: list[int]) -> str:
    metric = {"__name__": name, "run": str(run)}
    return json.dumps({"metric": metric, "values": values, "timestamps": stamps})


def _free_port() -> int:
    """A free port; VictoriaMetrics cannot choose one itself."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port

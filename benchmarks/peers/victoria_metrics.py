"""VictoriaMetrics, a general time series database, over HTTP: without steps and without fsync."""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from peers.environments import CACHE
from peers.peer import PeerBase
from peers.workloads import SECONDS_PER_STEP, START_TIME, LoggedRun, Workload

_MAX_BODY_BYTES = 4_000_000
_POINTS = 1000
_MAX_LINE_POINTS = 100_000  # a line has 10 MiB at most
_ALL_OF_RUN = '{run="0"}'


class VictoriaMetricsPeer(PeerBase):
    """A single VictoriaMetrics node on a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    def _start(self) -> None:
        binary = CACHE / "victoria-metrics" / "usr" / "bin" / "victoria-metrics"
        port = _free_port()
        self._process = subprocess.Popen(
            [
                binary,
                f"-storageDataPath={self.folder}",
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

    def write(self, workload: Workload, runs: list[LoggedRun]) -> None:
        """Send complete series as JSON lines; for live workloads, one line of the Influx protocol a step."""
        for number, run in enumerate(runs):
            stamps = [int(1e3 * seconds) for seconds in run.times]
            if workload.live:
                for stamp, row in zip(stamps, run.rows, strict=True):
                    fields = ",".join(f"{name}={value!r}" for name, value in row.items())
                    self._request(
                        "POST", "/write?precision=ms", f"bench,run={number} {fields} {stamp}".encode()
                    )
                continue
            body = bytearray()
            for name, values in run.columns.items():
                metric = {"__name__": name, "run": str(number)}
                for first in range(0, len(values), _MAX_LINE_POINTS):
                    part = slice(first, first + _MAX_LINE_POINTS)
                    line = {"metric": metric, "values": values[part], "timestamps": stamps[part]}
                    body += msgspec.json.encode(line) + b"\n"
                if len(body) > _MAX_BODY_BYTES:
                    self._request("POST", "/api/v1/import", body)
                    body = bytearray()
            if body:
                self._request("POST", "/api/v1/import", body)
        self._request("GET", "/internal/force_flush")

    def readers(self, workload: Workload) -> dict[str, Any]:
        """Export one series; ask for a value at each of 1,000 times, or for all values at the last one."""
        end = START_TIME + 1.02 * workload.steps * SECONDS_PER_STEP
        every = workload.steps * SECONDS_PER_STEP / _POINTS
        expected = min(workload.steps, _POINTS) * 9 // 10

        def export() -> int:
            query = urlencode({"match[]": f'{{__name__="{workload.names[0]}",run="0"}}'})
            lines = self._request("GET", f"/api/v1/export?{query}").splitlines()
            return sum(len(msgspec.json.decode(line)["values"]) for line in lines)

        def query_range() -> int:
            series = self._query("query_range", {"start": START_TIME, "end": end, "step": every})
            return sum(len(one["values"]) for one in series)

        def last_values() -> int:
            return len(self._query("query", {"time": end}))

        return {
            "one series": (export, workload.steps),
            "20 series": (query_range, min(20, workload.metrics) * expected),
            "long series": (query_range, expected),
            "last values": (last_values, workload.metrics),
        }

    def _query(self, kind: str, times: dict[str, Any]) -> list[Any]:
        answer = self._request("GET", f"/api/v1/{kind}?{urlencode(times | {'query': _ALL_OF_RUN})}")
        result: list[Any] = msgspec.json.decode(answer)["data"]["result"]
        return result

    def _request(self, method: str, path: str, body: bytes | bytearray | None = None) -> bytes:
        self._http.request(method, path, body)
        answer = self._http.getresponse()
        content: bytes = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{path}: {answer.status} {content[:200]!r}")
        return content

    def is_quiet(self) -> bool:
        """Whether no parts are being merged."""
        metrics = self._request("GET", "/metrics").decode()
        active = re.findall(r"^vm_active_(?:force_)?merges(?:\{[^}]*\})? (\d+)$", metrics, re.MULTILINE)
        return bool(active) and not any(int(number) for number in active)

    def compact(self) -> None:
        """Merge all parts into one, and stop."""
        self._start()
        self._request("GET", "/internal/force_merge")
        while not self.is_quiet():
            time.sleep(0.1)
        self.close()

    def close(self) -> None:
        """Stop the process with SIGTERM, so that it writes its data."""
        if self._process is not None:
            self._http.close()
            self._process.terminate()
            self._process.wait(60)
            self._process = None


def _free_port() -> int:
    """A free port; VictoriaMetrics cannot choose one itself."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port

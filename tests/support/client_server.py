"""A Holter server in its own process for tests of the client, and an HTTP server with prepared answers."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import msgpack

from tests.support.forked_commands import ForkedCommand
from tests.support.ports import free_port
from tests.support.waiting import wait_for


class Server:
    """`holter serve` on a port and a folder of its own."""

    def __init__(self, data: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.data = data
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        serve = ["serve", "--port", self.port, "--data-dir", self.data]
        self.process = ForkedCommand(serve, cwd=self.data, stdout=subprocess.DEVNULL)
        wait_for(self.ready, 60)

    def ready(self) -> bool:
        with urllib.request.urlopen(f"{self.url}/readyz", timeout=60) as response:
            return bool(response.status == 200)

    def stop(self, with_signal: signal.Signals = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(with_signal)
            self.process.wait(60)
            self.process = None

    def get(self, path: str, **query: str | int) -> dict[str, Any]:
        address = f"{self.url}/api/v1{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(address, timeout=30) as response:
            answer: dict[str, Any] = json.load(response)
            return answer

    def run(self, name: str) -> dict[str, Any] | None:
        return next((run for run in self.get("/runs", q=name)["runs"] if run["name"] == name), None)

    def points(self, name: str, metric: str) -> list[tuple[int, int, float | str]]:
        """(attempt, step, value) of every point of a metric, as stored; empty where there is no such run."""
        run = self.run(name)
        if run is None:
            return []
        answer = self.get(f"/runs/{run['id']}/data", metric=metric, points=100_000)
        found: list[tuple[int, int, float | str]] = []
        for series in answer["series"]:
            assert not series["reduced"]
            for segment in series["segments"]:
                pairs = zip(segment["step"], segment["value"], strict=True)
                found += [(segment["attempt"], step, value) for step, value in pairs]
            found += [(point["attempt"], point["step"], point["value"]) for point in series["nonfinite"]]
        return sorted(found, key=lambda point: point[:2])


def columns_of(body: dict[str, Any]) -> dict[str, list[float]]:
    """The values of a body in the binary form by metric, and its steps."""
    steps = np.frombuffer(body.get("steps", b""), "<i8").tolist()
    metrics = body.get("metrics", [])
    table = np.frombuffer(body.get("values", b""), "<f8").reshape(-1, len(metrics) or 1)
    found = {"step": steps} | {metric: table[:, place].tolist() for place, metric in enumerate(metrics)}
    for column in body.get("columns", []):
        found[column["metric"]] = np.frombuffer(column["values"], "<f8").tolist()
    return found


class Moody(BaseHTTPRequestHandler):
    """Answers as it is told to, one answer a request, then accepts; remembers what it was sent and when."""

    answers: list[tuple[int, dict[str, str]]]
    seen: list[tuple[float, str, dict[str, Any]]]
    accepted = b'{"accepted": 1, "run_id": "r1", "attempt": 0}'

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        body = msgpack.decode(gzip.decompress(raw) if self.headers["Content-Encoding"] else raw)
        for one in body if isinstance(body, list) else [body]:
            self.seen.append((time.monotonic(), self.path, one))
        status, headers = self.answers.pop(0) if self.answers else (200, {})
        content = self.accepted if status == 200 else b'{"detail": "as told"}'
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass

"""A server with runs for the tests of the pages, and pages whose console is checked."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from tests.support.forked_commands import ForkedCommand

STATIC = Path(__file__).parents[2] / "ui" / "static"

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


class Server:
    """`holter serve` in a process of its own on a free port, with a client for its REST API."""

    def __init__(self, folder: Path, *, port: int = 0, **environment: str) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("HOLTER_")}
        self.process = ForkedCommand(
            ["serve", "--port", port, "--data-dir", folder],
            cwd=folder,
            env={**clean, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.folder = folder
        self.output: list[str] = []
        self.address = self._address()
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def _address(self) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output.append(line)
            if match := re.search(r"http://[\w.]+:\d+", line):
                return match[0]
        raise AssertionError(f"the server did not start: {''.join(self.output)}")

    def _listen(self) -> None:
        assert self.process.stdout is not None
        self.output.extend(self.process.stdout)  # a full pipe would block the server

    def ask(self, path: str, body: object = None) -> Any:
        """The JSON of a GET request, or of a POST request if there is a body."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.address}/api/v1{path}", data, {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code >= 500:
                time.sleep(0.5)  # until its log is written
                log = "".join(self.output)[-4000:]
                raise AssertionError(f"{path}: {error.code} {error.read()!r}; the server:\n{log}") from error
            raise

    def delete(self, path: str) -> None:
        """Send a DELETE request."""
        request = urllib.request.Request(f"{self.address}/api/v1{path}", method="DELETE")
        urllib.request.urlopen(request, timeout=60).close()

    def post(self, run: str, columns: dict[str, list[Any]], **more: object) -> str:
        """Send points and return the id of their run."""
        receipt = self.ask("/ingest", {"project": "llm", "run": run, "columns": columns, **more})
        return str(receipt["run_id"])

    def wait_for_incident(self, run_id: str, kind: str) -> int:
        """Wait for an incident of a kind and return its id."""
        incidents = until(
            lambda: [
                incident
                for incident in self.ask(f"/runs/{run_id}/incidents")["incidents"]
                if incident["kind"] == kind
            ]
        )
        return int(incidents[0]["id"])

    def close(self) -> None:
        """Stop the server with SIGINT."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self._reader.join(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


def until(ask: Callable[[], Any], seconds: float = 60) -> Any:
    """Repeat `ask` until its result is not empty, and return that. Fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.1)
    return answer


class Opener:
    """Opens pages in separate browser contexts and records errors and warnings of their consoles."""

    def __init__(self, browser: Browser) -> None:
        self.messages: list[str] = []
        self._browser = browser
        self._contexts: list[BrowserContext] = []

    def __call__(self, address: str, *, width: int = 1440, height: int = 900, **options: Any) -> Page:
        context = self._browser.new_context(
            viewport={"width": width, "height": height}, reduced_motion="reduce", **options
        )
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: self.messages.append(f"{page.url}: {error}"))
        page.on("console", lambda message: self._record(page, message))
        page.goto(address)
        return page

    def _record(self, page: Page, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.messages.append(f"{page.url}: {message.text}")

    def allow(self, *words: str) -> None:
        """Drop the messages with these texts, which the test has provoked."""
        self.messages = [text for text in self.messages if not any(word in text for word in words)]

    def close(self) -> None:
        """Close every page."""
        for context in self._contexts:
            context.close()


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


STEPS = 1500


def wave(step: int) -> float:
    """Deterministic noise between -0.5 and 0.5."""
    return ((step * 7919) % 1009) / 1009 - 0.5


def healthy(first: int = 0, last: int = STEPS, *, ends: float | None = None) -> dict[str, list[Any]]:
    """Columns of a healthy run with one step per second, up to `ends` (Unix seconds, default now)."""
    steps = list(range(first, last))
    end = time.time() if ends is None else ends
    return {
        "step": steps,
        "time": [end - (last - 1 - step) for step in steps],
        "loss": [1.8 + 6.0 / (1 + step / 60) + 0.06 * wave(step) for step in steps],
        "tokens_per_second": [52_000 + 900 * wave(step + 5) for step in steps],
        "grad_norm": [0.8 + 0.2 * wave(step + 11) for step in steps],
        "lr": [3e-4 * min(1.0, (step + 1) / 100) for step in steps],
    }


class Runs:
    """Ids of the runs and incidents on the server."""

    def __init__(self, server: Server) -> None:
        self.posted_at = now = time.time()
        self.steady = server.post("steady", healthy(ends=now))
        first = healthy(0, 900, ends=now - 700)
        self.rolled_back = server.post("rolled-back", first, attempt="0", writer="a")
        server.post("rolled-back", healthy(700, 1300, ends=now), attempt="1", writer="b")
        broken = healthy(ends=now)
        broken["loss"][-40:] = ["NaN"] * 40
        broken["grad_norm"][-40:] = ["Infinity"] * 40
        self.broken = server.post("broken", broken)
        self.incident = server.wait_for_incident(self.broken, "nonfinite")

    def remove(self, server: Server) -> None:
        """Remove them from the server, so that others may have their names."""
        for run_id in (self.steady, self.rolled_back, self.broken):
            server.delete(f"/runs/{run_id}")

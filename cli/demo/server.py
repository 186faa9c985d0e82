"""The server of the demo: `holter watch` as a user starts it, in a process of its own, seen over REST."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PORT = 8765
START_SECONDS = 60.0
STOP_SECONDS = 15.0
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy does not know this machine


class NotServingError(RuntimeError):
    """The server did not start, has ended, or does not answer; the message says which."""


class Watching:
    """A running `holter watch LOGS`, with its data in `data`; to be closed."""

    def __init__(self, logs: Path, data: Path, *, port: int, environ: Mapping[str, str] = os.environ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._words = data / "server.log"
        data.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable,
            "-m",
            "holter",
            "watch",
            str(logs),
            "--project",
            "demo",
            "--port",
            str(port),
        ]
        # a demo has its own database, and tells nobody: settings meant for real runs stay out of it
        apart = {name: value for name, value in environ.items() if not name.startswith("HOLTER_")}
        with self._words.open("wb") as words:
            self.process = subprocess.Popen(
                [*command, "--data-dir", str(data)],
                cwd=data,
                env=apart,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the demo, which then stops the server
            )

    def wait(self) -> None:
        """Until the server answers. Raises NotServingError when it does not within a minute."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self.check()
            with contextlib.suppress(OSError), DIRECT.open(f"{self.url}/readyz", timeout=5):
                return
            time.sleep(0.05)
        raise NotServingError(f"the server did not answer within {START_SECONDS:.0f} s: {self._last_words()}")

    def check(self) -> None:
        """Raises NotServingError when the server has ended."""
        if self.process.poll() is not None:
            raise NotServingError(
                f"the server has ended (code {self.process.returncode}): {self._last_words()}"
            )

    def _last_words(self) -> str:
        return self._words.read_text(errors="replace").strip()[-2000:] or "it said nothing"

    def get(self, path: str) -> dict[str, Any]:
        """The JSON at a path below /api/v1. Raises NotServingError."""
        return self._ask(urllib.request.Request(f"{self.url}/api/v1{path}"))

    def post(self, path: str) -> dict[str, Any]:
        """Post an empty object to a path below /api/v1. Raises NotServingError."""
        headers = {"Content-Type": "application/json"}
        return self._ask(urllib.request.Request(f"{self.url}/api/v1{path}", b"{}", headers, method="POST"))

    def _ask(self, request: urllib.request.Request) -> dict[str, Any]:
        try:
            with DIRECT.open(request, timeout=30) as response:
                answer: dict[str, Any] = json.load(response)
                return answer
        except OSError as error:
            self.check()
            raise NotServingError(f"{request.full_url}: {error}") from error

    def close(self) -> None:
        """Stop the server, and see that it is gone."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port(wanted: int = PORT) -> int:
    """The port wanted if nobody listens there, else any free one."""
    for port in (wanted, 0):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)) as listener:
            return int(listener.getsockname()[1])
    raise OSError("no free port on 127.0.0.1")

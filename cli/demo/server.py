"""The server of the demo: `holter watch` in a separate process, accessed over REST."""

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
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy cannot reach this machine


class NotServingError(RuntimeError):
    """The server did not start, has ended, or does not answer; the message says which."""


class WatchProcess:
    """A running `holter watch LOGS` with its database in `data`; must be closed."""

    def __init__(
        self, logs: Path, data: Path, *, project: str, port: int, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._log = data / "server.log"
        data.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable,
            "-m",
            "holter",
            "watch",
            str(logs),
            "--project",
            project,
            "--port",
            str(port),
        ]
        # settings for real runs do not apply: the demo has its own database and sends no notifications
        own_environ = {name: value for name, value in environ.items() if not name.startswith("HOLTER_")}
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--data-dir", str(data)],
                cwd=data,
                env=own_environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C goes to the demo alone, which then stops the server
            )

    def wait(self) -> None:
        """Wait until the server answers. Raises NotServingError when it does not within a minute."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self.check()
            with contextlib.suppress(OSError), DIRECT.open(f"{self.url}/readyz", timeout=5):
                return
            time.sleep(0.05)
        raise NotServingError(f"the server did not answer within {START_SECONDS:.0f} s: {self._output()}")

    def check(self) -> None:
        """Raises NotServingError when the server has ended."""
        if self.process.poll() is not None:
            raise NotServingError(f"the server has ended (code {self.process.returncode}): {self._output()}")

    def _output(self) -> str:
        return self._log.read_text(errors="replace").strip()[-2000:] or "no output"

    def get(self, path: str) -> dict[str, Any]:
        """The JSON at a path below /api/v1. Raises NotServingError."""
        return self._request(urllib.request.Request(f"{self.url}/api/v1{path}"))

    def post(self, path: str) -> dict[str, Any]:
        """Post an empty object to a path below /api/v1. Raises NotServingError."""
        headers = {"Content-Type": "application/json"}
        return self._request(
            urllib.request.Request(f"{self.url}/api/v1{path}", b"{}", headers, method="POST")
        )

    def _request(self, request: urllib.request.Request) -> dict[str, Any]:
        try:
            with DIRECT.open(request, timeout=30) as response:
                answer: dict[str, Any] = json.load(response)
                return answer
        except OSError as error:
            self.check()
            raise NotServingError(f"{request.full_url}: {error}") from error

    def close(self) -> None:
        """Stop the server and wait until it has ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port(preferred: int = PORT) -> int:
    """The preferred port if it is free, else any free one."""
    for port in (preferred, 0):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)) as listener:
            return int(listener.getsockname()[1])
    raise OSError("no free port on 127.0.0.1")

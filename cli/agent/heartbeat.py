"""Heartbeats of an agent: its health, reported to the server every half minute and when it ends."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import holter
from holter.cli.agent.http_sink import ZSTD
from holter.client.http import PostConnection
from holter.client.uploader import ServerAccess

INTERVAL_SECONDS = 30.0
TIMEOUT_SECONDS = 10.0
FIRST_DELAY_SECONDS = 1.0  # by then the files that exist at the start are counted
MAX_TEXT_LENGTH = 500
MAX_PATHS = 20


@dataclass(frozen=True, kw_only=True)
class AgentIdentity:
    """The fields of a heartbeat that never change. `agent` is its name, the same after a restart."""

    agent: str
    host: str
    kind: str
    project: str
    paths: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class AgentHealth:
    """The fields of a heartbeat that change; `seconds_behind` is the age of the oldest unread data."""

    files: int = 0
    files_behind: int = 0
    bytes_behind: int = 0
    seconds_behind: float = 0.0
    points: int = 0
    dropped: int = 0
    unreadable: int = 0
    spool_bytes: int = 0
    last_error: str = ""


class HeartbeatThread(threading.Thread):
    """Sends heartbeats from its own thread, whatever the agent waits for. A failed one is not retried."""

    def __init__(
        self, access: ServerAccess, identity: AgentIdentity, measure_health: Callable[[], AgentHealth]
    ) -> None:
        super().__init__(name="holter-heartbeat", daemon=True)
        self._access, self._identity, self._measure_health = access, identity, measure_health
        self._connection = PostConnection(ZSTD)
        self._started_at = time.time()
        self._closed = threading.Event()

    def run(self) -> None:
        """Send heartbeats until `close` is called, and a last one then."""
        pause = FIRST_DELAY_SECONDS
        while not self._closed.wait(pause):
            self.send()
            pause = INTERVAL_SECONDS
        self.send(ended=True)
        self._connection.disconnect()

    def send(self, *, ended: bool = False) -> None:
        """Send one heartbeat."""
        with contextlib.suppress(Exception):  # a failing heartbeat must not stop the agent
            health = self._measure_health()
            body = {
                **asdict(self._identity),
                **asdict(health),
                "paths": [path[-MAX_TEXT_LENGTH:] for path in self._identity.paths[:MAX_PATHS]],
                "last_error": health.last_error[:MAX_TEXT_LENGTH],
                "version": holter.__version__,
                "began": self._started_at,
                "every": INTERVAL_SECONDS,
                "ended": ended,
            }
            self._connection.post(
                self._access.url("agents"),
                json.dumps(body).encode(),
                token=self._access.token,
                timeout=TIMEOUT_SECONDS,
                kind="application/json",
            )

    def close(self) -> None:
        """Send a heartbeat that says the agent has ended; waits for it for a limited time."""
        self._closed.set()
        self.join(TIMEOUT_SECONDS)


def agent_name(host: str, scope: str) -> str:
    """The name of an agent: its host, and a digest of `scope`, which identifies what it reads."""
    plain = "".join(
        letter if (letter.isascii() and letter.isalnum()) or letter in ".-" else "-" for letter in host
    )
    return f"{plain[:150] or 'localhost'}:{hashlib.sha256(scope.encode()).hexdigest()[:12]}"

"""The agent's own health, told to the server every half minute, and when it ends."""

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

EVERY = 30.0
TIMEOUT = 10.0
FIRST = 1.0  # until what is found at the start can be told
LONGEST_TEXT = 500
MOST_PATHS = 20


@dataclass(frozen=True, kw_only=True)
class Whose:
    """What never changes of an agent. `agent` names it, the same after a restart."""

    agent: str
    host: str
    kind: str
    project: str
    paths: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How an agent is now; `seconds_behind` is the age of the oldest that is not read."""

    files: int = 0
    files_behind: int = 0
    bytes_behind: int = 0
    seconds_behind: float = 0.0
    points: int = 0
    dropped: int = 0
    unreadable: int = 0
    spool_bytes: int = 0
    last_error: str = ""


class Pulse(threading.Thread):
    """Reports in a thread of its own, whatever the agent waits for. A report that is not taken is gone."""

    def __init__(self, access: ServerAccess, whose: Whose, look: Callable[[], Standing]) -> None:
        super().__init__(name="holter-pulse", daemon=True)
        self._access, self._whose, self._look = access, whose, look
        self._wire = PostConnection(ZSTD)
        self._began = time.time()
        self._over = threading.Event()

    def run(self) -> None:
        pause = FIRST
        while not self._over.wait(pause):
            self.tell()
            pause = EVERY
        self.tell(ended=True)
        self._wire.disconnect()

    def tell(self, *, ended: bool = False) -> None:
        """Send one report."""
        with contextlib.suppress(Exception):  # how the agent is must not become what is wrong with it
            standing = self._look()
            body = {
                **asdict(self._whose),
                **asdict(standing),
                "paths": [path[-LONGEST_TEXT:] for path in self._whose.paths[:MOST_PATHS]],
                "last_error": standing.last_error[:LONGEST_TEXT],
                "version": holter.__version__,
                "began": self._began,
                "every": EVERY,
                "ended": ended,
            }
            self._wire.post(
                self._access.url("agents"),
                json.dumps(body).encode(),
                token=self._access.token,
                timeout=TIMEOUT,
                kind="application/json",
            )

    def close(self) -> None:
        """Say that the agent ends, and wait for that a little."""
        self._over.set()
        self.join(TIMEOUT)


def name_of(host: str, what: str) -> str:
    """A name for an agent: that of its host, and a digest of what it works on."""
    plain = "".join(
        letter if (letter.isascii() and letter.isalnum()) or letter in ".-" else "-" for letter in host
    )
    return f"{plain[:150] or 'localhost'}:{hashlib.sha256(what.encode()).hexdigest()[:12]}"

"""`run.status()`: what the server knows about the run, polled by a background thread.

The thread starts with the first call. A call returns the newest answer and never waits.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holter.client.http import Accepted, PostConnection, RetryLater
from holter.client.uploader import ServerAccess

POLL_SECONDS = 5.0
LONGEST_POLL_SECONDS = 60.0
JITTER = 0.2  # share of an interval, so that the ranks of a job do not ask at the same moment
STATUS_TIMEOUT = 10.0
MAX_INCIDENTS = 50  # that are taken from an answer
MAX_TEXT = 2_000
NEVER = float("-inf")


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveIncident:
    """An open incident of the run. `severity` is "info", "warning" or "critical"."""

    id: int
    kind: str
    title: str
    severity: str
    metric: str
    step: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LoopRequest:
    """What somebody asks the training loop to do. `requested_at`: Unix seconds by the server's clock."""

    requested_at: float
    by: str | None
    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveStatus:
    """The newest answer of the server. Before the first one it is empty, and its age is infinite.

    `incidents` has the most severe first, at most 20 of `incident_count`. `worst` is the highest severity,
    None without an open incident. `stop` and `save` are None unless somebody asks for it.
    """

    incidents: tuple[LiveIncident, ...] = ()
    incident_count: int = 0
    worst: str | None = None
    stop: LoopRequest | None = None
    save: LoopRequest | None = None
    received: float = NEVER  # by the monotonic clock

    @property
    def age(self) -> float:
        """Seconds since the answer arrived."""
        return time.monotonic() - self.received


NO_STATUS = LiveStatus()


class StatusPoller:
    """Asks for the status of one run, from a thread of its own. Nothing here raises."""

    def __init__(self, access: ServerAccess, project: str, run: str, *, seed: str) -> None:
        self.status = NO_STATUS
        self.started = False
        self._access = access
        self._run = {"project": project, "run": run}
        self._opened = time.monotonic()
        self._random = random.Random(seed)
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._saved: dict[str, Any] | None = None
        self._stopping = False
        self._answered_save = NEVER

    def start(self) -> None:
        """Start the thread. Calling this again has no effect."""
        if not self.started:
            self.started = True
            self._thread = threading.Thread(target=self._poll, name="holter-status", daemon=True)
            self._thread.start()

    def close(self, timeout: float, *, ended: bool) -> None:
        """End the thread; waits at most `timeout` seconds, and only for reports that are not sent yet.

        `ended`: the training has ended, which is the answer to a request to stop.
        """
        self._stopping = ended and self.status.stop is not None
        self._closed = True
        self._wake.set()
        if self._thread is not None and (self._saved or self._stopping):
            self._thread.join(timeout)

    def report_saved(self, step: int | None, seconds: float | None) -> None:
        """Report that the requested checkpoint is saved; `status.save` is None from now on."""
        request = self.status.save
        if request is None:
            return
        self._answered_save = request.requested_at
        self.status = _without_save(self.status)
        self._saved = {"requested_at": request.requested_at, "step": step, "seconds": seconds}
        self._wake.set()

    def _poll(self) -> None:
        connection, failures = PostConnection(), 0
        last = False
        while not last:
            self._wake.clear()
            last = self._closed
            if last and not (self._saved or self._stopping):
                break
            try:
                wait = self._ask(connection)
                failures = 0 if wait is None else failures + 1
            except Exception:  # whatever an answer contains, the training goes on
                wait, failures = None, failures + 1
            interval = min(LONGEST_POLL_SECONDS, POLL_SECONDS * 2 ** min(failures, 6))
            if not last:
                self._wake.wait(max(interval * self._random.uniform(1 - JITTER, 1 + JITTER), wait or 0.0))
        connection.disconnect()

    def _ask(self, connection: PostConnection) -> float | None:
        """Ask once; returns None, or the seconds that the server asks to wait after a failure."""
        saved, stopping = self._saved, self._stopping
        body = self._run | {
            "age": time.monotonic() - self._opened,
            "saved": saved,
            "stopping": stopping,
        }
        outcome = connection.post(
            self._access.url("status"),
            json.dumps(body).encode(),
            token=self._access.token,
            timeout=STATUS_TIMEOUT,
            kind="application/json",
        )
        if not isinstance(outcome, Accepted):
            if isinstance(outcome, RetryLater):
                return LONGEST_POLL_SECONDS if outcome.misconfigured else outcome.wait or 0.0
            self._saved, self._stopping = None, False  # will never be accepted
            return LONGEST_POLL_SECONDS
        if self._saved is saved:
            self._saved = None
        self._stopping = self._stopping and not stopping
        status = parse_status(outcome.reply, time.monotonic())
        if status.save is not None and status.save.requested_at <= self._answered_save:
            status = _without_save(status)
        self.status = status
        return None


def parse_status(reply: Mapping[str, Any], received: float) -> LiveStatus:
    """Convert an answer of POST /status. Raises KeyError, TypeError or ValueError if it is malformed."""
    return LiveStatus(
        incidents=tuple(
            LiveIncident(
                id=int(incident["id"]),
                kind=_text(incident["kind"]),
                title=_text(incident["title"]),
                severity=_text(incident["severity"]),
                metric=_text(incident["metric"]),
                step=int(incident["step"]),
            )
            for incident in reply["incidents"][:MAX_INCIDENTS]
        ),
        incident_count=int(reply["incident_count"]),
        worst=_optional_text(reply["worst"]),
        stop=_request(reply["stop"]),
        save=_request(reply["save"]),
        received=received,
    )


def _without_save(status: LiveStatus) -> LiveStatus:
    return LiveStatus(
        incidents=status.incidents,
        incident_count=status.incident_count,
        worst=status.worst,
        stop=status.stop,
        received=status.received,
    )


def _request(stated: Mapping[str, Any] | None) -> LoopRequest | None:
    if stated is None:
        return None
    return LoopRequest(
        requested_at=float(stated["requested_at"]),
        by=_optional_text(stated["by"]),
        reason=_optional_text(stated["reason"]),
    )


def _text(value: object) -> str:
    return str(value)[:MAX_TEXT]


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)

"""A dead man's switch: an address that is requested regularly while all workers make progress.

The service at the address (healthchecks.io, Dead Man's Snitch, a watchdog receiver) raises an alarm when the
requests stop: because the process or its machine died, the network failed, or a worker hangs.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter

from holter.plurals import counted
from holter.server.channels.deadline import SendDeadline
from holter.server.channels.http import NoReplyError, request
from holter.server.worker_progress import WorkerProgress
from holter.settings.alerting import HeartbeatSettings

_logger = logging.getLogger(__name__)

RETRY_SECONDS = 10.0
"""Seconds until the next request after one that failed, at most."""


class Heartbeat:
    """One thread. Without an address in the settings it does nothing."""

    def __init__(self, settings: HeartbeatSettings, progress: WorkerProgress) -> None:
        self._settings = settings
        self._progress = progress
        self._problem: object = None
        self.outcomes: Counter[str] = Counter()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Start the thread, with a first request at once."""
        if self._settings.url is not None:
            self._thread.start()

    def stop(self) -> None:
        """Begin no further request."""
        self._stop.set()

    def close(self) -> None:
        """Stop; a request in progress is left behind with its thread."""
        self.stop()

    def beat(self) -> bool:
        """Request the address if all workers make progress; whether it was reached."""
        hanging = self._progress.hanging(self._settings.limit)
        if hanging:
            workers = ", ".join(
                f"{name} (no turn for {counted(round(seconds), 'second')})"
                for name, seconds in hanging.items()
            )
            self._report("withheld", f"no heartbeat is sent, since workers hang: {workers}", key=set(hanging))
            return False
        problem = self._request()
        if problem:
            self._report("failed", f"the heartbeat failed: {problem}", key=problem)
        else:
            self._report("sent")
        return not problem

    def _request(self) -> str:
        """Request the address; what went wrong, empty for nothing."""
        settings = self._settings
        assert settings.url is not None
        posts = settings.method == "POST"
        status = {"status": "ok", "workers": len(self._progress.statuses())}
        try:
            with SendDeadline(settings.timeout) as deadline:
                reply = request(
                    settings.method,
                    settings.url.get_secret_value(),
                    json.dumps(status).encode() if posts else None,
                    {"Content-Type": "application/json"} if posts else {},
                    timeout=settings.timeout,
                    deadline=deadline,
                    public_only=not settings.allow_private,
                )
        except NoReplyError as error:
            return str(error)
        return "" if 200 <= reply.status < 300 else f"the address answered with status {reply.status}"

    def _report(self, outcome: str, problem: str = "", *, key: object = None) -> None:
        """Count an outcome; log a problem when it begins (by its `key`) and when it ends."""
        self.outcomes[outcome] += 1
        if problem and key != self._problem:
            _logger.error("%s", problem)
        elif self._problem is not None and not problem:
            _logger.warning("the heartbeat is sent again")
        self._problem = key

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                reached = self.beat()
            except Exception as error:  # its text may hold the address, which is a secret
                _logger.error("the heartbeat failed: %s", type(error).__name__)
                reached = False
            every = self._settings.every
            self._stop.wait(every if reached else min(every, RETRY_SECONDS))

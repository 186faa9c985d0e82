"""A thread that checks for agents that stopped reporting; their incidents take the way of all others."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from holter.server.agents.registry import AgentRegistry
from holter.server.alerting.incident import Incident
from holter.server.alerting.incident_store import IncidentStore
from holter.server.alerting.lifecycle import IncidentCandidate
from holter.server.alerting.silent_agents import detect_silent_agents

_logger = logging.getLogger(__name__)

CHECK_SECONDS = 10.0
"""Seconds between two checks."""
_LONGEST_GAP = 60.0
"""Seconds without a check after which nothing is known about what agents did meanwhile."""


class AgentMonitor:
    """One thread. Of several servers with one database, the first to notice a silence opens its incident."""

    def __init__(
        self,
        agents: AgentRegistry,
        incidents: IncidentStore,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._agents = agents
        self._incidents = incidents
        self._clock = clock
        self._watched_since = self._checked_at = clock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="agent monitor", daemon=True)

    def start(self) -> None:
        """Start the thread. Silence counts from now on: agents could not report while the server was down."""
        self._watched_since = self._checked_at = self._clock()
        self._thread.start()

    def close(self) -> None:
        """Stop after the check in progress."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def check(self) -> None:
        """Open, update and end incidents according to the agents' newest reports."""
        now = self._clock()
        if not 0 <= now - self._checked_at <= _LONGEST_GAP:  # suspended, or the clock was set
            self._watched_since = now
        self._checked_at = now

        def detect(incidents: Sequence[Incident]) -> list[IncidentCandidate]:
            agents = self._agents.statuses()
            return detect_silent_agents(incidents, agents, now=now, watched_since=self._watched_since)

        self._incidents.update_agents(detect)

    def _work(self) -> None:
        while not self._stop.wait(CHECK_SECONDS):
            try:
                self.check()
            except Exception:  # while the database is down, agents cannot report either
                self._watched_since = self._checked_at = self._clock()
                _logger.exception("agents cannot be checked; next attempt in %.0f s", CHECK_SECONDS)

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
from holter.server.alerting.missing_data import agents_without_data, detect_agents_without_data
from holter.server.alerting.silent_agents import detect_silent_agents
from holter.server.worker_progress import WorkerTurn, ignore_turn
from holter.settings.alerting import NoDataSettings
from holter.types import Kind

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
        no_data: NoDataSettings | None = None,
        clock: Callable[[], float] = time.time,
        on_turn: WorkerTurn = ignore_turn,
    ) -> None:
        self._agents = agents
        self._incidents = incidents
        self._clock = clock
        self._on_turn = on_turn
        self._no_data = no_data or NoDataSettings()
        self._waiting_since: dict[str, float] = {}  # agents without data
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

        agents = self._agents.statuses()
        without_data = agents_without_data(agents)
        self._waiting_since = {name: self._waiting_since.get(name, now) for name in without_data}

        def detect(incidents: Sequence[Incident]) -> list[IncidentCandidate]:
            agents = self._agents.statuses()
            silent, missing = (
                [incident for incident in incidents if incident.finding.kind is kind]
                for kind in (Kind.AGENT_SILENT, Kind.NO_DATA)
            )
            return [
                *detect_silent_agents(silent, agents, now=now, watched_since=self._watched_since),
                *detect_agents_without_data(missing, agents, self._waiting_since, self._no_data, now=now),
            ]

        self._incidents.update_agents(detect)

    def _work(self) -> None:
        self._on_turn()
        while not self._stop.wait(CHECK_SECONDS):
            try:
                self.check()
                self._on_turn()
            except Exception:  # while the database is down, agents cannot report either
                self._watched_since = self._checked_at = self._clock()
                _logger.exception("agents cannot be checked; next attempt in %.0f s", CHECK_SECONDS)

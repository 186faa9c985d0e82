"""A thread that checks for agents that stopped reporting; their incidents take the way of all others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from holter.server.agents.registry import AgentRegistry
from holter.server.alerting.incident import Incident
from holter.server.alerting.incident_store import IncidentStore
from holter.server.alerting.lifecycle import IncidentCandidate
from holter.server.alerting.missing_data import agents_without_data, detect_agents_without_data
from holter.server.alerting.silent_agents import detect_silent_agents
from holter.server.periodic_check import ObservedPeriod, PeriodicCheck
from holter.server.worker_progress import WorkerTurn, ignore_turn
from holter.settings.alerting import NoDataSettings
from holter.types import Kind

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
        self._no_data = no_data or NoDataSettings()
        self._waiting_since: dict[str, float] = {}  # agents without data
        self._observed = ObservedPeriod(clock, longest_gap=_LONGEST_GAP)
        # while the database is down, agents cannot report either
        self._checks = PeriodicCheck(
            "agents", self.check, seconds=CHECK_SECONDS, on_turn=on_turn, on_failure=self._observed.restart
        )

    def start(self) -> None:
        """Start the thread. Silence counts from now on: agents could not report while the server was down."""
        self._observed.restart()
        self._checks.start()

    def close(self) -> None:
        """Stop after the check in progress."""
        self._checks.close()

    def check(self) -> None:
        """Open, update and end incidents according to the agents' newest reports."""
        now = self._clock()
        since = self._observed.since(now)

        def detect(incidents: Sequence[Incident]) -> list[IncidentCandidate]:
            agents = self._agents.statuses()
            without_data = agents_without_data(agents)
            self._waiting_since = {name: self._waiting_since.get(name, now) for name in without_data}
            silent, missing = (
                [incident for incident in incidents if incident.finding.kind is kind]
                for kind in (Kind.AGENT_SILENT, Kind.NO_DATA)
            )
            return [
                *detect_silent_agents(silent, agents, now=now, watched_since=since),
                *detect_agents_without_data(missing, agents, self._waiting_since, self._no_data, now=now),
            ]

        self._incidents.update_agents(detect)

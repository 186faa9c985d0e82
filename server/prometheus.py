"""Metrics for Prometheus: counters of ingest; gauges of runs, incidents, notifications and agents."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Metric,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from holter.server.agents import AgentRegistry
from holter.server.analysis import failed_analyses
from holter.server.live import LiveStream
from holter.server.models import IncidentRow, NotificationRow, RunRecord, UnreadableRow

_AGENT_GAUGES = (
    ("seen_seconds", "seen_at", "When an agent last reported, in Unix seconds."),
    ("behind_bytes", "bytes_behind", "Bytes of its files that an agent has not read."),
    ("behind_seconds", "seconds_behind", "Age of the oldest bytes that an agent has not read."),
    ("spool_bytes", "spool_bytes", "Bytes that wait in an agent's spool."),
    ("unreadable", "unreadable", "Log locations that an agent could not read."),
    ("dropped", "dropped", "Points that an agent lost because its spool was full."),
)


class ServerMetrics:
    """The metrics of one server, in their own registry."""

    def __init__(self, engine: Engine, live: LiveStream, agents: AgentRegistry) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._registry.register(_DatabaseGauges(engine, live, agents))
        self.batches = Counter(
            "holter_ingest_requests", "Batches posted, by HTTP status.", ["status"], registry=self._registry
        )
        self.points = Counter("holter_points", "Points made durable.", registry=self._registry)

    def render(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


class _DatabaseGauges:
    """Gauges that are counted in the database at each scrape."""

    def __init__(self, engine: Engine, live: LiveStream, agents: AgentRegistry) -> None:
        self._engine = engine
        self._live = live
        self._agents = agents

    def describe(self) -> list[Metric]:
        """Nothing, so that registering does not query the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The number of runs, incidents and notifications in each state."""
        listeners = GaugeMetricFamily("holter_live_listeners", "Open live streams.")
        listeners.add_metric([], self._live.listeners)
        yield listeners
        yield from _agent_gauges(self._agents.statuses())
        with Session(self._engine) as session:
            runs = GaugeMetricFamily("holter_runs", "Runs stored.")
            stored = select(func.count()).select_from(RunRecord).where(RunRecord.deleted_at.is_(None))
            runs.add_metric([], session.scalar(stored) or 0)
            yield runs
            unreadable = GaugeMetricFamily("holter_unreadable", "Log locations that could not be read.")
            unreadable.add_metric([], session.scalar(select(func.count()).select_from(UnreadableRow)) or 0)
            yield unreadable
            analyses = GaugeMetricFamily("holter_analyses_failing", "Runs whose latest analysis failed.")
            analyses.add_metric([], len(failed_analyses(self._engine)))
            yield analyses
            incidents = GaugeMetricFamily("holter_incidents", "Incidents.", labels=["state", "severity"])
            states = (IncidentRow.state, IncidentRow.severity)
            for state, severity, count in session.execute(select(*states, func.count()).group_by(*states)):
                incidents.add_metric([state, severity], count)
            yield incidents
            notifications = GaugeMetricFamily("holter_notifications", "Notifications.", labels=["state"])
            by_state = select(NotificationRow.state, func.count()).group_by(NotificationRow.state)
            for state, count in session.execute(by_state):
                notifications.add_metric([state], count)
            yield notifications


def _agent_gauges(agents: Sequence[Mapping[str, Any]]) -> Iterator[Metric]:
    """The number of agents in each state, and how far each one is behind."""
    states = GaugeMetricFamily("holter_agents", "Agents that report here, by state.", labels=["state"])
    for state, count in sorted(Tally(agent["state"] for agent in agents).items()):
        states.add_metric([state], count)
    yield states
    for name, field, description in _AGENT_GAUGES:
        gauge = GaugeMetricFamily(f"holter_agent_{name}", description, labels=["agent", "host"])
        for agent in agents:
            if not agent["ended"]:
                gauge.add_metric([agent["agent"], agent["host"]], agent[field])
        yield gauge

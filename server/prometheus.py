"""What Prometheus may ask: counters of what came in, gauges of how things stand."""

from __future__ import annotations

from collections import Counter as Counted
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
    ("behind_seconds", "seconds_behind", "Age of the oldest that an agent has not read."),
    ("spool_bytes", "spool_bytes", "Bytes that wait in an agent's spool."),
    ("unreadable", "unreadable", "Places that an agent could not understand."),
    ("dropped", "dropped", "Points that an agent lost, its spool being full."),
)


class ServerMetrics:
    """The server's metrics, in a registry of their own."""

    def __init__(self, engine: Engine, live: LiveStream, agents: AgentRegistry) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._registry.register(_DatabaseGauges(engine, live, agents))
        self.batches = Counter(
            "holter_ingest_requests", "Batches posted, by HTTP status.", ["status"], registry=self._registry
        )
        self.points = Counter("holter_points", "Points made durable.", registry=self._registry)

    def page(self) -> bytes:
        """Everything in the text format of Prometheus."""
        return generate_latest(self._registry)


class _DatabaseGauges:
    """Gauges that are counted in the database when they are asked for."""

    def __init__(self, engine: Engine, live: LiveStream, agents: AgentRegistry) -> None:
        self._engine = engine
        self._live = live
        self._agents = agents

    def describe(self) -> list[Metric]:
        """Nothing: so that registering does not ask the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        """How many runs, incidents and notifications there are in each state."""
        listeners = GaugeMetricFamily("holter_live_listeners", "Open streams of live news.")
        listeners.add_metric([], self._live.listeners)
        yield listeners
        yield from _of_agents(self._agents.all())
        with Session(self._engine) as session:
            runs = GaugeMetricFamily("holter_runs", "Runs stored.")
            stored = select(func.count()).select_from(RunRecord).where(RunRecord.deleted_at.is_(None))
            runs.add_metric([], session.scalar(stored) or 0)
            yield runs
            unreadable = GaugeMetricFamily(
                "holter_unreadable", "Places in logs that could not be understood."
            )
            unreadable.add_metric([], session.scalar(select(func.count()).select_from(UnreadableRow)) or 0)
            yield unreadable
            analyses = GaugeMetricFamily(
                "holter_analyses_failing", "Runs that the detectors could not look at the last time."
            )
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


def _of_agents(agents: Sequence[Mapping[str, Any]]) -> Iterator[Metric]:
    """What agents say of themselves: their states, and of each how far it is behind."""
    states = GaugeMetricFamily("holter_agents", "Agents that report here, by state.", labels=["state"])
    for state, count in sorted(Counted(one["state"] for one in agents).items()):
        states.add_metric([state], count)
    yield states
    for name, field, words in _AGENT_GAUGES:
        gauge = GaugeMetricFamily(f"holter_agent_{name}", words, labels=["agent", "host"])
        for one in agents:
            if not one["ended"]:
                gauge.add_metric([one["agent"], one["host"]], one[field])
        yield gauge

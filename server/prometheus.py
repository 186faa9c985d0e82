"""Metrics for Prometheus: counters of ingest and delivery; gauges of runs, incidents, workers and agents."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Metric,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from holter.server.agents import AgentRegistry
from holter.server.analysis import STALE_AFTER, failed_analyses
from holter.server.delivery_metrics import (
    ChannelStatus,
    DeliveryMetrics,
    channel_gauges,
    notification_gauges,
)
from holter.server.heartbeat import Heartbeat
from holter.server.live import LiveStream
from holter.server.models import IncidentRow, Project, RunRecord, UnreadableRow
from holter.server.worker_progress import WorkerProgress

MOST_RUNS = 100
"""Live runs that have series of their own: those of which nothing has arrived for longest."""
_AGENT_GAUGES = (
    ("seen_seconds", "seen_at", "When an agent last reported, in Unix seconds."),
    ("behind_bytes", "bytes_behind", "Bytes of its files that an agent has not read."),
    ("behind_seconds", "seconds_behind", "Age of the oldest bytes that an agent has not read."),
    ("spool_bytes", "spool_bytes", "Bytes that wait in an agent's spool."),
    ("unreadable", "unreadable", "Log locations that an agent could not read."),
    ("dropped", "dropped", "Points that an agent lost because its spool was full."),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricSources:
    """What the gauges are read from at each scrape. `channels`: the present status of each."""

    engine: Engine
    live: LiveStream
    agents: AgentRegistry
    progress: WorkerProgress
    heartbeat: Heartbeat
    channels: Callable[[], Mapping[str, ChannelStatus]]
    clock: Callable[[], float]


class ServerMetrics:
    """The metrics of one server, in their own registry."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self.delivery = DeliveryMetrics(self._registry)
        self.batches = Counter(
            "holter_ingest_requests", "Batches posted, by HTTP status.", ["status"], registry=self._registry
        )
        self.points = Counter("holter_points", "Points made durable.", registry=self._registry)

    def collect_from(self, sources: MetricSources) -> None:
        """Add the gauges of a server, read from these sources."""
        self._registry.register(_Gauges(sources))

    def render(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self._registry)

    def families(self) -> list[Metric]:
        """All metrics by family, with their descriptions."""
        return list(self._registry.collect())


class _Gauges:
    """Gauges and counters that are read at each scrape."""

    def __init__(self, sources: MetricSources) -> None:
        self._sources = sources

    def describe(self) -> list[Metric]:
        """Nothing, so that registering does not query the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The state of everything that the sources know."""
        sources = self._sources
        yield _gauge("holter_live_listeners", "Open live streams.", sources.live.listeners)
        yield from _worker_metrics(sources.progress)
        heartbeats = CounterMetricFamily(
            "holter_heartbeats",
            "Heartbeats of the dead man's switch, by outcome: sent, failed, withheld.",
            labels=["outcome"],
        )
        for outcome, count in sorted(sources.heartbeat.outcomes.items()):
            heartbeats.add_metric([outcome], count)
        yield heartbeats
        yield from channel_gauges(sources.channels)
        yield from _agent_gauges(sources.agents.statuses())
        analyses = len(failed_analyses(sources.engine))
        yield _gauge("holter_analyses_failing", "Runs whose latest analysis failed.", analyses)
        now = sources.clock()
        with Session(sources.engine) as session:
            yield from _run_gauges(session, now)
            yield _incident_gauge(session)
            yield from notification_gauges(session, now)


def _gauge(name: str, description: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, description, value=value)


def _worker_metrics(progress: WorkerProgress) -> Iterator[Metric]:
    turns = CounterMetricFamily(
        "holter_worker_turns", "Turns that a background worker completed.", labels=["worker"]
    )
    since = GaugeMetricFamily(
        "holter_worker_seconds_since_turn",
        "Seconds since a background worker completed a turn: an idle one completes one every few seconds.",
        labels=["worker"],
    )
    for status in progress.statuses():
        turns.add_metric([status.worker], status.turns)
        since.add_metric([status.worker], status.seconds_since)
    yield turns
    yield since


def _run_gauges(session: Session, now: float) -> Iterator[Metric]:
    stored = select(func.count()).select_from(RunRecord).where(RunRecord.deleted_at.is_(None))
    yield _gauge("holter_runs", "Runs stored.", session.scalar(stored) or 0)
    unreadable = session.scalar(select(func.count()).select_from(UnreadableRow)) or 0
    yield _gauge("holter_unreadable", "Log locations that could not be read.", unreadable)
    is_live = (
        RunRecord.deleted_at.is_(None),
        RunRecord.finished_at.is_(None),
        RunRecord.updated_at > now - STALE_AFTER,
    )
    live = session.scalar(select(func.count()).select_from(RunRecord).where(*is_live)) or 0
    yield _gauge("holter_live_runs", "Runs that are not finished and logged something within a day.", live)
    arrival = GaugeMetricFamily(
        "holter_run_last_arrival_timestamp_seconds",
        f"When points of a live run arrived last; the {MOST_RUNS} runs that were silent for longest.",
        labels=["project", "run"],
    )
    silent = (
        select(Project.name, RunRecord.name, RunRecord.updated_at)
        .join(Project, Project.id == RunRecord.project_id)
        .where(*is_live)
        .order_by(RunRecord.updated_at)
        .limit(MOST_RUNS)
    )
    for project, run, updated_at in session.execute(silent):
        arrival.add_metric([project, run], updated_at)
    yield arrival


def _incident_gauge(session: Session) -> Metric:
    labels = ["kind", "severity", "state"]
    incidents = GaugeMetricFamily("holter_incidents", "Incidents stored.", labels=labels)
    columns = (IncidentRow.kind, IncidentRow.severity, IncidentRow.state)
    for *values, count in session.execute(select(*columns, func.count()).group_by(*columns)):
        incidents.add_metric([str(value) for value in values], count)
    return incidents


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

"""Metrics of notifications: what was delivered and how fast, what waits, and which channels fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from holter.server.alerting.notification_rows import WAITING
from holter.server.models import NotificationRow

LATENCY_BUCKETS = (0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
"""Seconds. Two is the default of `settle`, thirty what a receiver may take."""


class DeliveryMetrics:
    """Counts the attempts of this server to deliver messages."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._attempts = Counter(
            "holter_delivery_attempts",
            "Attempts to deliver a message, by outcome: delivered, retry, give_up.",
            ["channel", "outcome"],
            registry=registry,
        )
        self._latency = Histogram(
            "holter_delivery_latency_seconds",
            "Time from the arrival of a point to the delivery of the message that it caused.",
            ["channel"],
            buckets=LATENCY_BUCKETS,
            registry=registry,
        )

    def attempted(self, channel: str, outcome: str, latency: float | None) -> None:
        """Count an attempt. `latency`: seconds from the point to the delivery, None where there is none."""
        self._attempts.labels(channel, outcome).inc()
        if latency is not None:
            self._latency.labels(channel).observe(max(0.0, latency))


class ChannelStatus(Protocol):
    """What a sender knows about a channel."""

    @property
    def failures(self) -> int: ...

    @property
    def is_paused(self) -> bool: ...


def notification_gauges(session: Session, now: float) -> Iterator[Metric]:
    """Notifications by channel and state, and how long the oldest has waited."""
    counts = GaugeMetricFamily(
        "holter_notifications", "Notifications stored, by channel and state.", labels=["channel", "state"]
    )
    by_state = (NotificationRow.channel, NotificationRow.state)
    for channel, state, count in session.execute(select(*by_state, func.count()).group_by(*by_state)):
        counts.add_metric([channel, state], count)
    yield counts
    muted = NotificationRow.detail["muted"].as_string().is_not(None)
    waiting = (
        select(NotificationRow.channel, func.count(), func.min(NotificationRow.created_at))
        .where(NotificationRow.state == WAITING, ~muted)
        .group_by(NotificationRow.channel)
    )
    queue = GaugeMetricFamily(
        "holter_notification_queue_length", "Notifications that wait and are not muted.", labels=["channel"]
    )
    oldest = GaugeMetricFamily(
        "holter_notification_oldest_wait_seconds",
        "Age of the oldest notification that waits and is not muted.",
        labels=["channel"],
    )
    for channel, count, created_at in session.execute(waiting):
        queue.add_metric([channel], count)
        oldest.add_metric([channel], max(0.0, now - created_at))
    yield queue
    yield oldest


def channel_gauges(statuses: Callable[[], Mapping[str, ChannelStatus]]) -> Iterator[Metric]:
    """Failures of each channel, and whether its circuit breaker is open."""
    failures = GaugeMetricFamily(
        "holter_channel_consecutive_failures", "Attempts that failed in a row.", labels=["channel"]
    )
    circuit = GaugeMetricFamily(
        "holter_channel_circuit_open",
        "1 while a channel that failed gets no attempt, else 0.",
        labels=["channel"],
    )
    for name, status in sorted(statuses().items()):
        failures.add_metric([name], status.failures)
        circuit.add_metric([name], int(status.is_paused))
    yield failures
    yield circuit

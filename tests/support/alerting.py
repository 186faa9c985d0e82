"""Incidents, an outbox and a sender for tests, with a clock that stands still."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.server.alerting import IncidentCandidate, IncidentStore, NotificationSender, build_policy
from holter.server.alerting.routing import ChannelPolicy, NotificationPolicy
from holter.server.alerting.routing.policy import default_tree
from holter.server.channels import ConfiguredChannel, open_channels
from holter.server.models.alerting import NotificationRow
from holter.server.models.points import Project, RunRecord
from holter.settings.alerting import AlertingSettings
from holter.types import Finding, Kind, Severity
from tests.support.receivers import SlackServer


class NoCharts:
    """A store whose points are elsewhere: messages go out without a curve."""

    def chart(self, run_id: int, keys: object, **_: object) -> list[Any]:
        return []

    def attempts(self, run_id: int) -> list[Any]:
        return []


def channels_at(slack: SlackServer, **options: Any) -> dict[str, dict[str, Any]]:
    url = f"{slack.url}/services/T0/B0/secret"
    return {"team": {"type": "slack", "allow_private": True, "url": url, "timeout": 5, "calm": 0, **options}}


class Alerting:
    """Incidents and a sender over one database, with a clock and jitter that the test controls."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        settings: dict[str, dict[str, Any]],
        alerting: dict[str, Any] | None = None,
        *,
        channels: Mapping[str, ConfiguredChannel] | None = None,
    ) -> None:
        self.engine = engine
        self.clock = clock
        self.channels = open_channels(settings) | dict(channels or {})
        self.policy = build_policy(self.channels, AlertingSettings(**alerting or {}))
        self.incidents = IncidentStore(engine, policy=self.policy, clock=clock)
        self.sender = self.new_sender()

    def new_sender(self, **options: Any) -> NotificationSender:
        return NotificationSender(
            self.engine,
            NoCharts(),
            self.channels,
            public_url="http://127.0.0.1:8765/",
            policy=self.policy,
            clock=self.clock,
            chance=lambda: 0.0,
            **options,
        )

    def send_due(self, name: str = "team") -> int:
        """Let the channel send all that is due; returns how many messages that were."""
        count = 0
        while self.sender.send_next(name) == 0:
            count += 1
        return count

    def rows(self) -> list[NotificationRow]:
        with Session(self.engine) as session:
            return list(session.scalars(select(NotificationRow).order_by(NotificationRow.id)))


def headlines(slack: SlackServer) -> list[str]:
    return [payload["blocks"][0]["text"]["text"].partition(" ")[2] for payload in slack.payloads]


SPIKE = Finding(
    kind=Kind.SPIKE_FAST,
    metric="loss",
    attempt=0,
    start_step=1514,
    peak_step=1520,
    detected_step=1517,
    severity=Severity.WARNING,
    confidence=0.9,
    summary="Loss rose from 2.31 to 4.02 at step 1514.",
    advice="Nothing yet.",
    evidence={"baseline": 2.31, "peak": 4.02},
)

STALL = replace(SPIKE, kind=Kind.STALL, start_step=1600, detected_step=1600, peak_step=None)


def add_run(engine: Engine, name: str = "104b", *, at: float = 1_700_000_000.0) -> int:
    """A run of project `llm`, its number."""
    with Session(engine) as session, session.begin():
        project = session.query(Project).filter_by(name="llm").one_or_none()
        if project is None:
            project = Project(name="llm", created_at=at)
            session.add(project)
            session.flush()
        run = RunRecord(
            public_id=f"id-{name}"[:16], project_id=project.id, name=name, created_at=at, updated_at=at
        )
        session.add(run)
        session.flush()
        return run.id


def default_policy(*channels: ChannelPolicy) -> NotificationPolicy:
    """The policy of channels without routes of one's own."""
    return NotificationPolicy(
        root=default_tree(channels), channels={channel.name: channel for channel in channels}
    )


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now: float = 1_700_000_100.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def make_candidate(finding: Finding = SPIKE, fingerprint: str = "", **changes: object) -> IncidentCandidate:
    """A finding as the analysis passes it on, with a fingerprint of its metric and first step."""
    finding = replace(finding, **changes)  # type: ignore[arg-type]
    return IncidentCandidate(
        finding=finding,
        fingerprint=fingerprint or f"{finding.metric}|{finding.start_step}",
        start_time=1_700_000_000.0,
    )

"""A run in a database, and findings about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from holter.server.alerting import IncidentCandidate
from holter.server.models.points import Project, RunRecord
from holter.types import Finding, Kind, Severity
from tests.channels.receivers import certificate, mail_server, slack

__all__ = ["certificate", "mail_server", "slack"]

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


def found(finding: Finding = SPIKE, fingerprint: str = "", **changes: object) -> IncidentCandidate:
    """A finding as the analysis hands it over, recognised by its metric and first step."""
    finding = replace(finding, **changes)  # type: ignore[arg-type]
    return IncidentCandidate(
        finding=finding,
        fingerprint=fingerprint or f"{finding.metric}|{finding.start_step}",
        start_time=1_700_000_000.0,
    )


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


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now: float = 1_700_000_100.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def run_id(engine: Engine) -> int:
    return add_run(engine)


@pytest.fixture
def new_run() -> Callable[..., int]:
    return add_run

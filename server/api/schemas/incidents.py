"""Answers about incidents, and about what is planned."""

from __future__ import annotations

from typing import Any, Literal

from holter.server.api.schemas.base import Severity, Shape

IncidentState = Literal["open", "recovered", "closed"]


class IncidentEvent(Shape):
    """One line of an incident's history. `by` is who did it, null where Holter did."""

    at: float
    type: str
    by: str | None
    text: str
    detail: dict[str, Any]


class Incident(Shape):
    """A finding (docs/findings.md) with its life."""

    id: int
    run_id: str
    run: str
    project: str
    kind: str
    metric: str
    labels: dict[str, str | int]
    attempt: int
    start_step: int
    peak_step: int | None
    end_step: int | None
    detected_step: int
    classified_step: int | None
    severity: Severity
    confidence: float
    summary: str
    advice: str
    evidence: dict[str, Any]
    state: IncidentState
    start_time: float | None
    opened_at: float
    updated_at: float
    recovered_at: float | None
    closed_at: float | None
    acknowledged_at: float | None
    acknowledged_by: str | None
    events: list[IncidentEvent]


class Incidents(Shape):
    """Incidents, the newest first."""

    incidents: list[Incident]


class ExpectedEvent(Shape):
    """An event that is planned. `scope` says who announced it; those of settings have no `id`."""

    id: int | None
    scope: Literal["run", "project", "settings"]
    kinds: list[str]
    what: str | None
    metric: str
    from_step: int
    to_step: int | None
    every: int | None
    lasting: int | None
    note: str
    added_at: float | None
    added_by: str | None


class ExpectedEvents(Shape):
    """Everything that is planned for a run or a project."""

    expected: list[ExpectedEvent]

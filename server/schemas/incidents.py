"""Answers about incidents and about planned events."""

from __future__ import annotations

from typing import Any, Literal

from holter.server.alerting.incident import EventType, IncidentState
from holter.server.schemas.base import ApiObject
from holter.types import Severity

PlannedEventScope = Literal["run", "project", "settings"]


class IncidentHistoryEntry(ApiObject):
    """One entry of an incident's history. `by` is the person who caused it, null where Holter did."""

    at: float
    type: EventType
    by: str | None
    text: str
    detail: dict[str, Any]


class IncidentView(ApiObject):
    """An incident: the newest version of its finding (docs/findings.md), its state and its history."""

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
    id: int
    run_id: str | None
    run: str | None
    project: str | None
    state: IncidentState
    start_time: float | None
    opened_at: float
    updated_at: float
    recovered_at: float | None
    closed_at: float | None
    acknowledged_at: float | None
    acknowledged_by: str | None
    events: list[IncidentHistoryEntry]


class IncidentList(ApiObject):
    """A list of incidents."""

    incidents: list[IncidentView]


class PlannedEventView(ApiObject):
    """A planned event. `scope` says where it is declared; one of holter.toml has no `id`."""

    id: int | None
    scope: PlannedEventScope
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


class PlannedEventList(ApiObject):
    """All planned events of a run or a project."""

    expected: list[PlannedEventView]

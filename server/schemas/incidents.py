"""Answers about incidents and about planned events."""

from __future__ import annotations

from typing import Any, Literal

from holter.server.alerting.incident import EventType, HistoryEntry, Incident, IncidentState
from holter.server.schemas.base import ApiObject
from holter.types import Cause, Severity

PlannedEventScope = Literal["run", "project", "settings"]


class IncidentHistoryEntry(ApiObject):
    """One entry of an incident's history. `by` is the person who caused it, null where Holter did."""

    at: float
    type: EventType
    by: str | None
    text: str
    detail: dict[str, Any]


class CauseView(ApiObject):
    """A probable cause: `sentence` states the change, `score` (0 to 1) is its probability.

    `clear`: summary, advice and title name it first. `metric` and `labels` are the series or the setting that
    changed from `before` to `after` at `step` of `attempt`; `metric` is empty where there is none.
    """

    code: str
    title: str
    sentence: str
    advice: str
    score: float
    clear: bool
    attempt: int
    step: int
    metric: str
    labels: dict[str, str | int]
    before: str | int | float | bool | None
    after: str | int | float | bool | None
    evidence_for: list[str]
    evidence_against: list[str]


class IncidentView(ApiObject):
    """An incident: the newest version of its finding (docs/findings.md), its state and its history.

    `began_at` is the time of its first step; of a log without a clock, when it was opened.
    """

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
    causes: list[CauseView]
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
    assignee: str | None
    began_at: float
    events: list[IncidentHistoryEntry]


def cause_view(cause: Cause) -> CauseView:
    """A cause as the REST interface returns it."""
    return {
        "code": cause.code,
        "title": cause.title,
        "sentence": cause.sentence,
        "advice": cause.advice,
        "score": cause.score,
        "clear": cause.is_clear,
        "attempt": cause.attempt,
        "step": cause.step,
        "metric": cause.metric,
        "labels": cause.json_labels,
        "before": cause.before,
        "after": cause.after,
        "evidence_for": list(cause.evidence_for),
        "evidence_against": list(cause.evidence_against),
    }


def incident_view(incident: Incident) -> IncidentView:
    """An incident as the REST interface and the live stream return it."""
    finding, run = incident.finding, incident.run
    return {
        "kind": finding.kind.value,
        "metric": finding.metric,
        "labels": finding.json_labels,
        "attempt": finding.attempt,
        "start_step": finding.start_step,
        "peak_step": finding.peak_step,
        "end_step": finding.end_step,
        "detected_step": finding.detected_step,
        "classified_step": finding.classified_step,
        "severity": finding.severity,
        "confidence": round(finding.confidence, 3),
        "summary": finding.summary,
        "advice": finding.advice,
        "evidence": dict(finding.evidence),
        "causes": [cause_view(cause) for cause in finding.causes],
        "id": incident.id,
        "run_id": None if run is None else run.public_id,
        "run": None if run is None else run.name,
        "project": None if run is None else run.project,
        "state": incident.state,
        "start_time": incident.start_time,
        "opened_at": incident.opened_at,
        "updated_at": incident.updated_at,
        "recovered_at": incident.recovered_at,
        "closed_at": incident.closed_at,
        "acknowledged_at": incident.acknowledged_at,
        "acknowledged_by": incident.acknowledged_by,
        "assignee": incident.assignee,
        "began_at": incident.began_at,
        "events": [_history_entry(entry) for entry in incident.history],
    }


def _history_entry(entry: HistoryEntry) -> IncidentHistoryEntry:
    return {
        "at": entry.at,
        "type": entry.type,
        "by": entry.by,
        "text": entry.text,
        "detail": dict(entry.detail),
    }


class IncidentList(ApiObject):
    """A list of incidents."""

    incidents: list[IncidentView]


class IncidentCounts(ApiObject):
    """How many incidents match the filters in each state, whatever state was asked for."""

    unacknowledged: int
    open: int
    recovered: int
    closed: int
    all: int


class IncidentPage(ApiObject):
    """One page of incidents. `total`: those that match all filters; `counts`: by state."""

    incidents: list[IncidentView]
    total: int
    counts: IncidentCounts


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


class PlannedEventEntry(PlannedEventView):
    """A planned event with its project, and its run unless it is one of all runs of the project."""

    project: str
    run_id: str | None
    run: str | None


class PlannedEventOverview(ApiObject):
    """The planned events of all projects and runs, the newest first. Those of `holter.toml` come last."""

    expected: list[PlannedEventEntry]

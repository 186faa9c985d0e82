"""Reads what explains an incident: its event, changes of the run, similar incidents of the past."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.attempts.config_diff import list_changes
from holter.detectors.causes.changed_settings import setting_code
from holter.detectors.causes.logged_changes import CauseCode
from holter.detectors.findings import title_of
from holter.detectors.findings.finding_type import in_sentence
from holter.server.alerting import Incident, read_incident, read_incidents
from holter.server.alerting.incident import EventType
from holter.server.alerting.incident_groups import IncidentGroup, group_incidents
from holter.server.alerting.incident_rows import read_incidents_of_run
from holter.server.models import IncidentRow
from holter.server.planned_events import PlannedEvents
from holter.server.schemas.events import (
    ChangeCategory,
    IncidentContext,
    IncidentEvent,
    LinkedIncident,
    RunChange,
    RunEvents,
    SimilarIncident,
)
from holter.server.store import AttemptSummary, Store

SIMILAR_SHOWN = 5
_SIMILAR_EXAMINED = 300
_CHANGES_SHOWN = 40
_SETTINGS_NAMED = 6
_ACTIONS = frozenset({EventType.COMMENT, EventType.CLOSED, EventType.ACKNOWLEDGED})
_CATEGORIES: dict[CauseCode, ChangeCategory] = {
    CauseCode.LEARNING_RATE: "learning_rate",
    CauseCode.BATCH_SIZE: "batch_size",
    CauseCode.SEQUENCE_LENGTH: "batch_size",
    CauseCode.MIXTURE: "mixture",
    CauseCode.RESTART: "restart",
    CauseCode.RESTART_SETTINGS: "restart",
    CauseCode.SLOW_RANK: "hardware",
    CauseCode.SLOW_COLLECTIVES: "hardware",
    CauseCode.GPU_FAULT: "hardware",
}
_HARDWARE_WORDS = ("host", "node", "gpu", "device", "driver", "cuda", "world_size", "nccl")


class IncidentContextReader:
    """Reads the context of incidents and the events of runs. Both are computed on request."""

    def __init__(self, engine: Engine, store: Store, planned_events: PlannedEvents) -> None:
        self._engine = engine
        self._store = store
        self._planned_events = planned_events

    def context(self, incident_id: int) -> IncidentContext:
        """The context of one incident. Raises UnknownIncidentError."""
        with Session(self._engine) as session:
            incident = read_incident(session, incident_id)
            if incident.run is None:
                group = IncidentGroup([incident])
                return {"event": event_view(group), "changes": [], "similar": []}
            incidents = read_incidents_of_run(session, incident.run.number)
            similar = _similar(session, incident)
        group = next(
            group
            for group in group_incidents(incidents)
            if incident_id in {each.id for each in group.incidents}
        )
        begin = group.first.finding
        changes = [
            change
            for change in self._changes(incident.run.number, incidents)
            if (change["attempt"], change["step"]) <= (begin.attempt, begin.start_step)
            or (change["cause"] > 0 and change["step"] <= incident.finding.detected_step)
        ]
        return {"event": event_view(group), "changes": changes[-_CHANGES_SHOWN:], "similar": similar}

    def events(self, run_id: int) -> RunEvents:
        """The events of a run."""
        with Session(self._engine) as session:
            incidents = read_incidents_of_run(session, run_id)
        groups = sorted(
            group_incidents(incidents),
            key=lambda group: (not group.is_open, -group.severity.rank, -group.first.finding.start_step),
        )
        changes = self._changes(run_id, incidents)
        return {"events": [event_view(group) for group in groups], "changes": changes[-_CHANGES_SHOWN:]}

    def _changes(self, run_id: int, incidents: Iterable[Incident]) -> list[RunChange]:
        """Restarts, changed settings, causes of incidents, and planned events, by attempt and step."""
        attempts = self._store.attempts(run_id)
        changes = [*self._restarts(run_id, attempts), *_causes(incidents), *self._planned(run_id, attempts)]
        return sorted(changes, key=lambda change: (change["attempt"], change["step"]))

    def _restarts(self, run_id: int, attempts: Sequence[AttemptSummary]) -> Iterable[RunChange]:
        by_attempt = {
            change["attempt"]: change["settings"] for change in list_changes(self._store.config(run_id))
        }
        for attempt in attempts[1:]:
            settings = by_attempt.get(attempt.number, [])
            text = f"Attempt {attempt.number} began at step {attempt.first_step:,}"
            yield _change("restart", attempt, text)
            for setting in islice(settings, _SETTINGS_NAMED):
                yield _change(_category(setting["name"]), attempt, _setting_text(setting))
            if len(settings) > _SETTINGS_NAMED:
                more = len(settings) - _SETTINGS_NAMED
                yield _change("setting", attempt, f"{more} more settings changed")

    def _planned(self, run_id: int, attempts: Sequence[AttemptSummary]) -> Iterable[RunChange]:
        newest = attempts[-1].number if attempts else 0
        for event in self._planned_events.list_for_run(run_id):
            if event["every"] is not None:
                continue  # a schedule, and no single change
            what = event["what"] or ", ".join(title_of(kind) for kind in event["kinds"][:2])
            note = f": {event['note']}" if event["note"] else ""
            yield {
                "category": "planned",
                "attempt": newest,
                "step": event["from_step"],
                "time": None,
                "text": f"Planned: {in_sentence(what) if what else 'change'}{note}",
                "cause": 0.0,
            }


def event_view(group: IncidentGroup) -> IncidentEvent:
    """An event as the REST interface returns it."""
    return {
        "severity": group.severity,
        "is_open": group.is_open,
        "rollback_step": group.rollback_step,
        "advice": group.advice,
        "incidents": [_linked(incident) for incident in group.incidents],
    }


def _linked(incident: Incident) -> LinkedIncident:
    finding = incident.finding
    return {
        "id": incident.id,
        "kind": finding.kind.value,
        "metric": finding.metric,
        "severity": finding.severity,
        "state": incident.state,
        "summary": finding.summary,
        "attempt": finding.attempt,
        "start_step": finding.start_step,
        "end_step": finding.end_step,
        "classified_step": finding.classified_step,
        "start_time": incident.start_time,
        "opened_at": incident.opened_at,
    }


def _causes(incidents: Iterable[Incident]) -> Iterable[RunChange]:
    """The probable causes of incidents, each once, without restarts."""
    best: dict[tuple[str, int, int], RunChange] = {}
    for incident in incidents:
        for cause in incident.finding.causes:
            category = (
                _CATEGORIES.get(CauseCode(cause.code), "setting") if cause.code in set(CauseCode) else "other"
            )
            change: RunChange = {
                "category": category,
                "attempt": cause.attempt,
                "step": cause.step,
                "time": None,
                "text": cause.sentence,
                "cause": cause.score,
            }
            key = (cause.sentence, cause.attempt, cause.step)
            if key not in best or best[key]["cause"] < cause.score:
                best[key] = change
    return best.values()


def _change(category: ChangeCategory, attempt: AttemptSummary, text: str) -> RunChange:
    return {
        "category": category,
        "attempt": attempt.number,
        "step": attempt.first_step,
        "time": attempt.first_time,
        "text": text,
        "cause": 0.0,
    }


def _category(name: str) -> ChangeCategory:
    code = setting_code(name, of_speed=False)
    if code is not None and code in _CATEGORIES:
        return _CATEGORIES[code]
    return "hardware" if any(word in name.lower() for word in _HARDWARE_WORDS) else "setting"


def _setting_text(setting: dict[str, object]) -> str:
    before = "not stated" if setting["before"] is None else setting["before"]
    return f"{setting['name']}: {before} → {setting['after']}"


def _similar(session: Session, incident: Incident) -> list[SimilarIncident]:
    """Earlier incidents with the same title: first those that people acted on, of the same project, the
    newest."""
    query = (
        select(IncidentRow)
        .where(
            IncidentRow.kind == incident.finding.kind.value,
            IncidentRow.run_id.is_not(None),
            IncidentRow.id != incident.id,
            IncidentRow.opened_at <= incident.opened_at,
        )
        .order_by(IncidentRow.opened_at.desc(), IncidentRow.id.desc())
        .limit(_SIMILAR_EXAMINED)
    )
    title = title_of(incident.finding.kind, incident.finding.metric)
    candidates = [
        each
        for each in read_incidents(session, session.scalars(query).all())
        if title_of(each.finding.kind, each.finding.metric) == title
    ]
    causes = {cause.code for cause in incident.finding.causes if cause.is_clear}

    def closeness(other: Incident) -> tuple[bool, bool, bool, bool]:
        assert other.run is not None
        assert incident.run is not None
        same_cause = bool(causes & {cause.code for cause in other.finding.causes if cause.is_clear})
        same_project = other.run.project == incident.run.project
        return (
            bool(_actions(other)),
            same_cause,
            same_project,
            other.finding.metric == incident.finding.metric,
        )

    ranked = sorted(candidates, key=closeness, reverse=True)
    return [_similar_view(each) for each in ranked[:SIMILAR_SHOWN]]


def _similar_view(incident: Incident) -> SimilarIncident:
    assert incident.run is not None
    finding = incident.finding
    return {
        "id": incident.id,
        "run_id": incident.run.public_id,
        "run": incident.run.name,
        "project": incident.run.project,
        "summary": finding.summary,
        "severity": finding.severity,
        "state": incident.state,
        "start_step": finding.start_step,
        "end_step": finding.end_step,
        "began_at": incident.opened_at if incident.start_time is None else incident.start_time,
        "actions": _actions(incident),
    }


def _actions(incident: Incident) -> list[str]:
    """What people wrote about an incident, the newest last."""
    return [
        f"{entry.by}: {entry.text}"
        for entry in incident.history
        if entry.by is not None and entry.text and entry.type in _ACTIONS
    ][-3:]

"""Runs as the overview and the run page see them: health, latest values, strip, what rollbacks cost."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sqlalchemy import Engine, func, select, update
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session

from holter.attempts.config import newest_settings
from holter.attempts.goodput import Goodput, TimeUse, superseded_steps
from holter.attempts.superseded import AttemptSpan
from holter.server.analysis import STALE_AFTER, RunStatus
from holter.server.database import is_damage
from holter.server.models import (
    AnalysisRow,
    IncidentRow,
    Project,
    RunRecord,
    SeriesRow,
    SummaryRow,
    UnreadableRow,
)
from holter.server.read_models.chart_layout import default_charts
from holter.server.read_models.run_summary import RunFacts, damaged_facts, run_facts, spans_of, time_spent
from holter.server.store import CorruptDataError, SeriesOverview, SeriesSummary, Store
from holter.server.store.cache import LruCache
from holter.server.store.keys import labels_text, parse_series_key
from holter.tuning import Tuning
from holter.types import Labels, SeriesKey, Severity

S = TypeVar("S", SeriesSummary, SeriesOverview)
REMEMBERED_RUNS = 4096
COST_BYTES = 500
SHOWN_UNREADABLE = 20
STRIP_INCIDENTS = 200
_DAMAGED = (CorruptDataError, DatabaseError)


class UnknownRunError(LookupError):
    """There is no run of this id."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunQueryRow:
    """What the database says of a run itself."""

    id: int
    public_id: str
    name: str
    project: str
    created_at: float
    updated_at: float
    finished_at: float | None
    seen_at: float | None
    looked_at: float | None
    generation: int
    revision: int

    @property
    def version(self) -> tuple[int, int]:
        """While it stays, so does what the run's points say."""
        return self.generation, self.revision

    @property
    def analyzed(self) -> bool:
        """Whether the newest look of the analysis saw everything there is, the run's end included."""
        if self.seen_at is None or self.looked_at is None:
            return False
        return self.seen_at == self.updated_at and self.looked_at >= (self.finished_at or 0.0)


class RunReader:
    """Reads runs as JSON (docs/rest.md). Remembers what the points of recent runs say until new ones come."""

    def __init__(
        self,
        engine: Engine,
        store: Store,
        *,
        tuning: Callable[[str], Tuning] = lambda _: Tuning(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine = engine
        self._store = store
        self._tuning = tuning
        self._clock = clock
        self._lock = threading.Lock()
        self._facts: OrderedDict[int, RunFacts] = OrderedDict()
        self._costs = LruCache(REMEMBERED_RUNS * COST_BYTES)

    def runs(
        self, *, project: str | None = None, state: str | None = None, q: str | None = None
    ) -> list[dict[str, Any]]:
        """Every run that fits, the one with the newest points first. `q`: part of its name or project."""
        with Session(self._engine) as session:
            rows = [row for row in _rows(session) if _fits(row, project, q)]
            incidents = _incidents(session, [row.id for row in rows])
        facts = self._facts_of(rows)
        there = [row for row in rows if row.id in facts]
        runs = [self._summary(row, facts[row.id], incidents.get(row.id, [])) for row in there]
        return [run for run in runs if state is None or run["state"] == state]

    def run(self, public_id: str) -> dict[str, Any]:
        """One run with its configuration, charts, and what rollbacks cost. Raises UnknownRunError."""
        run_id = self.run_id(public_id)
        with Session(self._engine) as session:
            (row,) = _rows(session, run_id)
            incidents = _incidents(session, [row.id]).get(row.id, [])
            unreadable = _unreadable(session, row.id)
        facts = self._facts_of([row]).get(row.id)
        if facts is None:
            raise UnknownRunError(f"There is no run {public_id}.")
        series = self.with_roles(row.project, self._store.series(row.id))
        spans = spans_of(self._store.attempts(row.id))
        cost = self._cost(row, series, spans)
        return {
            **self._summary(row, facts, incidents),
            "config": newest_settings(self._store.config(row.id)),
            "lost_steps": sum(superseded_steps(span, spans)[1] for span in spans),
            "lost_seconds": cost and cost.seconds(TimeUse.SUPERSEDED),
            "goodput": cost and cost.share(TimeUse.FORWARD),
            "spent": cost and cost.as_json(),
            "charts": default_charts(series, {one.metric for one in incidents}),
            **unreadable,
        }

    def _cost(self, row: RunQueryRow, series: Sequence[SeriesSummary], spans: Sequence[AttemptSpan]) -> Goodput | None:
        """How a run's time was spent; a whole series is read for it, so it is remembered by version."""
        known = self._costs.get(row.id)
        if known is None or known[0] != row.version:
            known = row.version, time_spent(self._store, row.id, series, spans)
            self._costs.put(row.id, known, COST_BYTES)
        cost: Goodput | None = known[1]
        return cost

    def with_roles(self, project: str, series: Sequence[S]) -> Sequence[S]:
        """These series with the roles that were given for the project."""
        tuning = self._tuning(project)
        return [one._replace(key=tuning.with_role(one.key)) for one in series] if tuning.metrics else series

    def run_id(self, public_id: str) -> int:
        """The store's number of a run. Raises UnknownRunError."""
        found = None
        if public_id.isalnum():  # anything else is no id, and PostgreSQL has no room for a NUL
            with Session(self._engine) as session:
                found = session.scalar(select(RunRecord.id).where(RunRecord.public_id == public_id))
        if found is None:
            raise UnknownRunError(f"There is no run {public_id}.")
        return found

    def version(self, public_id: str) -> tuple[int, tuple[int, int]]:
        """The store's number of a run, and the version of what its logs say. Raises UnknownRunError."""
        run_id = self.run_id(public_id)
        with Session(self._engine) as session:
            for row in _rows(session, run_id):
                return run_id, row.version
        raise UnknownRunError(f"There is no run {public_id}.")

    def keys(self, run_id: int, metrics: Iterable[str], labels: Labels | None = None) -> list[SeriesKey]:
        """A run's series of these metrics, and with these labels if given, in the order of their keys."""
        wanted = [metric for metric in set(metrics) if "\0" not in metric]  # PostgreSQL has no room for it
        query = select(SeriesRow.metric, SeriesRow.labels)
        query = query.where(SeriesRow.run_id == run_id, SeriesRow.metric.in_(wanted))
        if labels is not None:
            query = query.where(SeriesRow.labels == labels_text(labels))
        with Session(self._engine) as session:
            return sorted(parse_series_key(metric, text) for metric, text in session.execute(query))

    def finish(self, public_id: str) -> int:
        """Note that a run has ended; points that come later open it again. Raises UnknownRunError."""
        run_id = self.run_id(public_id)
        with Session(self._engine) as session, session.begin():
            session.execute(update(RunRecord).where(RunRecord.id == run_id).values(finished_at=self._clock()))
        return run_id

    def _summary(self, row: RunQueryRow, facts: RunFacts, incidents: Sequence[IncidentRow]) -> dict[str, Any]:
        open_ones = [incident for incident in incidents if incident.state == "open"]
        worst = max(open_ones, key=lambda one: (Severity(one.severity).rank, one.opened_at), default=None)
        return {
            "id": row.public_id,
            "project": row.project,
            "name": row.name,
            "state": self._state(row, facts, open_ones),
            "created_at": row.created_at,
            "updated_at": row.updated_at,
            "first_time": facts.first_time,
            "last_time": facts.last_time,
            "last_step": facts.last_step,
            "points": facts.points,
            "damaged": facts.damaged,
            "series": facts.series,
            "attempts": len(facts.strip["attempts"]),
            "health": worst.severity if worst else "ok",
            "analyzed": row.analyzed,
            "open_incidents": len(open_ones),
            "worst": _worst(worst) if worst else None,
            "latest": facts.latest,
            "strip": {**facts.strip, "incidents": _marks(incidents)},
        }

    def _state(self, row: RunQueryRow, facts: RunFacts, open_ones: Iterable[IncidentRow]) -> str:
        status = RunStatus(
            created_at=row.created_at,
            updated_at=row.updated_at,
            last_time=facts.last_time,
            finished_at=row.finished_at,
        )
        if row.finished_at is not None and row.finished_at >= row.updated_at:
            return "finished"
        if any(incident.kind == "stall" for incident in open_ones):
            return "stalled"
        # without a point it has only said how it is set up: it may hang before its first step
        begins = not facts.points and not facts.damaged and self._clock() - row.updated_at < STALE_AFTER
        return "running" if begins or status.is_live(self._clock()) else "finished"

    def _facts_of(self, rows: Sequence[RunQueryRow]) -> dict[int, RunFacts]:
        """What the points of runs say, worked out anew where they have changed."""
        with self._lock:
            held = {row.id: self._facts[row.id] for row in rows if row.id in self._facts}
        changed = [row.id for row in rows if row.id not in held or held[row.id].version != row.version]
        # a run that goes away meanwhile is as it was, or as one without points
        projects = {row.id: row.project for row in rows}
        try:
            fresh = self._fresh(changed, projects, held) if changed else {}
        except _DAMAGED as first:  # one damaged run must not hide the others
            _require_damage(first)
            fresh = {}
            for row in (row for row in rows if row.id in changed):
                try:
                    fresh |= self._fresh([row.id], projects, held)
                except _DAMAGED as error:
                    _require_damage(error)
                    fresh[row.id] = damaged_facts(row.version, str(getattr(error, "orig", error)))
        with self._lock:
            self._facts |= fresh
            for row in rows:
                if row.id in self._facts:
                    self._facts.move_to_end(row.id)
            while len(self._facts) > REMEMBERED_RUNS:
                self._facts.popitem(last=False)
        return held | fresh

    def _fresh(
        self, changed: Sequence[int], projects: Mapping[int, str], held: Mapping[int, RunFacts]
    ) -> dict[int, RunFacts]:
        fresh = {}
        for number, glance in self._store.overviews(changed).items():
            known = replace(glance, series=list(self.with_roles(projects[number], glance.series)))
            fresh[number] = run_facts(self._store, number, known, held.get(number))
        return fresh


def _unreadable(session: Session, run_id: int) -> dict[str, Any]:
    mine = select(UnreadableRow).where(UnreadableRow.run_id == run_id)
    newest_settings = session.scalars(mine.order_by(UnreadableRow.id.desc()).limit(SHOWN_UNREADABLE)).all()
    return {
        "unreadable": [
            {"source": one.source, "place": one.place, "reason": one.reason, "seen_at": one.seen_at}
            for one in newest_settings
        ],
        "unreadable_count": session.scalar(select(func.count()).select_from(mine.subquery())) or 0,
    }


def _rows(session: Session, run_id: int | None = None) -> list[RunQueryRow]:
    columns = (RunRecord.id, RunRecord.public_id, RunRecord.name, Project.name.label("project"))
    times = (RunRecord.created_at, RunRecord.updated_at, RunRecord.finished_at, AnalysisRow.seen_at, AnalysisRow.looked_at)
    version = (func.coalesce(SummaryRow.generation, 0).label("generation"), RunRecord.revision)
    query = (
        select(*columns, *times, *version)
        .join(Project, Project.id == RunRecord.project_id)
        .outerjoin(SummaryRow, SummaryRow.run_id == RunRecord.id)
        .outerjoin(AnalysisRow, AnalysisRow.run_id == RunRecord.id)
        .where(RunRecord.deleted_at.is_(None))
    )
    if run_id is not None:
        query = query.where(RunRecord.id == run_id)
    rows = session.execute(query.order_by(RunRecord.updated_at.desc(), RunRecord.id.desc()))
    return [RunQueryRow(**row._mapping) for row in rows]


def _fits(row: RunQueryRow, project: str | None, q: str | None) -> bool:
    said = f"{row.project}/{row.name}".lower()
    return (project is None or row.project == project) and (q is None or q.lower() in said)


def _incidents(session: Session, run_ids: Sequence[int]) -> dict[int, list[IncidentRow]]:
    grouped: dict[int, list[IncidentRow]] = {}
    query = select(IncidentRow).where(IncidentRow.run_id.in_(run_ids)).order_by(IncidentRow.start_step, IncidentRow.id)
    for incident in session.scalars(query):
        if incident.run_id is not None:
            grouped.setdefault(incident.run_id, []).append(incident)
    return grouped


def _worst(incident: IncidentRow) -> dict[str, Any]:
    names = ("id", "kind", "severity", "summary", "start_step", "opened_at")
    return {name: getattr(incident, name) for name in names}


def _marks(incidents: Sequence[IncidentRow]) -> list[dict[str, Any]]:
    """The incidents a strip shows: all, or the gravest and newest where there are very many."""
    gravest = sorted(incidents, key=lambda one: (-Severity(one.severity).rank, -one.start_step))[:STRIP_INCIDENTS]
    names = ("id", "kind", "severity", "state", "attempt", "start_step", "end_step")
    marks = [{name: getattr(one, name) for name in names} for one in gravest]
    return sorted(marks, key=lambda mark: (mark["start_step"], mark["id"]))


def _require_damage(error: Exception) -> None:
    """Raise the error again unless it says that stored bytes are damaged, our own or the database's."""
    if isinstance(error, DatabaseError) and not is_damage(error):
        raise error

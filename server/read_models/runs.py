"""Reads runs for the overview and the run page, as the REST interface returns them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Engine, func, select, update
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session

from holter.attempts.config import newest_settings
from holter.attempts.goodput import Goodput, TimeUse, superseded_steps
from holter.attempts.superseded import AttemptSpan
from holter.detectors.policy_losses import adversarial_terms
from holter.roles import Role
from holter.server.alerting.incident import IncidentState
from holter.server.analysis import RunStatus
from holter.server.client_status import read_save_request
from holter.server.database import is_damage
from holter.server.models import (
    AnalysisRow,
    IncidentRow,
    Project,
    ReferenceRow,
    RunDetailRow,
    RunRecord,
    SeriesRow,
    SummaryRow,
    UnreadableRow,
)
from holter.server.read_models.chart_layout import default_charts, representative_series
from holter.server.read_models.loss_trend import loss_trend
from holter.server.read_models.run_summary import RunFacts, damaged_facts, run_facts, spans_of, time_spent
from holter.server.read_models.time_split import split_time
from holter.server.reference_checks import reference_status
from holter.server.run_details import RunDetails, RunDetailStore
from holter.server.run_sections import section_of
from holter.server.schemas.runs import (
    LossTrend,
    RunDescription,
    RunDetail,
    RunHealth,
    RunInfo,
    RunState,
    StopRequest,
    StripIncident,
    TimeSplit,
    UnreadableLocation,
    WorstIncident,
)
from holter.server.store import CorruptDataError, SeriesOverview, SeriesSummary, Store
from holter.server.store.cache import LruCache
from holter.server.store.keys import labels_text, parse_series_key
from holter.tuning import Tuning
from holter.types import Kind, Labels, SeriesKey, Severity

AnySeries = TypeVar("AnySeries", SeriesSummary, SeriesOverview)
REMEMBERED_RUNS = 4096
"""Runs whose facts and times are cached."""
COST_BYTES = 500
"""Approximate size of a cached Goodput."""
SHOWN_UNREADABLE = 20
NOTE_LENGTH = 200
"""Characters of a run's notes in the overview."""
_MAX_IDS = 500
"""Runs that one statement names."""
STRIP_INCIDENTS = 200
_DAMAGE_ERRORS = (CorruptDataError, DatabaseError)


class UnknownRunError(LookupError):
    """There is no run with this id."""


class RunIdentity(NamedTuple):
    """What names a run, and the version of its data. `id` is the store's, `public_id` that of addresses."""

    id: int
    public_id: str
    project: str
    name: str
    version: tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunQueryRow:
    """A run's columns in the database, with those of its project, summary and analysis."""

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
    display_name: str | None
    group_name: str | None
    note: str | None
    tags: Sequence[str] | None
    starred: bool | None
    pinned_at: float | None
    checks: Mapping[str, Any] | None

    @property
    def version(self) -> tuple[int, int]:
        """Changes whenever the run's points change."""
        return self.generation, self.revision

    @property
    def analyzed(self) -> bool:
        """Whether the newest analysis covered everything, including the end of the run."""
        if self.seen_at is None or self.looked_at is None:
            return False
        return self.seen_at == self.updated_at and self.looked_at >= (self.finished_at or 0.0)


class RunReader:
    """Reads runs. Caches facts about the points of recently read runs until these change."""

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
        self._details = RunDetailStore(engine, clock=clock)
        self._lock = threading.Lock()
        self._facts: OrderedDict[int, RunFacts] = OrderedDict()
        self._costs = LruCache(REMEMBERED_RUNS * COST_BYTES)

    def runs(
        self, *, project: str | None = None, state: RunState | None = None, q: str | None = None
    ) -> list[RunInfo]:
        """All matching runs, the one with the newest points first. `q`: part of its name or project."""
        with Session(self._engine) as session:
            rows = [row for row in _query_rows(session) if _matches(row, project, q)]
        runs = self._infos(rows).values()
        return [run for run in runs if state is None or run["state"] == state]

    def infos(self, run_ids: Sequence[int]) -> dict[int, RunInfo]:
        """Those of these runs that exist, by their ids in the database."""
        with Session(self._engine) as session:
            rows = [row for part in _parts(run_ids) for row in _query_rows(session, part)]
        return self._infos(rows)

    def _infos(self, rows: Sequence[RunQueryRow]) -> dict[int, RunInfo]:
        with Session(self._engine) as session:
            incidents = _incidents_by_run(session, [row.id for row in rows])
        facts = self._facts_of(rows)
        known = [row for row in rows if row.id in facts]
        return {row.id: self._info(row, facts[row.id], incidents.get(row.id, [])) for row in known}

    def run(self, public_id: str) -> RunDetail:
        """One run with its configuration, charts, and the cost of rollbacks. Raises UnknownRunError."""
        run_id = self.run_id(public_id)
        with Session(self._engine) as session:
            (row,) = _query_rows(session, [run_id])
            incidents = _incidents_by_run(session, [row.id]).get(row.id, [])
            unreadable, unreadable_count = _unreadable(session, row.id)
        facts = self._facts_of([row]).get(row.id)
        if facts is None:
            raise UnknownRunError(f"There is no run {public_id}.")
        series = self.with_roles(row.project, self._store.series(row.id))
        spans = spans_of(self._store.attempts(row.id))
        goodput = self._goodput(row, series, spans)
        info = self._info(row, facts, incidents)
        trend = self._trend_of(Role.LOSS, row.id, series)
        spent = None if goodput is None else self._time_split(goodput, info, trend)
        details = self._details.details(row.id)
        return {
            **info,
            "config": newest_settings(self._store.config(row.id)),
            "description": _description(details),
            "stop": _stop_request(details),
            "save": read_save_request(self._details, row.id),
            "lost_steps": sum(superseded_steps(span, spans)[1] for span in spans),
            "lost_seconds": None if goodput is None else goodput.seconds(TimeUse.SUPERSEDED),
            "goodput": None if spent is None else spent["forward"]["share"],
            "spent": spent,
            "loss_trend": trend,
            "reward_trend": self._trend_of(Role.REWARD, row.id, series),
            "charts": default_charts(series, {incident.metric for incident in incidents}),
            "unreadable": unreadable,
            "unreadable_count": unreadable_count,
        }

    def _trend_of(self, role: Role, run_id: int, series: Sequence[SeriesSummary]) -> LossTrend | None:
        key = representative_series(series).get(role)
        found = next((each for each in series if each.key == key), None)
        return None if found is None else loss_trend(self._store, run_id, found)

    def _time_split(self, goodput: Goodput, info: RunInfo, trend: LossTrend | None) -> TimeSplit:
        last_time = info["last_time"]
        broken_since = None
        if trend is not None and trend["nonfinite_since"] is not None:
            broken_since = trend["last_finite_time"]
        broken = 0.0 if broken_since is None or last_time is None else last_time - broken_since
        return split_time(
            goodput,
            stalled_since=last_time if info["state"] == "stalled" else None,
            now=self._clock(),
            nonfinite=broken,
        )

    def _goodput(
        self, row: RunQueryRow, series: Sequence[SeriesSummary], spans: Sequence[AttemptSpan]
    ) -> Goodput | None:
        """How a run's time was used; cached by version, since it takes reading a full series."""
        cached = self._costs.get(row.id)
        if cached is None or cached[0] != row.version:
            cached = row.version, time_spent(self._store, row.id, series, spans)
            self._costs.put(row.id, cached, COST_BYTES)
        goodput: Goodput | None = cached[1]
        return goodput

    def with_roles(self, project: str, series: Sequence[AnySeries]) -> Sequence[AnySeries]:
        """These series with the roles that the project's settings and the other series give them."""
        tuning = self._tuning(project)
        if tuning.metrics:
            series = [each._replace(key=tuning.with_role(each.key)) for each in series]
        terms = adversarial_terms([each.key for each in series])
        return [each._replace(key=terms[each.key]) if each.key in terms else each for each in series]

    def run_id(self, public_id: str) -> int:
        """The store's id of a run. Raises UnknownRunError."""
        run_id = None
        if public_id.isalnum():  # nothing else is an id, and PostgreSQL's text has no NUL
            with Session(self._engine) as session:
                run_id = session.scalar(select(RunRecord.id).where(RunRecord.public_id == public_id))
        if run_id is None:
            raise UnknownRunError(f"There is no run {public_id}.")
        return run_id

    def version(self, public_id: str) -> tuple[int, tuple[int, int]]:
        """The store's id of a run, and the version of its data. Raises UnknownRunError."""
        (run,) = self.identities([public_id])
        return run.id, run.version

    def identities(self, public_ids: Iterable[str]) -> list[RunIdentity]:
        """These runs, each once, in one query. Raises UnknownRunError."""
        wanted = list(dict.fromkeys(public_ids))
        query = (
            select(
                RunRecord.public_id,
                RunRecord.id,
                RunRecord.name,
                Project.name,
                func.coalesce(SummaryRow.generation, 0),
                RunRecord.revision,
            )
            .join(Project, Project.id == RunRecord.project_id)
            .outerjoin(SummaryRow, SummaryRow.run_id == RunRecord.id)
            # nothing else is an id, and PostgreSQL's text has no NUL
            .where(RunRecord.deleted_at.is_(None), RunRecord.public_id.in_(filter(str.isalnum, wanted)))
        )
        with Session(self._engine) as session:
            found = {
                public_id: RunIdentity(run_id, public_id, project, name, (generation, revision))
                for public_id, run_id, name, project, generation, revision in session.execute(query)
            }
        for public_id in wanted:
            if public_id not in found:
                raise UnknownRunError(f"There is no run {public_id}.")
        return [found[public_id] for public_id in wanted]

    def keys(self, run_id: int, metrics: Iterable[str], labels: Labels | None = None) -> list[SeriesKey]:
        """A run's series of these metrics, with exactly these labels if given, sorted by key."""
        names = [metric for metric in set(metrics) if "\0" not in metric]  # PostgreSQL's text has no NUL
        query = select(SeriesRow.metric, SeriesRow.labels)
        query = query.where(SeriesRow.run_id == run_id, SeriesRow.metric.in_(names))
        if labels is not None:
            query = query.where(SeriesRow.labels == labels_text(labels))
        with Session(self._engine) as session:
            return sorted(parse_series_key(metric, text) for metric, text in session.execute(query))

    def finish(self, public_id: str) -> int:
        """Mark a run as finished, until further points arrive. Raises UnknownRunError."""
        run_id = self.run_id(public_id)
        with Session(self._engine) as session, session.begin():
            session.execute(update(RunRecord).where(RunRecord.id == run_id).values(finished_at=self._clock()))
        return run_id

    def _info(self, row: RunQueryRow, facts: RunFacts, incidents: Sequence[IncidentRow]) -> RunInfo:
        open_incidents = [incident for incident in incidents if incident.state == "open"]
        worst = max(
            open_incidents,
            key=lambda incident: (Severity(incident.severity).rank, incident.opened_at),
            default=None,
        )
        state = self._state(row, facts, open_incidents)
        health: RunHealth = Severity(worst.severity) if worst else "ok"
        return {
            "id": row.public_id,
            "project": row.project,
            "name": row.name,
            "state": state,
            "created_at": row.created_at,
            "updated_at": row.updated_at,
            "first_time": facts.first_time,
            "last_time": facts.last_time,
            "last_step": facts.last_step,
            "points": facts.points,
            "damaged": facts.damaged,
            "series": facts.series,
            "attempts": len(facts.attempts),
            "health": health,
            "unjudged": facts.unjudged,
            "analyzed": row.analyzed,
            "open_incidents": len(open_incidents),
            "worst": _worst_incident(worst) if worst else None,
            "latest": facts.latest,
            "strip": {
                "first_step": facts.first_step,
                "last_step": facts.max_step,
                "attempts": facts.attempts,
                "throughput": facts.throughput,
                "incidents": _strip_incidents(incidents),
            },
            "is_reference": row.pinned_at is not None,
            "reference": reference_status(row.checks),
            "section": section_of(state, health, damaged=facts.damaged is not None),
            "display_name": row.display_name,
            "group": row.group_name,
            "note": row.note or "",
            "tags": list(row.tags or ()),
            "starred": bool(row.starred),
            "trend": list(facts.trend),
            "values": {},
        }

    def _state(self, row: RunQueryRow, facts: RunFacts, open_incidents: Iterable[IncidentRow]) -> RunState:
        status = RunStatus(
            created_at=row.created_at,
            updated_at=row.updated_at,
            last_time=facts.last_time,
            finished_at=row.finished_at,
        )
        stalled = any(incident.kind == Kind.STALL for incident in open_incidents)
        has_points = bool(facts.points or facts.damaged)
        return status.state(self._clock(), stalled=stalled, has_points=has_points)

    def _facts_of(self, rows: Sequence[RunQueryRow]) -> dict[int, RunFacts]:
        """The facts about runs by id, computed anew where their points have changed."""
        with self._lock:
            cached = {row.id: self._facts[row.id] for row in rows if row.id in self._facts}
        changed = [row.id for row in rows if row.id not in cached or cached[row.id].version != row.version]
        # a run that is deleted meanwhile keeps its facts, or has none
        projects = {row.id: row.project for row in rows}
        try:
            computed = self._compute(changed, projects, cached) if changed else {}
        except _DAMAGE_ERRORS as first:  # one damaged run must not hide the others
            _require_damage(first)
            computed = {}
            for row in (row for row in rows if row.id in changed):
                try:
                    computed |= self._compute([row.id], projects, cached)
                except _DAMAGE_ERRORS as error:
                    _require_damage(error)
                    computed[row.id] = damaged_facts(row.version, str(getattr(error, "orig", error)))
        with self._lock:
            self._facts |= computed
            for row in rows:
                if row.id in self._facts:
                    self._facts.move_to_end(row.id)
            while len(self._facts) > REMEMBERED_RUNS:
                self._facts.popitem(last=False)
        return cached | computed

    def _compute(
        self, run_ids: Sequence[int], projects: Mapping[int, str], before: Mapping[int, RunFacts]
    ) -> dict[int, RunFacts]:
        facts = {}
        for run_id, overview in self._store.overviews(run_ids).items():
            series = list(self.with_roles(projects[run_id], overview.series))
            facts[run_id] = run_facts(
                self._store, run_id, replace(overview, series=series), before.get(run_id)
            )
        return facts


def _description(details: RunDetails) -> RunDescription:
    return {
        "display_name": details.display_name,
        "notes": details.notes,
        "tags": list(details.tags),
        "group": details.group_name,
        "job_type": details.job_type,
        "parent_run": details.parent_run,
        "reported_state": details.reported_state,
        "exit_code": details.exit_code,
    }


def _stop_request(details: RunDetails) -> StopRequest | None:
    if details.stop_requested_at is None:
        return None
    return {
        "requested_at": details.stop_requested_at,
        "by": details.stop_requested_by,
        "reason": details.stop_reason,
        "stopped_at": details.stopped_at,
    }


def _unreadable(session: Session, run_id: int) -> tuple[list[UnreadableLocation], int]:
    """The newest unreadable locations of a run's logs, and the number of all."""
    query = select(UnreadableRow).where(UnreadableRow.run_id == run_id)
    newest = session.scalars(query.order_by(UnreadableRow.id.desc()).limit(SHOWN_UNREADABLE)).all()
    locations: list[UnreadableLocation] = [
        {"source": row.source, "place": row.place, "reason": row.reason, "seen_at": row.seen_at}
        for row in newest
    ]
    return locations, session.scalar(select(func.count()).select_from(query.subquery())) or 0


def _parts(run_ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (run_ids[start : start + _MAX_IDS] for start in range(0, len(run_ids), _MAX_IDS))


def _query_rows(session: Session, run_ids: Sequence[int] | None = None) -> list[RunQueryRow]:
    columns = (RunRecord.id, RunRecord.public_id, RunRecord.name, Project.name.label("project"))
    run_times = (RunRecord.created_at, RunRecord.updated_at, RunRecord.finished_at)
    analysis_times = (AnalysisRow.seen_at, AnalysisRow.looked_at)
    version = (func.coalesce(SummaryRow.generation, 0).label("generation"), RunRecord.revision)
    details = (
        RunDetailRow.display_name,
        RunDetailRow.group_name,
        func.substr(RunDetailRow.notes, 1, NOTE_LENGTH).label("note"),
        RunDetailRow.tags,
        RunDetailRow.starred,
    )
    reference = (ReferenceRow.pinned_at, ReferenceRow.checks)
    query = (
        select(*columns, *run_times, *analysis_times, *version, *details, *reference)
        .join(Project, Project.id == RunRecord.project_id)
        .outerjoin(SummaryRow, SummaryRow.run_id == RunRecord.id)
        .outerjoin(AnalysisRow, AnalysisRow.run_id == RunRecord.id)
        .outerjoin(RunDetailRow, RunDetailRow.run_id == RunRecord.id)
        .outerjoin(ReferenceRow, ReferenceRow.run_id == RunRecord.id)
        .where(RunRecord.deleted_at.is_(None))
    )
    if run_ids is not None:
        query = query.where(RunRecord.id.in_(run_ids))
    rows = session.execute(query.order_by(RunRecord.updated_at.desc(), RunRecord.id.desc()))
    return [RunQueryRow(**row._mapping) for row in rows]


def _matches(row: RunQueryRow, project: str | None, q: str | None) -> bool:
    text = f"{row.project}/{row.name}".lower()
    return (project is None or row.project == project) and (q is None or q.lower() in text)


def _incidents_by_run(session: Session, run_ids: Sequence[int]) -> dict[int, list[IncidentRow]]:
    incidents: dict[int, list[IncidentRow]] = {}
    query = select(IncidentRow).order_by(IncidentRow.start_step, IncidentRow.id)
    for part in _parts(run_ids):
        for incident in session.scalars(query.where(IncidentRow.run_id.in_(part))):
            if incident.run_id is not None:
                incidents.setdefault(incident.run_id, []).append(incident)
    return incidents


def _worst_incident(incident: IncidentRow) -> WorstIncident:
    return {
        "id": incident.id,
        "kind": incident.kind,
        "metric": incident.metric,
        "severity": Severity(incident.severity),
        "summary": incident.summary,
        "start_step": incident.start_step,
        "opened_at": incident.opened_at,
    }


def _strip_incidents(incidents: Sequence[IncidentRow]) -> list[StripIncident]:
    """The incidents on a strip: all, or the most severe and newest where there are very many."""

    def importance(incident: IncidentRow) -> tuple[int, int]:
        return Severity(incident.severity).rank, incident.start_step

    shown = sorted(incidents, key=importance, reverse=True)[:STRIP_INCIDENTS]
    return [
        {
            "id": incident.id,
            "kind": incident.kind,
            "metric": incident.metric,
            "severity": Severity(incident.severity),
            "state": IncidentState(incident.state),
            "attempt": incident.attempt,
            "start_step": incident.start_step,
            "end_step": incident.end_step,
        }
        for incident in sorted(shown, key=lambda incident: (incident.start_step, incident.id))
    ]


def _require_damage(error: Exception) -> None:
    """Raise the error again unless it reports damaged data, of the store or of the database."""
    if isinstance(error, DatabaseError) and not is_damage(error):
        raise error

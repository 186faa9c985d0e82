"""An index of all runs in memory: what filters, orders and the heading read, updated run by run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, Engine, and_, func, select

from holter.detectors.findings import title_of
from holter.server.analysis import RunStatus
from holter.server.database import reading
from holter.server.models import (
    AnalysisRow,
    Attempt,
    IncidentRow,
    Project,
    RunAttributeRow,
    RunDetailRow,
    RunRecord,
    SummaryRow,
)
from holter.server.read_models.runs import NOTE_LENGTH
from holter.server.run_details import TAG_ATTRIBUTE, tag_text
from holter.server.run_sections import section_of
from holter.server.schemas.runs import RunHealth, RunSection, RunState
from holter.types import Kind, Severity

_MAX_IDS = 500
"""Runs that one statement names; of more runs, everything is read."""
_CLOCK_STEPS = 10**12
"""Steps above are wall times in milliseconds, which series without training steps have."""


class RunVersion(NamedTuple):
    """Changes whenever anything about a run changes that the index has read."""

    generation: int
    revision: int
    stated: int
    updated_at: float
    finished_at: float | None
    analyzed: bool
    details: int
    incidents: int
    incidents_at: float


class OpenIncident(NamedTuple):
    """One incident of a run, as far as filters read it."""

    kind: str
    severity: str
    state: str
    acknowledged: bool


class Progress(NamedTuple):
    """A run's attempts, all together: times in Unix seconds, None without a clock."""

    attempts: int = 0
    points: int = 0
    last_step: int | None = None
    first_time: float | None = None
    last_time: float | None = None


NO_PROGRESS = Progress()


class IndexedRun(NamedTuple):
    """One run; a tuple, since ten thousand are made at once. `changed`: the revision of the index at which it
    changed last.
    """

    id: int
    public_id: str
    name: str
    project: str
    created_at: float
    version: RunVersion
    progress: Progress = NO_PROGRESS
    display_name: str = ""
    group: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    starred: bool = False
    incidents: tuple[OpenIncident, ...] = ()
    damaged: bool = False
    state: RunState = "finished"
    health: RunHealth = "ok"
    text: str = ""
    changed: int = 0

    @property
    def last_update(self) -> float:
        """The time of the newest point, else of the newest arrival."""
        return self.version.updated_at if self.progress.last_time is None else self.progress.last_time

    @property
    def section(self) -> RunSection:
        """Where the run is listed."""
        return section_of(self.state, self.health, damaged=self.damaged)


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexSnapshot:
    """All runs at one time, the newest first. `revision` names the state of the index; `runs` [n]."""

    instance: str
    revision: int
    runs: Sequence[IndexedRun]


@dataclass(slots=True)
class _Pending:
    """What has changed since the last update: these runs, or everything."""

    runs: set[str] = field(default_factory=set)
    everything: bool = True


class RunIndex:
    """The index of all runs. Threads may share it.

    A snapshot is at most `max_age` seconds older than the database; changes that `notice` was called for are
    always in it. Only what has changed is read again, found by the versions of all runs.
    """

    def __init__(
        self, engine: Engine, *, clock: Callable[[], float] = time.time, max_age: float = 0.0
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._max_age = max_age
        self._lock = threading.Lock()
        self._runs: dict[int, IndexedRun] = {}
        self._noticing = threading.Lock()
        self._pending = _Pending()
        self._read_at = float("-inf")
        self._snapshot = IndexSnapshot(instance=uuid4().hex[:8], revision=0, runs=())

    def notice(self, public_id: str | None) -> None:
        """A run has changed (None: any): the next snapshot reads it again. Fast, from any thread."""
        with self._noticing:
            if public_id is None:
                self._pending.everything = True
            else:
                self._pending.runs.add(public_id)

    def set_damaged(self, run_id: int, damaged: bool) -> bool:
        """Record whether a run's points are damaged, which only those who read them notice; returns whether
        that is new.
        """
        with self._lock:
            run = self._runs.get(run_id)
            if run is None or run.damaged == damaged:
                return False
            revision = self._snapshot.revision + 1
            self._runs[run_id] = run._replace(damaged=damaged, changed=revision)
            self._store_snapshot(revision)
            return True

    def snapshot(self, *, fresh: bool = False) -> IndexSnapshot:
        """All runs as they are now; `fresh`: of this moment. Blocks on the database where it must be read."""
        with self._lock:
            age = time.monotonic() - self._read_at
            with self._noticing:
                pending, self._pending = self._pending, _Pending(everything=False)
            try:
                if fresh or pending.everything or age >= self._max_age or len(pending.runs) > _MAX_IDS:
                    began = time.monotonic()
                    self._update(None)
                    self._read_at = began
                elif pending.runs:
                    self._update(pending.runs)
            except BaseException:
                self.notice(None)
                raise
            return self._snapshot

    def _update(self, public_ids: Collection[str] | None) -> None:
        now = self._clock()
        with reading(self._engine) as connection:
            rows = {row.id: row for row in _versions(connection, public_ids)}
            changed = [row for row in rows.values() if self._is_changed(row)]
            updated = _read(connection, changed, self._runs, full=len(changed) > _MAX_IDS)
        gone = (
            self._runs.keys() - rows.keys()
            if public_ids is None
            else [run.id for run in self._runs.values() if run.public_id in public_ids and run.id not in rows]
        )
        removed = set(gone)
        runs = {number: run for number, run in self._runs.items() if number not in removed} | updated
        revision = self._snapshot.revision + 1
        moved = {
            number: run._replace(state=state, changed=revision)
            for number, run in runs.items()
            if (state := run_state(run, now)) != run.state or number in updated
        }
        if not moved and not gone:
            return
        self._runs = runs | moved
        self._store_snapshot(revision)

    def _store_snapshot(self, revision: int) -> None:
        ordered = sorted(self._runs.values(), key=lambda run: (-run.version.updated_at, -run.id))
        self._snapshot = replace(self._snapshot, revision=revision, runs=ordered)

    def _is_changed(self, row: _VersionRow) -> bool:
        known = self._runs.get(row.id)
        return known is None or known.version != row.version or known.name != row.name


def run_state(run: IndexedRun, now: float) -> RunState:
    """Whether a run is running, has stalled, or is over."""
    stalled = any(incident.kind == Kind.STALL and incident.state == "open" for incident in run.incidents)
    status = RunStatus(
        created_at=run.created_at,
        updated_at=run.version.updated_at,
        last_time=run.progress.last_time,
        finished_at=run.version.finished_at,
    )
    return status.state(now, stalled=stalled, has_points=run.progress.points > 0)


class _VersionRow(NamedTuple):
    id: int
    public_id: str
    name: str
    project: str
    created_at: float
    version: RunVersion


def _versions(connection: Connection, public_ids: Collection[str] | None) -> Iterator[_VersionRow]:
    incidents = (
        select(IncidentRow.run_id, func.count().label("count"), func.max(IncidentRow.updated_at).label("at"))
        .where(IncidentRow.run_id.is_not(None))
        .group_by(IncidentRow.run_id)
        .subquery()
    )
    analyzed = and_(
        AnalysisRow.seen_at == RunRecord.updated_at,
        AnalysisRow.looked_at >= func.coalesce(RunRecord.finished_at, 0.0),
    )
    query = (
        select(
            RunRecord.id,
            RunRecord.public_id,
            RunRecord.name,
            Project.name,
            RunRecord.created_at,
            func.coalesce(SummaryRow.generation, 0),
            RunRecord.revision,
            RunRecord.stated,
            RunRecord.updated_at,
            RunRecord.finished_at,
            func.coalesce(analyzed, False),
            func.coalesce(RunDetailRow.revision, -1),
            func.coalesce(incidents.c.count, 0),
            func.coalesce(incidents.c.at, 0.0),
        )
        .join(Project, Project.id == RunRecord.project_id)
        .outerjoin(SummaryRow, SummaryRow.run_id == RunRecord.id)
        .outerjoin(AnalysisRow, AnalysisRow.run_id == RunRecord.id)
        .outerjoin(RunDetailRow, RunDetailRow.run_id == RunRecord.id)
        .outerjoin(incidents, incidents.c.run_id == RunRecord.id)
        .where(RunRecord.deleted_at.is_(None))
    )
    if public_ids is not None:
        query = query.where(RunRecord.public_id.in_(public_ids))
    for row in connection.execute(query):
        yield _VersionRow(*row[:5], RunVersion._make(row[5:]))


def _read(
    connection: Connection, rows: Sequence[_VersionRow], known: Mapping[int, IndexedRun], *, full: bool
) -> dict[int, IndexedRun]:
    """The changed runs, of which only what has changed is read; `full`: read the tables entirely."""
    if not rows:
        return {}

    def stale(*fields: str) -> list[int]:
        values = attrgetter(*fields)
        return [
            row.id
            for row in rows
            if (before := known.get(row.id)) is None or values(before.version) != values(row.version)
        ]

    progress = _progress(connection, stale("revision"), full=full)
    details = _details(connection, stale("details"), full=full)
    incidents = _incidents(connection, stale("incidents", "incidents_at"), full=full)
    return {
        row.id: _indexed_run(
            row, known.get(row.id), progress.get(row.id), details.get(row.id), incidents.get(row.id)
        )
        for row in rows
    }


def _indexed_run(
    row: _VersionRow,
    before: IndexedRun | None,
    progress: Progress | None,
    details: _Details | None,
    incidents: tuple[OpenIncident, ...] | None,
) -> IndexedRun:
    """A run as it was `before`, with what was read again; its state is still to be found."""
    if before is None:
        before = IndexedRun(*row)
    if incidents is None:
        incidents = before.incidents if row.version.incidents else ()
    if details is None:
        details = _Details(before.display_name, before.group, before.note, before.tags, before.starred)
    return before._replace(
        **row._asdict(),
        progress=progress or before.progress,
        **details._asdict(),
        incidents=incidents,
        health=_health(incidents),
        text=_text(row, details, incidents),
    )


def _of_runs(
    query: Any, column: Any, run_ids: Sequence[int], connection: Connection, *, full: bool
) -> Iterator[Any]:
    if full:
        yield from connection.execute(query)
        return
    for start in range(0, len(run_ids), _MAX_IDS):
        yield from connection.execute(query.where(column.in_(run_ids[start : start + _MAX_IDS])))


def _progress(connection: Connection, run_ids: Sequence[int], *, full: bool) -> dict[int, Progress]:
    columns = (Attempt.run_id, Attempt.last_step, Attempt.first_time, Attempt.last_time, Attempt.points)
    query = select(*columns).order_by(Attempt.run_id, Attempt.number)
    progress: dict[int, Progress] = {}
    for run_id, last_step, first_time, last_time, points in _of_runs(
        query, Attempt.run_id, run_ids, connection, full=full
    ):
        before = progress.get(run_id, Progress())
        progress[run_id] = Progress(
            attempts=before.attempts + 1,
            points=before.points + points,
            last_step=None if last_step >= _CLOCK_STEPS else last_step,
            first_time=_extreme(min, before.first_time, first_time),
            last_time=_extreme(max, before.last_time, last_time),
        )
    return progress


def _extreme(choose: Callable[[Iterable[float]], float], *times: float | None) -> float | None:
    known = [time for time in times if time is not None]
    return choose(known) if known else None


class _Details(NamedTuple):
    display_name: str = ""
    group: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    starred: bool = False


def _details(connection: Connection, run_ids: Sequence[int], *, full: bool) -> dict[int, _Details]:
    columns = (
        RunDetailRow.run_id, RunDetailRow.display_name, RunDetailRow.group_name,
        func.substr(RunDetailRow.notes, 1, NOTE_LENGTH), RunDetailRow.tags, RunDetailRow.starred,
    )  # fmt: skip
    found: dict[int, _Details] = {}
    for row in _of_runs(select(*columns), RunDetailRow.run_id, run_ids, connection, full=full):
        run_id, display_name, group, note, tags, starred = row
        found[run_id] = _Details(display_name or "", group or "", note or "", tuple(tags), bool(starred))
    attributes = select(RunAttributeRow.run_id, RunAttributeRow.name, RunAttributeRow.value)
    attributes = attributes.where(
        RunAttributeRow.name.startswith(TAG_ATTRIBUTE, autoescape=True),
        ~RunAttributeRow.name.startswith(f"{TAG_ATTRIBUTE}mlflow.", autoescape=True),
    ).order_by(RunAttributeRow.run_id, RunAttributeRow.name)
    for run_id, name, value in _of_runs(attributes, RunAttributeRow.run_id, run_ids, connection, full=full):
        if run_id in found:
            tags = (*found[run_id].tags, tag_text(name, value))
            found[run_id] = found[run_id]._replace(tags=tags)
    return found


def _incidents(
    connection: Connection, run_ids: Sequence[int], *, full: bool
) -> dict[int, tuple[OpenIncident, ...]]:
    columns = (
        IncidentRow.run_id, IncidentRow.kind, IncidentRow.severity, IncidentRow.state,
        IncidentRow.acknowledged_at.is_not(None),
    )  # fmt: skip
    query = select(*columns).where(IncidentRow.run_id.is_not(None)).order_by(IncidentRow.run_id)
    found: dict[int, list[OpenIncident]] = {}
    for run_id, *values in _of_runs(query, IncidentRow.run_id, run_ids, connection, full=full):
        found.setdefault(run_id, []).append(OpenIncident(*values))
    return {run_id: tuple(incidents) for run_id, incidents in found.items()}


def _health(incidents: Iterable[OpenIncident]) -> RunHealth:
    severities = [Severity(incident.severity) for incident in incidents if incident.state == "open"]
    if not severities:
        return "ok"
    worst: Severity = max(severities, key=lambda severity: severity.rank)
    return worst


def _text(row: _VersionRow, details: _Details, incidents: Iterable[OpenIncident]) -> str:
    """What free text is searched in, in lower case."""
    titles = [_kind_text(kind) for kind in sorted({incident.kind for incident in incidents})]
    described = (details.display_name, details.group, details.note, *details.tags)
    parts = (f"{row.project}/{row.name}", row.public_id, *described, *titles)
    return "\n".join(part for part in parts if part).lower()


@cache
def _kind_text(kind: str) -> str:
    return f"{kind} {title_of(Kind(kind))}"

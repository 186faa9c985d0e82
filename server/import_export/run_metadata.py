"""What a run is besides its points: its name, configuration, attempts and incidents, as JSON and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from holter.server.import_export.validation import NOT_OURS
from holter.server.maintenance.deletion import DELETED_WITH_NAME, run_tables
from holter.server.models import (
    AnalysisRow,
    Attempt,
    Base,
    Chunk,
    ConfigRow,
    DownsamplingRow,
    IncidentEventRow,
    IncidentRow,
    PlannedEventRow,
    Project,
    RunRecord,
    SeriesRow,
)
from holter.server.store.cache import LruCache
from holter.server.store.compaction.summary import rebuild_summary
from holter.server.store.keys import labels_text
from holter.server.store.run_config import read_config

_RUN = ("public_id", "name", "created_at", "updated_at", "finished_at", "attempt_state")


def describe(connection: Connection, run_id: int, *, incidents: bool = True) -> dict[str, Any]:
    """Everything that is known of a run but its points; JSON-able."""
    query = select(Project.name.label("project"), *(getattr(RunRecord, name) for name in _RUN))
    run = connection.execute(query.join(Project).where(RunRecord.id == run_id)).one()
    seen = select(AnalysisRow.seen_at).where(AnalysisRow.run_id == run_id, AnalysisRow.error.is_(None))
    told = incidents and connection.scalar(seen) == run.updated_at
    return {
        **run._mapping,
        "config": _config(connection, run_id),
        "attempts": sorted(_rows(connection, Attempt, run_id), key=lambda one: one["number"]),
        "thinning": next(iter(_rows(connection, DownsamplingRow, run_id)), None),
        "thinned_series": _thinned(connection, run_id),
        "expected": _rows(connection, PlannedEventRow, run_id),
        "analyzed": told,
        "incidents": _incidents(connection, run_id) if told else [],
    }


def restore(connection: Connection, run_id: int, about: Mapping[str, Any], now: float) -> None:
    """Make a run say what `describe` said of another one, checked (`claims`); its points are there, and
    compacted.

    Incidents come as they were, and nobody looks again before new points arrive.
    """
    columns = (RunRecord.project_id, RunRecord.updated_at, RunRecord.revision, RunRecord.stated)
    run = connection.execute(select(*columns).where(RunRecord.id == run_id)).one()
    ours = {name: about[name] for name in ("attempt_state", "finished_at")}
    ours |= {"revision": run.revision + 1, "stated": run.stated + 1}
    connection.execute(update(RunRecord).where(RunRecord.id == run_id).values(**ours))
    if about.get("partial"):  # only some of its series: what these say of their attempts is right for them
        for attempt in about["attempts"]:
            mine = (Attempt.run_id == run_id, Attempt.number == attempt["number"])
            connection.execute(update(Attempt).where(*mine).values(name=attempt["name"]))
    else:
        _replace(connection, Attempt, run_id, about["attempts"])
    _replace(connection, ConfigRow, run_id, about["config"])
    planned = [{**event, "project_id": run.project_id} for event in about.get("expected", [])]
    _replace(connection, PlannedEventRow, run_id, planned)
    if about["thinning"] is not None:
        _replace(connection, DownsamplingRow, run_id, [{**about["thinning"], "revision": run.revision + 1}])
    for one in about["thinned_series"]:
        _say_thinned(connection, run_id, **one)
    if about["thinned_series"]:
        rebuild_summary(connection, run_id)
    if about["analyzed"]:
        look = {"seen_at": run.updated_at, "looked_at": now, "cost": 0.0, "error": None}
        _replace(connection, AnalysisRow, run_id, [look])
        _forget_incidents(connection, run_id)
        for incident in about["incidents"]:
            _add_incident(connection, run_id, incident)


def _rows(connection: Connection, model: type[Base], run_id: int) -> list[dict[str, Any]]:
    table = model.__table__
    assert isinstance(table, Table)
    columns = [column for column in table.columns if column.name not in NOT_OURS]
    query = select(*columns).where(table.c.run_id == run_id)
    return [dict(row._mapping) for row in connection.execute(query)]


def _replace(
    connection: Connection, model: type[Base], run_id: int, rows: Sequence[Mapping[str, Any]]
) -> None:
    table = model.__table__
    assert isinstance(table, Table)
    connection.execute(delete(table).where(table.c.run_id == run_id))
    if rows:
        connection.execute(insert(table), [{**row, "run_id": run_id} for row in rows])


def _config(connection: Connection, run_id: int) -> list[dict[str, Any]]:
    """What is said of the launches, with what still waits for a row: nobody else can settle that."""
    return [
        {
            "attempt": attempt,
            "name": key.name,
            "labels": labels_text(key.labels),
            "value": json.dumps(value, ensure_ascii=False),
        }
        for key, values in read_config(connection, run_id, LruCache(0)).items()
        for attempt, value in values.items()
    ]


def _thinned(connection: Connection, run_id: int) -> list[dict[str, Any]]:
    """How many points are gone of which series."""
    gone = func.sum(Chunk.logged - Chunk.points)
    query = select(SeriesRow.metric, SeriesRow.labels, gone.label("gone")).join(Chunk)
    query = query.where(SeriesRow.run_id == run_id).group_by(SeriesRow.id).having(gone > 0)
    return [
        {"metric": row.metric, "labels": row.labels, "gone": int(row.gone)}
        for row in connection.execute(query)
    ]


def _say_thinned(connection: Connection, run_id: int, metric: str, labels: str, gone: int) -> None:
    mine = select(func.min(Chunk.id)).join(SeriesRow)
    mine = mine.where(SeriesRow.run_id == run_id, SeriesRow.metric == metric, SeriesRow.labels == labels)
    first = connection.scalar(mine)
    connection.execute(update(Chunk).where(Chunk.id == first).values(logged=Chunk.logged + gone))


def _incidents(connection: Connection, run_id: int) -> list[dict[str, Any]]:
    events: dict[int, list[dict[str, Any]]] = {}
    query = select(IncidentEventRow.__table__).join(IncidentRow).where(IncidentRow.run_id == run_id)
    for row in connection.execute(query.order_by(IncidentEventRow.id)):
        events.setdefault(row.incident_id, []).append(_without_numbers(row._asdict()))
    rows = connection.execute(
        select(IncidentRow.__table__).where(IncidentRow.run_id == run_id).order_by(IncidentRow.id)
    )
    return [_without_numbers(row._asdict()) | {"events": events.get(row.id, [])} for row in rows]


def _without_numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in NOT_OURS}


def _add_incident(connection: Connection, run_id: int, incident: Mapping[str, Any]) -> None:
    row = {name: value for name, value in incident.items() if name != "events"}
    number = connection.scalar(insert(IncidentRow).values(**row, run_id=run_id).returning(IncidentRow.id))
    if incident["events"]:
        events = [{**event, "incident_id": number} for event in incident["events"]]
        connection.execute(insert(IncidentEventRow), events)


def _forget_incidents(connection: Connection, run_id: int) -> None:
    """What was found while only some of its points were there, by a server that was stopped meanwhile."""
    for table, whose in run_tables(run_id):
        if table.name in DELETED_WITH_NAME and table.name != AnalysisRow.__tablename__:
            connection.execute(delete(table).where(whose))

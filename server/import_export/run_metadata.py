"""The metadata of a run (name, configuration, attempts, incidents) as JSON, exported and restored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from holter.server.import_export.validation import DATABASE_COLUMNS
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
    RunAttributeRow,
    RunDetailRow,
    RunRecord,
    SeriesRow,
)
from holter.server.store.cache import LruCache
from holter.server.store.compaction.summary import rebuild_summary
from holter.server.store.keys import labels_text
from holter.server.store.run_config import read_config

_RUN = ("public_id", "name", "created_at", "updated_at", "finished_at", "attempt_state")


def export_metadata(connection: Connection, run_id: int, *, incidents: bool = True) -> dict[str, Any]:
    """Return everything about a run except its points, as JSON values."""
    query = select(Project.name.label("project"), *(getattr(RunRecord, name) for name in _RUN))
    run = connection.execute(query.join(Project).where(RunRecord.id == run_id)).one()
    seen = select(AnalysisRow.seen_at).where(AnalysisRow.run_id == run_id, AnalysisRow.error.is_(None))
    is_analysed = incidents and connection.scalar(seen) == run.updated_at
    return {
        **run._mapping,
        "config": _config(connection, run_id),
        "attempts": sorted(_rows(connection, Attempt, run_id), key=lambda attempt: attempt["number"]),
        "thinning": next(iter(_rows(connection, DownsamplingRow, run_id)), None),
        "thinned_series": _downsampled_series(connection, run_id),
        "expected": _rows(connection, PlannedEventRow, run_id),
        "details": next(iter(_rows(connection, RunDetailRow, run_id)), None),
        "attributes": sorted(_rows(connection, RunAttributeRow, run_id), key=lambda row: row["name"]),
        "analyzed": is_analysed,
        "incidents": _incidents(connection, run_id) if is_analysed else [],
    }


def restore_metadata(connection: Connection, run_id: int, metadata: Mapping[str, Any], now: float) -> None:
    """Restore validated metadata of an exported run; its points are stored and compacted already.

    Incidents are restored as they were, and detection does not run before new points arrive.
    """
    columns = (RunRecord.project_id, RunRecord.updated_at, RunRecord.revision, RunRecord.stated)
    run = connection.execute(select(*columns).where(RunRecord.id == run_id)).one()
    values = {name: metadata[name] for name in ("attempt_state", "finished_at")}
    values |= {"revision": run.revision + 1, "stated": run.stated + 1}
    connection.execute(update(RunRecord).where(RunRecord.id == run_id).values(**values))
    if metadata.get("partial"):  # a partial export: attempts are those of the exported series
        for attempt in metadata["attempts"]:
            condition = (Attempt.run_id == run_id, Attempt.number == attempt["number"])
            connection.execute(update(Attempt).where(*condition).values(name=attempt["name"]))
    else:
        _replace(connection, Attempt, run_id, metadata["attempts"])
    _replace(connection, ConfigRow, run_id, metadata["config"])
    _replace(connection, RunDetailRow, run_id, [metadata["details"]] if metadata["details"] else [])
    _replace(connection, RunAttributeRow, run_id, metadata["attributes"])
    planned_events = [{**event, "project_id": run.project_id} for event in metadata.get("expected", [])]
    _replace(connection, PlannedEventRow, run_id, planned_events)
    if metadata["thinning"] is not None:
        _replace(
            connection, DownsamplingRow, run_id, [{**metadata["thinning"], "revision": run.revision + 1}]
        )
    for series in metadata["thinned_series"]:
        _add_removed_points(connection, run_id, **series)
    if metadata["thinned_series"]:
        rebuild_summary(connection, run_id)
    if metadata["analyzed"]:
        analysis = {"seen_at": run.updated_at, "looked_at": now, "cost": 0.0, "error": None}
        _replace(connection, AnalysisRow, run_id, [analysis])
        _delete_incidents(connection, run_id)
        for incident in metadata["incidents"]:
            _add_incident(connection, run_id, incident)


def _rows(connection: Connection, model: type[Base], run_id: int) -> list[dict[str, Any]]:
    table = model.__table__
    assert isinstance(table, Table)
    columns = [column for column in table.columns if column.name not in DATABASE_COLUMNS]
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
    """Return the launch configuration including pending settings, which no other database can settle."""
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


def _downsampled_series(connection: Connection, run_id: int) -> list[dict[str, Any]]:
    """Return how many points of each series were removed by downsampling."""
    removed = func.sum(Chunk.logged - Chunk.points)
    query = select(SeriesRow.metric, SeriesRow.labels, removed.label("gone")).join(Chunk)
    query = query.where(SeriesRow.run_id == run_id).group_by(SeriesRow.id).having(removed > 0)
    return [
        {"metric": row.metric, "labels": row.labels, "gone": int(row.gone)}
        for row in connection.execute(query)
    ]


def _add_removed_points(connection: Connection, run_id: int, metric: str, labels: str, gone: int) -> None:
    query = select(func.min(Chunk.id)).join(SeriesRow)
    query = query.where(SeriesRow.run_id == run_id, SeriesRow.metric == metric, SeriesRow.labels == labels)
    first = connection.scalar(query)
    connection.execute(update(Chunk).where(Chunk.id == first).values(logged=Chunk.logged + gone))


def _incidents(connection: Connection, run_id: int) -> list[dict[str, Any]]:
    events: dict[int, list[dict[str, Any]]] = {}
    query = select(IncidentEventRow.__table__).join(IncidentRow).where(IncidentRow.run_id == run_id)
    for row in connection.execute(query.order_by(IncidentEventRow.id)):
        events.setdefault(row.incident_id, []).append(_without_ids(row._asdict()))
    rows = connection.execute(
        select(IncidentRow.__table__).where(IncidentRow.run_id == run_id).order_by(IncidentRow.id)
    )
    return [_without_ids(row._asdict()) | {"events": events.get(row.id, [])} for row in rows]


def _without_ids(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in DATABASE_COLUMNS}


def _add_incident(connection: Connection, run_id: int, incident: Mapping[str, Any]) -> None:
    row = {name: value for name, value in incident.items() if name != "events"}
    incident_id = connection.scalar(
        insert(IncidentRow).values(**row, run_id=run_id).returning(IncidentRow.id)
    )
    if incident["events"]:
        events = [{**event, "incident_id": incident_id} for event in incident["events"]]
        connection.execute(insert(IncidentEventRow), events)


def _delete_incidents(connection: Connection, run_id: int) -> None:
    """Delete findings about the incomplete run, from a server that was stopped meanwhile."""
    for table, condition in run_tables(run_id):
        if table.name in DELETED_WITH_NAME and table.name != AnalysisRow.__tablename__:
            connection.execute(delete(table).where(condition))

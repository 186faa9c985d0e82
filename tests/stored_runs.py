"""Helpers of tests: deliveries, incidents, and everything that a database stores of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
from sqlalchemy import Engine, insert, select

from holter.server.database import reading, writing
from holter.server.import_export.run_metadata import export_metadata
from holter.server.models import AnalysisRow, Base, IncidentEventRow, IncidentRow, RunRecord
from holter.server.store import Store
from holter.types import Batch, Column, ConfigKey, Delivery, SeriesKey

LOSS = SeriesKey("loss")
RANKED = SeriesKey("step_time", (("rank", "3"), ("tür", 'ä"\\,\n')))


def delivery(
    steps: np.ndarray[Any, Any],
    values: dict[SeriesKey, np.ndarray[Any, Any]],
    *,
    batch_id: str,
    times: np.ndarray[Any, Any] | None = None,
    run: str = "a",
    attempt: str | None = "0",
) -> Delivery:
    return Delivery(
        project="llm",
        run=run,
        writer="w",
        batch_id=batch_id,
        batch=Batch(
            steps=np.asarray(steps, dtype=np.int64),
            times=np.asarray(steps * 1.0 if times is None else times, dtype=np.float64),
            columns=tuple(Column(key=key, values=column) for key, column in values.items()),
            attempt=attempt,
            config={ConfigKey("lr"): 1e-4, ConfigKey("tür", RANKED.labels): 'ä"\n'},
        ),
    )


def points_of(engine: Engine, run_id: int) -> dict[SeriesKey, tuple[bytes, ...]]:
    """All points of a run as bytes; NaN without their payload."""
    found = {}
    for key, series in Store(engine).read(run_id).items():
        columns = (series.attempt, series.step, series.time, series.value)
        plain = (np.where(np.isnan(one), np.nan, one) if one.dtype == float else one for one in columns)
        found[key] = tuple(one.tobytes() for one in plain)
    return found


def metadata_of(engine: Engine, run_id: int) -> dict[str, Any]:
    """The metadata of a run, without names and times of arrival."""
    with reading(engine) as connection:
        return {
            name: value
            for name, value in export_metadata(connection, run_id).items()
            if name not in {"name", "public_id", "created_at", "updated_at", "thinning"}
        }


def run_id_of(engine: Engine, name: str) -> int:
    with reading(engine) as connection:
        return connection.scalars(select(RunRecord.id).where(RunRecord.name == name)).one()


def all_rows(engine: Engine) -> dict[str, list[str]]:
    """Every row of every table."""
    with reading(engine) as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table)).all()))
            for table in Base.metadata.sorted_tables
        }


def add_incident(engine: Engine, run_id: int, *, start: int, end: int | None, attempt: int = 0) -> int:
    """Add an incident with a history to a run, and mark the run as analysed."""
    row = {
        "run_id": run_id, "fingerprint": f"{run_id}.{attempt}.{start}", "kind": "spike_slow",
        "metric": "loss", "labels": {}, "attempt": attempt, "start_step": start, "start_time": float(start),
        "peak_step": start + 2, "end_step": end, "detected_step": start + 3, "classified_step": None,
        "severity": "warning", "confidence": 0.5, "summary": "It rose.", "advice": "Look.",
        "evidence": {"baseline": 0.1, "peak": 3.0}, "state": "recovered", "opened_at": 1.0,
        "updated_at": 2.0, "recovered_at": 2.0, "closed_at": None, "acknowledged_at": None,
        "acknowledged_by": None,
    }  # fmt: skip
    with writing(engine) as connection:
        number = connection.scalar(insert(IncidentRow).values(row).returning(IncidentRow.id))
        assert number is not None
        event = {"incident_id": number, "at": 1.0, "type": "opened", "by": None, "text": "It rose."}
        connection.execute(insert(IncidentEventRow).values(**event, detail={"kind": "spike_slow"}))
    mark_analysed(engine, run_id)
    return number


def mark_analysed(engine: Engine, run_id: int) -> None:
    """Mark a run as analysed completely."""
    with writing(engine) as connection:
        seen = connection.scalar(select(RunRecord.updated_at).where(RunRecord.id == run_id))
        if connection.scalar(select(AnalysisRow.run_id).where(AnalysisRow.run_id == run_id)) is None:
            row = {"run_id": run_id, "seen_at": seen, "looked_at": seen, "cost": 0.0, "error": None}
            connection.execute(insert(AnalysisRow).values(row))


def newest_by_key(store: Store, run_id: int) -> dict[SeriesKey, tuple[int, int, float, float]]:
    """Attempt, step, wall time (NaN without a clock) and value of each series' newest point."""
    names, *columns = store.newest_points(run_id)
    points = zip(*(column.tolist() for column in columns), strict=True)
    return dict(zip(names.keys(), points, strict=True))

"""Helpers of tests: deliveries, incidents, and everything that a database stores of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sqlalchemy import Engine, insert, select

from holter.server.database import reading, writing
from holter.server.import_export.run_metadata import export_metadata
from holter.server.models import AnalysisRow, Base, IncidentEventRow, IncidentRow, RunRecord
from holter.server.store import Store
from holter.types import Batch, Column, ConfigKey, Delivery, SeriesKey

LOSS, NORM = SeriesKey("loss"), SeriesKey("grad_norm")
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


@contextmanager
def running_store(engine: Engine) -> Iterator[Store]:
    """A store that is started, and closed whatever happens."""
    store = Store(engine)
    store.start()
    try:
        yield store
    finally:
        store.close()


def some_run(engine: Engine, name: str = "a") -> str:
    """A run with two attempts, a NaN, a ghost branch and a label."""
    store = Store(engine)
    store.start()
    for attempt, steps, value in ((0, [1, 2, 3], [3.0, np.nan, 0.1]), (1, [3, 4], [2.5, np.inf])):
        columns = (
            Column(key=SeriesKey("loss"), values=np.array(value)),
            Column(key=SeriesKey("t", (("rank", "3"),)), values=np.array(value)),
        )
        batch = Batch(
            steps=np.array(steps), times=100.0 * attempt + np.array(steps, float), columns=columns,
            attempt=str(attempt),
        )  # fmt: skip
        receipt = store.accept(
            Delivery(project="llm", run=name, writer="w", batch_id=f"{name}{attempt}", batch=batch)
        )
    store.close()
    return receipt.public_id


def deliver(
    store: Store, number: int, steps: np.ndarray, *, attempt: int = 0, norm: bool = True, run: str = "r"
) -> int:
    """Steps of an attempt; every delivery writes other values."""
    values = steps + number / 1000
    columns = [Column(key=LOSS, values=values)]
    if norm:
        columns.append(Column(key=NORM, values=np.where(steps % 7 == 0, np.nan, values)))
    batch = Batch(steps=steps, times=1e9 + steps, columns=tuple(columns), attempt=f"launch {attempt}")
    return store.accept(
        Delivery(project="p", run=run, writer=f"w{attempt}", batch_id=f"{number}", batch=batch)
    ).run_id

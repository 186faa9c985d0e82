"""MLflow's SQLite store, `mlflow.db`: experiments are projects, and each run is one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from holter.ingest.trackers import mlflow
from holter.ingest.trackers.base import CollectionError, RunContents, TrackerRun, LoggedSeries
from holter.ingest.trackers.sqlite import as_text, column_names, is_database, open_readonly, row_chunks, table_columns

_NEEDED = {
    "experiments": {"experiment_id", "name"},
    "runs": {"run_uuid", "experiment_id", "status", "start_time", "end_time"},
    "metrics": {"key", "value", "timestamp", "run_uuid"},
}


class MlflowDatabase:
    """Every run that is not deleted, with all points: MLflow's own dashboards draw fewer."""

    name: ClassVar[str] = mlflow.NAME

    def matches(self, path: Path) -> bool:
        """A database with MLflow's tables."""
        if not path.is_file() or not is_database(path):
            return False
        found = table_columns(path)
        return all(needed <= found.get(table, set()) for table, needed in _NEEDED.items())

    def runs(self, path: Path) -> Iterator[TrackerRun]:
        """Its runs, in the order in which they began."""
        try:
            with open_readonly(path) as database:
                names = dict(database.execute("SELECT experiment_id, name FROM experiments").fetchall())
                rows = _runs(database)
        except sqlite3.Error as error:
            raise CollectionError(f"{path}: cannot be read as MLflow's: {error}") from error
        for run, experiment, name, status, start, end, stage in rows:
            yield TrackerRun(
                id=as_text(run),
                project=as_text(names.get(experiment, experiment)),
                name=as_text(name) or as_text(run),
                read=partial(_read, path, run, as_text(status)),
                started=mlflow.unix_seconds(start),
                ended=mlflow.unix_seconds(end),
                is_finished=mlflow.is_finished(as_text(status)),
                skip_reason=mlflow.DELETED if stage == "deleted" else "",
            )


def _runs(database: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Stores from before MLflow 1.0 and 2.0 know fewer columns; a run's name was a tag until then."""
    there = column_names(database, "runs")
    stage = "lifecycle_stage" if "lifecycle_stage" in there else "'active'"
    named = "(SELECT value FROM tags WHERE tags.run_uuid = runs.run_uuid AND tags.key = 'mlflow.runName')"
    name = f"coalesce(nullif(runs.name, ''), {named})" if "name" in there else named
    query = f"SELECT run_uuid, experiment_id, {name}, status, start_time, end_time, {stage} FROM runs"
    return database.execute(f"{query} ORDER BY start_time, rowid").fetchall()


def _read(path: Path, run: str, status: str) -> RunContents:
    try:
        with open_readonly(path) as database:
            there = column_names(database, "metrics")
            query = "SELECT key, value FROM {} WHERE run_uuid = ?"
            params, tags = (
                [(as_text(name), as_text(value)) for name, value in database.execute(asked, (run,))]
                for asked in (query.format("params"), query.format("tags"))
            )
            metrics = _metrics(path, run, there)
            return mlflow.run_contents(metrics, dict(params), dict(tags), run=run, status=status)
    except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:
        raise CollectionError(f"{path}: run {run} cannot be read: {error}") from error


def _metrics(path: Path, run: str, there: set[str]) -> Iterator[LoggedSeries]:
    step, nan = ("step" if "step" in there else "0"), ("is_nan" if "is_nan" in there else "0")
    held: dict[str, tuple[list[int], list[float], list[int]]] = {}
    wanted = f"key, timestamp, CASE WHEN {nan} THEN NULL ELSE value END, {step}"
    for rows in row_chunks(path, wanted, "metrics", "run_uuid", run):
        for _, key, time, value, at in rows:
            mine = held.get(key)
            if mine is None:
                mine = held.setdefault(as_text(key), ([], [], []))
            mine[0].append(time)
            mine[1].append(value)
            mine[2].append(at)
    for name, (times, values, steps) in held.items():
        numbers = mlflow.restore_infinity(np.array(values, dtype=np.float64))  # NULL: NaN
        yield mlflow.metric_series(name, np.array(times, dtype=np.int64), numbers, np.array(steps, dtype=np.int64))

"""MLflow's SQLite store, `mlflow.db`: experiments are projects."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from holter.ingest.trackers import mlflow
from holter.ingest.trackers.base import CollectionError, LoggedSeries, RunContents, TrackerRun
from holter.ingest.trackers.sqlite import (
    as_text,
    column_names,
    is_database,
    open_readonly,
    row_chunks,
    table_columns,
)

_NEEDED = {
    "experiments": {"experiment_id", "name"},
    "runs": {"run_uuid", "experiment_id", "status", "start_time", "end_time"},
    "metrics": {"key", "value", "timestamp", "run_uuid"},
}


class MlflowDatabase:
    """Every run that is not deleted, with all points, of which MLflow's own dashboards draw only some."""

    name: ClassVar[str] = mlflow.NAME

    def matches(self, path: Path) -> bool:
        """A database with MLflow's tables."""
        if not path.is_file() or not is_database(path):
            return False
        columns = table_columns(path)
        return all(needed <= columns.get(table, set()) for table, needed in _NEEDED.items())

    def runs(self, path: Path) -> Iterator[TrackerRun]:
        """The runs in the order in which they started."""
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
    """The rows of runs. Stores of MLflow before 1.0 and 2.0 have fewer columns, and a run's name as a tag."""
    available = column_names(database, "runs")
    stage = "lifecycle_stage" if "lifecycle_stage" in available else "'active'"
    name_tag = "(SELECT value FROM tags WHERE tags.run_uuid = runs.run_uuid AND tags.key = 'mlflow.runName')"
    name = f"coalesce(nullif(runs.name, ''), {name_tag})" if "name" in available else name_tag
    query = f"SELECT run_uuid, experiment_id, {name}, status, start_time, end_time, {stage} FROM runs"
    return database.execute(f"{query} ORDER BY start_time, rowid").fetchall()


def _read(path: Path, run: str, status: str) -> RunContents:
    try:
        with open_readonly(path) as database:
            available = column_names(database, "metrics")
            query = "SELECT key, value FROM {} WHERE run_uuid = ?"
            params, tags = (
                [(as_text(name), as_text(value)) for name, value in database.execute(table_query, (run,))]
                for table_query in (query.format("params"), query.format("tags"))
            )
            metrics = _metrics(path, run, available)
            return mlflow.run_contents(metrics, dict(params), dict(tags), run=run, status=status)
    except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:
        raise CollectionError(f"{path}: run {run} cannot be read: {error}") from error


def _metrics(path: Path, run: str, available: set[str]) -> Iterator[LoggedSeries]:
    step_column, nan_column = (
        ("step" if "step" in available else "0"),
        ("is_nan" if "is_nan" in available else "0"),
    )
    points: dict[str, tuple[list[int], list[float], list[int]]] = {}
    columns = f"key, timestamp, CASE WHEN {nan_column} THEN NULL ELSE value END, {step_column}"
    for rows in row_chunks(path, columns, "metrics", "run_uuid", run):
        for _, key, time, value, step_value in rows:
            point_lists = points.get(key)
            if point_lists is None:
                point_lists = points.setdefault(as_text(key), ([], [], []))
            point_lists[0].append(time)
            point_lists[1].append(value)
            point_lists[2].append(step_value)
    for name, (times, values, steps) in points.items():
        numbers = mlflow.restore_infinity(np.array(values, dtype=np.float64))  # NULL is NaN
        yield mlflow.metric_series(
            name, np.array(times, dtype=np.int64), numbers, np.array(steps, dtype=np.int64)
        )

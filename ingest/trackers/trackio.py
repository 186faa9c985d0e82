"""trackio's SQLite databases, one for each project: `~/.cache/huggingface/trackio/PROJECT.db`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from holter.attempts.config_values import flatten_settings
from holter.ingest.json_objects import flatten_object, json_number
from holter.ingest.trackers.base import (
    SAMPLES,
    CollectionError,
    LoggedSeries,
    RunContents,
    TrackerRun,
    bounded_config,
)
from holter.ingest.trackers.sqlite import (
    as_text,
    column_names,
    is_database,
    open_readonly,
    row_chunks,
    table_columns,
)
from holter.types import FloatArray, IntArray, Labels, SeriesKey, Unreadable

_NEEDED = {"timestamp", "run_name", "step", "metrics"}
_SUFFIX = ".db"
_decode = msgspec.json.Decoder().decode


class _TrackioPoints(NamedTuple):
    steps: list[int]
    times: list[float]
    values: list[float]


class Trackio:
    """Every run of a project, or of all projects in a folder."""

    name: ClassVar[str] = "trackio"

    def matches(self, path: Path) -> bool:
        """A database with trackio's table of metrics, or a folder with such databases."""
        return any(_is_project(file) for file in _databases(path))

    def runs(self, path: Path) -> Iterator[TrackerRun]:
        """The runs of each project, in the order of their start; runs of one name differ in their id."""
        for file in filter(_is_project, _databases(path)):
            try:
                with open_readonly(file) as database:
                    rows = _runs(database)
                    configs = _configs(database)
            except sqlite3.Error as error:
                raise CollectionError(f"{file}: cannot be read as trackio's: {error}") from error
            for column, run, name, started, ended in rows:
                yield TrackerRun(
                    id=f"{file.stem}/{as_text(run)}",
                    project=file.stem,
                    name=as_text(name),
                    read=partial(_read, file, column, run, configs.get(run, {})),
                    started=unix_time(started),
                    ended=unix_time(ended),
                )


def _databases(path: Path) -> list[Path]:
    try:
        return sorted(path.glob(f"*{_SUFFIX}")) if path.is_dir() else [path]
    except OSError:
        return []


def _is_project(path: Path) -> bool:
    return path.is_file() and is_database(path) and table_columns(path).get("metrics", set()) >= _NEEDED


def _runs(database: sqlite3.Connection) -> list[tuple[str, str, str, str, str]]:
    """Runs: identifying column, its value, name, first and last time. Old versions have names but no ids."""
    column = "run_id" if "run_id" in column_names(database, "metrics") else "run_name"
    query = f"""SELECT {column}, min(run_name), min(timestamp), max(timestamp) FROM metrics
        GROUP BY {column} ORDER BY 3, 1"""
    return [(column, *row) for row in database.execute(query)]


def _configs(database: sqlite3.Connection) -> dict[str, Mapping[str, Any]]:
    available = column_names(database, "configs")
    if "config" not in available:
        return {}
    column = "run_id" if "run_id" in available else "run_name"
    rows = database.execute(f"SELECT {column}, config FROM configs").fetchall()
    return {run: _object(text) or {} for run, text in rows}


def _read(file: Path, column: str, run: str, config: Mapping[str, Any]) -> RunContents:
    left_out: list[Unreadable] = []
    try:
        logged = _metrics(file, "metrics", column, run, left_out)
        with open_readonly(file) as database:
            system_columns = column_names(database, "system_metrics")
        if column in system_columns:
            logged += _metrics(file, "system_metrics", column, run, left_out)
    except (sqlite3.Error, OverflowError) as error:
        raise CollectionError(f"{file}: run {run} cannot be read: {error}") from error
    settings = {name: value for name, value in config.items() if not name.startswith("_")}
    if group := config.get("_Group"):
        settings["trackio.group"] = group
    return RunContents(
        logged=logged, config=bounded_config(flatten_settings(settings).items()), left_out=tuple(left_out)
    )


def _metrics(file: Path, table: str, column: str, run: str, left_out: list[Unreadable]) -> list[LoggedSeries]:
    """The series of a table. Rows with measurements of the machine have no step and are counted."""
    is_system = table != "metrics"
    labels: Labels = (("steps", SAMPLES),) if is_system else ()
    series: dict[str, _TrackioPoints] = {}
    columns = f"timestamp, {'0' if is_system else 'step'}, metrics"
    count = invalid = first = 0
    for rows in row_chunks(file, columns, table, column, run):
        for rowid, timestamp, step, text in rows:
            logged, time = _object(text), unix_time(timestamp)
            if logged is None or not isinstance(step, int):
                invalid, first = invalid + 1, first or rowid
                continue
            step_number = count if is_system else step
            count += 1
            for name, value in flatten_object(logged):
                number = json_number(value)
                if number is not None:
                    points = series.get(name)
                    if points is None:
                        points = series[name] = _TrackioPoints([], [], [])
                    points.steps.append(step_number)
                    points.times.append(float("nan") if time is None else time)
                    points.values.append(number)
    if invalid:
        reason = "expected a step and an object of metrics" + (
            f"; {invalid} rows like it" if invalid > 1 else ""
        )
        left_out.append(Unreadable(location=f"{table} row {first}", reason=reason))
    prefix = "system." if is_system else ""
    return [
        LoggedSeries(SeriesKey(prefix + name, labels), *_arrays(points)) for name, points in series.items()
    ]


def _arrays(points: _TrackioPoints) -> tuple[IntArray, FloatArray, FloatArray]:
    return (
        np.array(points.steps, dtype=np.int64),
        np.array(points.times, dtype=np.float64),
        np.array(points.values, dtype=np.float64),
    )


def _object(text: object) -> dict[str, Any] | None:
    """The object in a row's JSON, which is text or bytes by version; None for other content."""
    if not isinstance(text, str | bytes):
        return None
    try:
        decoded = _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict) else None


@lru_cache(maxsize=4096)  # many rows have the same time
def unix_time(text: object) -> float | None:
    """Unix seconds of a time in ISO 8601, None if invalid; local if without a zone, as in old versions."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None

"""trackio's SQLite databases, one a project: `~/.cache/huggingface/trackio/PROJECT.db`."""

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
from holter.ingest.trackers.base import SAMPLES, CollectionError, RunContents, TrackerRun, LoggedSeries
from holter.ingest.trackers.base import bounded_config
from holter.ingest.trackers.sqlite import as_text, column_names, is_database, open_readonly, row_chunks, table_columns
from holter.types import FloatArray, IntArray, Labels, SeriesKey, Unreadable

_NEEDED = {"timestamp", "run_name", "step", "metrics"}
_SUFFIX = ".db"
_decode = msgspec.json.Decoder().decode


class _Points(NamedTuple):
    steps: list[int]
    times: list[float]
    values: list[float]


class Trackio:
    """Every run of a project, or of all projects in a folder."""

    name: ClassVar[str] = "trackio"

    def matches(self, path: Path) -> bool:
        """A database with trackio's table of metrics, or a folder with such."""
        return any(_is_project(file) for file in _databases(path))

    def runs(self, path: Path) -> Iterator[TrackerRun]:
        """The runs of each project, in the order of their names; those of one name are told apart by id."""
        for file in filter(_is_project, _databases(path)):
            try:
                with open_readonly(file) as database:
                    found = _runs(database)
                    configs = _configs(database)
            except sqlite3.Error as error:
                raise CollectionError(f"{file}: cannot be read as trackio's: {error}") from error
            for column, run, name, began, ended in found:
                yield TrackerRun(
                    id=f"{file.stem}/{as_text(run)}",
                    project=file.stem,
                    name=as_text(name),
                    read=partial(_read, file, column, run, configs.get(run, {})),
                    started=_moment(began),
                    ended=_moment(ended),
                )


def _databases(path: Path) -> list[Path]:
    try:
        return sorted(path.glob(f"*{_SUFFIX}")) if path.is_dir() else [path]
    except OSError:
        return []


def _is_project(path: Path) -> bool:
    return path.is_file() and is_database(path) and table_columns(path).get("metrics", set()) >= _NEEDED


def _runs(database: sqlite3.Connection) -> list[tuple[str, str, str, str, str]]:
    """Column that names runs, its value, the name to show, first and last time. Ids came later than names."""
    column = "run_id" if "run_id" in column_names(database, "metrics") else "run_name"
    query = f"""SELECT {column}, min(run_name), min(timestamp), max(timestamp) FROM metrics
        GROUP BY {column} ORDER BY 3, 1"""
    return [(column, *row) for row in database.execute(query)]


def _configs(database: sqlite3.Connection) -> dict[str, Mapping[str, Any]]:
    there = column_names(database, "configs")
    if "config" not in there:
        return {}
    column = "run_id" if "run_id" in there else "run_name"
    rows = database.execute(f"SELECT {column}, config FROM configs").fetchall()
    return {run: _object(text) or {} for run, text in rows}


def _read(file: Path, column: str, run: str, config: Mapping[str, Any]) -> RunContents:
    left_out: list[Unreadable] = []
    try:
        logged = _metrics(file, "metrics", column, run, left_out)
        with open_readonly(file) as database:
            machine = column_names(database, "system_metrics")
        if column in machine:
            logged += _metrics(file, "system_metrics", column, run, left_out)
    except (sqlite3.Error, OverflowError) as error:
        raise CollectionError(f"{file}: run {run} cannot be read: {error}") from error
    own = {name: value for name, value in config.items() if not name.startswith("_")}
    if group := config.get("_Group"):
        own["trackio.group"] = group
    return RunContents(logged=logged, config=bounded_config(flatten_settings(own).items()), left_out=tuple(left_out))


def _metrics(file: Path, table: str, column: str, run: str, left_out: list[Unreadable]) -> list[LoggedSeries]:
    """The numbers in a table's rows. The machine's measurements have no step: they are counted."""
    machine = table != "metrics"
    labels: Labels = (("steps", SAMPLES),) if machine else ()
    held: dict[str, _Points] = {}
    wanted = f"timestamp, {'0' if machine else 'step'}, metrics"
    count = wrong = first = 0
    for rows in row_chunks(file, wanted, table, column, run):
        for number_of_row, timestamp, step, text in rows:
            logged, time = _object(text), _moment(timestamp)
            if logged is None or not isinstance(step, int):
                wrong, first = wrong + 1, first or number_of_row
                continue
            at = count if machine else step
            count += 1
            for name, value in flatten_object(logged):
                found = json_number(value)
                if found is not None:
                    mine = held.get(name)
                    if mine is None:
                        mine = held[name] = _Points([], [], [])
                    mine.steps.append(at)
                    mine.times.append(float("nan") if time is None else time)
                    mine.values.append(found)
    if wrong:
        reason = "expected a step and an object of metrics" + (f"; {wrong} rows like it" if wrong > 1 else "")
        left_out.append(Unreadable(location=f"{table} row {first}", reason=reason))
    prefix = "system." if machine else ""
    return [LoggedSeries(SeriesKey(prefix + name, labels), *_arrays(points)) for name, points in held.items()]


def _arrays(points: _Points) -> tuple[IntArray, FloatArray, FloatArray]:
    return (
        np.array(points.steps, dtype=np.int64),
        np.array(points.times, dtype=np.float64),
        np.array(points.values, dtype=np.float64),
    )


def _object(text: object) -> dict[str, Any] | None:
    """A row's JSON, which is text or bytes by version."""
    if not isinstance(text, str | bytes):
        return None
    try:
        found = _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


@lru_cache(maxsize=4096)  # many rows are written at once
def _moment(text: object) -> float | None:
    """ISO 8601; without a zone it is local time, as trackio wrote it once."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None

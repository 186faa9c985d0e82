"""The rows of neptune-exporter's Parquet files, read column by column with pyarrow.

Schema: neptune-ai/neptune-exporter, src/neptune_exporter/model.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet

from holter.ingest.trackers.base import SAMPLES, CollectionError, RunContents, TrackerRun, LoggedSeries
from holter.ingest.trackers.base import bounded_config
from holter.plurals import counted, verb
from holter.types import FloatArray, IntArray, Labels, SeriesKey, Unreadable

_RUN = ["project_id", "run_id"]
_SERIES = [*_RUN, "attribute_path", "attribute_type", "step", "timestamp", "float_value"]
_SETTINGS = {
    "int": "int_value",
    "float": "float_value",
    "string": "string_value",
    "bool": "bool_value",
    "datetime": "datetime_value",
    "string_set": "string_set_value",
}
_PORTION = 131_072  # rows
_MICRO = 1_000_000  # steps are decimal(18, 6)
_MACHINE = ("monitoring/", "system/")
_ABOUT_TIME = ("sys/creation_time", "sys/modification_time", "sys/state")
_NOT_POINTS = {
    "string_series": "text by step",
    "histogram_series": "histograms",
    "file": "files",
    "file_set": "files",
    "file_series": "files by step",
    "artifact": "files",
}


def is_export(file: Path) -> bool:
    """Whether a Parquet file has the exporter's columns."""
    try:
        names = set(parquet.read_schema(file).names)
    except (pa.ArrowException, OSError):
        return False
    return {*_SERIES, *_SETTINGS.values()} <= names


def runs(files: Sequence[Path]) -> Iterator[TrackerRun]:
    """The runs whose rows stand in these files."""
    held: dict[tuple[str, str], list[Path]] = {}
    for file in files:
        if is_export(file):
            for pair in _runs_in(file):
                held.setdefault(pair, []).append(file)
    for (project, run), parts in sorted(held.items()):
        about = _about(parts, project, run)
        began, ended = (_seconds(about.get(name)) for name in _ABOUT_TIME[:2])
        over = str(about.get("sys/state", "")).lower() not in {"active", "running"}
        yield TrackerRun(
            id=f"{project}/{run}",
            project=project,
            name=run,
            read=partial(_read, parts, project, run),
            started=began,
            ended=ended if over else None,
            is_finished=over,
        )


def _runs_in(file: Path) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for table in _tables(file, _RUN):
        pairs = table.group_by(_RUN).aggregate([])
        found.update(zip(*(pairs[name].to_pylist() for name in _RUN), strict=True))
    return {(str(project), str(run)) for project, run in found if project is not None and run is not None}


def _tables(file: Path, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The rows in portions, so that memory is bounded by what is kept of them."""
    try:
        with parquet.ParquetFile(file) as opened:
            for group in range(opened.num_row_groups):  # as a whole it would be read ahead
                for batch in opened.iter_batches(_PORTION, [group], list(columns), use_threads=False):
                    yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        raise CollectionError(f"{file}: cannot be read as Parquet: {error}") from error


def _of_run(parts: Sequence[Path], columns: Sequence[str], project: str, run: str) -> Iterator[pa.Table]:
    for file in parts:
        for table in _tables(file, columns):
            mine = compute.and_(
                compute.equal(table["project_id"], project), compute.equal(table["run_id"], run)
            )
            yield table.filter(mine)


def _about(parts: Sequence[Path], project: str, run: str) -> dict[str, Any]:
    names = pa.array(_ABOUT_TIME)
    columns = [*_RUN, "attribute_path", "attribute_type", *_SETTINGS.values()]
    found = {}
    for table in _of_run(parts, columns, project, run):
        few = table.filter(compute.is_in(table["attribute_path"], names))
        found.update(_settings(few))
    return found


def _no_numbers(count: int) -> str:
    return f"{counted(count, 'value')} that {verb(count, 'is no number', 'are no numbers')}"


def _settings(table: pa.Table) -> dict[str, Any]:
    """The single values among the rows, each from the column of its type."""
    wanted = compute.is_in(table["attribute_type"], pa.array(list(_SETTINGS)))
    rows = table.filter(wanted).to_pylist()
    return {row["attribute_path"]: row[_SETTINGS[row["attribute_type"]]] for row in rows}


def _seconds(value: Any) -> float | None:
    return value.timestamp() if hasattr(value, "timestamp") else None


def _read(parts: Sequence[Path], project: str, run: str) -> RunContents:
    settings: dict[str, Any] = {}
    held: dict[str, list[tuple[IntArray, FloatArray, FloatArray]]] = {}
    others: Counter[str] = Counter()
    columns = list(dict.fromkeys([*_SERIES, *_SETTINGS.values()]))
    for table in _of_run(parts, columns, project, run):
        settings.update(_settings(table))
        others.update(_kinds(table))
        series = table.filter(compute.equal(table["attribute_type"], "float_series"))
        for name, points in _points(series):
            held.setdefault(name, []).append(points)
    left_out = [
        Unreadable(location=_NOT_POINTS.get(kind, kind), reason=f"{_no_numbers(count)}: not taken")
        for kind, count in sorted(others.items())
    ]
    logged = []
    for name, pieces in held.items():
        steps, times, values = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        whole = steps % _MICRO == 0
        if not whole.all():
            odd = counted(int(np.count_nonzero(~whole)), "point")
            reason = f"{odd} at steps that are not whole: not taken"
            left_out.append(Unreadable(location=f"metric {name}", reason=reason))
        labels: Labels = (("steps", SAMPLES),) if name.startswith(_MACHINE) else ()
        logged.append(LoggedSeries(SeriesKey(name, labels), steps[whole] // _MICRO, times[whole], values[whole]))
    told = [(name, value) for name, value in settings.items() if not name.startswith(_MACHINE)]
    return RunContents(logged=logged, config=bounded_config(map(_told, told)), left_out=tuple(left_out))


def _told(setting: tuple[str, Any]) -> tuple[str, Any]:
    name, value = setting
    if isinstance(value, list):
        return name, ", ".join(map(str, value))
    return name, value.isoformat() if hasattr(value, "isoformat") else value


def _kinds(table: pa.Table) -> dict[str, int]:
    """How many rows there are of each kind that is neither points nor settings."""
    counted = compute.value_counts(table["attribute_type"].combine_chunks()).to_pylist()
    known = {"float_series", *_SETTINGS}
    return {str(one["values"]): one["counts"] for one in counted if one["values"] not in known}


def _points(table: pa.Table) -> Iterator[tuple[str, tuple[IntArray, FloatArray, FloatArray]]]:
    """By metric: steps in millionths, times, values, in the order of the rows.

    The exporter goes through pandas, which writes a NaN as a null: such a row has a time, and is a NaN.
    """
    table = table.filter(compute.is_valid(table["step"]))
    if not len(table):
        return
    paths = table["attribute_path"].combine_chunks().dictionary_encode()
    steps = _millionths(table["step"].combine_chunks())
    clock = table["timestamp"].combine_chunks().cast(pa.timestamp("ms", tz="UTC"))
    known = compute.is_valid(clock).to_numpy(zero_copy_only=False)
    milliseconds = compute.fill_null(clock.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    times = np.where(known, milliseconds / 1e3, np.nan)
    values = table["float_value"].combine_chunks().to_numpy(zero_copy_only=False).astype(np.float64)
    which = paths.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(paths.dictionary)))
    for name, rows in zip(paths.dictionary.to_pylist(), np.split(order, ends[:-1]), strict=True):
        yield name, (steps[rows], times[rows], values[rows])


def _millionths(steps: Any) -> IntArray:
    """Decimals of up to 18 digits as the integers that they are stored as: exact, which floats are not."""
    decimals = steps.cast(pa.decimal128(18, 6))
    words = np.frombuffer(decimals.buffers()[1], dtype="<i8").reshape(-1, 2)
    return words[decimals.offset : decimals.offset + len(decimals), 0].astype(np.int64)

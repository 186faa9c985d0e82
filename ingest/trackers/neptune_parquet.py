"""Reads neptune-exporter's Parquet files column by column with pyarrow.

Schema: neptune-ai/neptune-exporter, src/neptune_exporter/model.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet

from holter.ingest.errors import describe_error
from holter.ingest.trackers.base import (
    SAMPLES,
    CollectionError,
    LoggedSeries,
    RunContents,
    TrackerRun,
    bounded_config,
)
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
_CHUNK_ROWS = 131_072  # rows
_STEP_SCALE = 1_000_000  # steps are decimal(18, 6)
_SYSTEM_PREFIXES = ("monitoring/", "system/")
_TIME_ATTRIBUTES = ("sys/creation_time", "sys/modification_time", "sys/state")
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
        counts = Counter(parquet.read_schema(file).names)
    except (pa.ArrowException, OSError, ValueError):
        return False
    return all(counts[name] == 1 for name in (*_SERIES, *_SETTINGS.values()))


def runs(files: Sequence[Path]) -> Iterator[TrackerRun]:
    """The runs whose rows are in these files."""
    parts_by_run: dict[tuple[str, str], list[Path]] = {}
    for file in files:
        if is_export(file):
            with _damage_as_collection_error(file):
                pairs = _runs_in(file)
            for pair in pairs:
                parts_by_run.setdefault(pair, []).append(file)
    for (project, run), parts in sorted(parts_by_run.items()):
        with _damage_as_collection_error(f"{project}/{run}"):
            attributes = _run_attributes(parts, project, run)
            started, ended = (_seconds(attributes.get(name)) for name in _TIME_ATTRIBUTES[:2])
        is_finished = str(attributes.get("sys/state", "")).lower() not in {"active", "running"}
        yield TrackerRun(
            id=f"{project}/{run}",
            project=project,
            name=run,
            read=partial(_read, parts, project, run),
            started=started,
            ended=ended if is_finished else None,
            is_finished=is_finished,
        )


def _runs_in(file: Path) -> set[tuple[str, str]]:
    found_pairs: set[tuple[str, str]] = set()
    for table in _tables(file, _RUN):
        pairs = table.group_by(_RUN).aggregate([])
        found_pairs.update(zip(*(pairs[name].to_pylist() for name in _RUN), strict=True))
    return {
        (str(project), str(run)) for project, run in found_pairs if project is not None and run is not None
    }


@contextmanager
def _damage_as_collection_error(what: object) -> Iterator[None]:
    """Raise what pyarrow raises for damaged content, or for columns of other types, as CollectionError."""
    try:
        yield
    except CollectionError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise CollectionError(f"{what}: cannot be read as Parquet: {describe_error(error)}") from error


def _tables(file: Path, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The rows in chunks, so that memory is bounded by what is stored of them."""
    with _damage_as_collection_error(file), parquet.ParquetFile(file) as opened:
        for group in range(opened.num_row_groups):  # pyarrow would read ahead over several groups
            for batch in opened.iter_batches(_CHUNK_ROWS, [group], list(columns), use_threads=False):
                yield pa.Table.from_batches([batch])


def _run_tables(parts: Sequence[Path], columns: Sequence[str], project: str, run: str) -> Iterator[pa.Table]:
    for file in parts:
        for table in _tables(file, columns):
            of_run = compute.and_(
                compute.equal(table["project_id"], project), compute.equal(table["run_id"], run)
            )
            yield table.filter(of_run)


def _run_attributes(parts: Sequence[Path], project: str, run: str) -> dict[str, Any]:
    names = pa.array(_TIME_ATTRIBUTES)
    columns = [*_RUN, "attribute_path", "attribute_type", *_SETTINGS.values()]
    attributes = {}
    for table in _run_tables(parts, columns, project, run):
        rows = table.filter(compute.is_in(table["attribute_path"], names))
        attributes.update(_settings(rows))
    return attributes


def _no_numbers(count: int) -> str:
    return f"{counted(count, 'value')} that {verb(count, 'is no number', 'are no numbers')}"


def _settings(table: pa.Table) -> dict[str, Any]:
    """The attributes with a single value, each read from the column of its type."""
    is_setting = compute.is_in(table["attribute_type"], pa.array(list(_SETTINGS)))
    rows = table.filter(is_setting).to_pylist()
    return {row["attribute_path"]: row[_SETTINGS[row["attribute_type"]]] for row in rows}


def _seconds(value: Any) -> float | None:
    return value.timestamp() if hasattr(value, "timestamp") else None


def _read(parts: Sequence[Path], project: str, run: str) -> RunContents:
    with _damage_as_collection_error(f"{project}/{run}"):
        return _contents(parts, project, run)


def _contents(parts: Sequence[Path], project: str, run: str) -> RunContents:
    settings: dict[str, Any] = {}
    chunks_by_metric: dict[str, list[tuple[IntArray, FloatArray, FloatArray]]] = {}
    others: Counter[str] = Counter()
    columns = list(dict.fromkeys([*_SERIES, *_SETTINGS.values()]))
    for table in _run_tables(parts, columns, project, run):
        settings.update(_settings(table))
        others.update(_other_types(table))
        series = table.filter(compute.equal(table["attribute_type"], "float_series"))
        for name, points in _points(series):
            chunks_by_metric.setdefault(name, []).append(points)
    left_out = [
        Unreadable(location=_NOT_POINTS.get(kind, kind), reason=f"{_no_numbers(count)}: not imported")
        for kind, count in sorted(others.items())
    ]
    logged = []
    for name, chunks in chunks_by_metric.items():
        steps, times, values = (np.concatenate(arrays) for arrays in zip(*chunks, strict=True))
        is_integer = steps % _STEP_SCALE == 0
        if not is_integer.all():
            skipped = counted(int(np.count_nonzero(~is_integer)), "point")
            reason = f"{skipped} at steps that are not integers: not imported"
            left_out.append(Unreadable(location=f"metric {name}", reason=reason))
        labels: Labels = (("steps", SAMPLES),) if name.startswith(_SYSTEM_PREFIXES) else ()
        logged.append(
            LoggedSeries(
                SeriesKey(name, labels),
                steps[is_integer] // _STEP_SCALE,
                times[is_integer],
                values[is_integer],
            )
        )
    public = [(name, value) for name, value in settings.items() if not name.startswith(_SYSTEM_PREFIXES)]
    return RunContents(
        logged=logged, config=bounded_config(map(_to_setting, public)), left_out=tuple(left_out)
    )


def _to_setting(setting: tuple[str, Any]) -> tuple[str, Any]:
    name, value = setting
    if isinstance(value, list):
        return name, ", ".join(map(str, value))
    return name, value.isoformat() if hasattr(value, "isoformat") else value


def _other_types(table: pa.Table) -> dict[str, int]:
    """The number of rows of each attribute type that is neither a series of numbers nor a setting."""
    type_counts = compute.value_counts(table["attribute_type"].combine_chunks()).to_pylist()
    known = {"float_series", *_SETTINGS}
    return {str(entry["values"]): entry["counts"] for entry in type_counts if entry["values"] not in known}


def _points(table: pa.Table) -> Iterator[tuple[str, tuple[IntArray, FloatArray, FloatArray]]]:
    """By metric: steps in millionths, times, values, in the order of the rows.

    The exporter uses pandas, which writes NaN as null: a row with a time and without a value is a NaN.
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
    metric_index = paths.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(metric_index, kind="stable")
    ends = np.cumsum(np.bincount(metric_index, minlength=len(paths.dictionary)))
    for name, rows in zip(paths.dictionary.to_pylist(), np.split(order, ends[:-1]), strict=True):
        yield name, (steps[rows], times[rows], values[rows])


def _millionths(steps: Any) -> IntArray:
    """Decimals of up to 18 digits as integers in millionths, which is exact, unlike floats."""
    decimals = steps.cast(pa.decimal128(18, 6))
    words = np.frombuffer(decimals.buffers()[1], dtype="<i8").reshape(-1, 2)
    return words[decimals.offset : decimals.offset + len(decimals), 0].astype(np.int64)

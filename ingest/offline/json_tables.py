"""Finds tables in JSON that is no list of lines: records, columns, and points of TensorBoard's charts.

`{"history": [{"loss": 0.5}, ...]}`: the order of records without a step is their step. So are the keys of
`{"0": {"loss": 0.5}, ...}` and `{"loss": {"0": 0.5, ...}}`, as pandas writes a table, if they count; and
`[[TIME, STEP, VALUE], ...]`, as TensorBoard saves a chart. JSON Lines without a step are records as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import nan
from pathlib import PurePath
from typing import Any, ClassVar, NamedTuple

from holter.ingest import step_columns
from holter.ingest.console.repeated_rows import RepeatedRows
from holter.ingest.json_objects import flatten_object, json_number, row_from_fields
from holter.ingest.json_subjects import ObjectSubjects
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.rows import LogRow
from holter.types import Batch, Unreadable

_LEAST_ROWS = 3
_LEAST_OF_RECORDS = 0.9
"""Of the items of a list that are records."""
_MOST_NESTED = 6
_COUNT = re.compile(r"(?i)(?:(?:epoch|step|iter(?:ation)?|episode|round|ep)s?[ _:#-]{0,2})?(\d{1,15})")
"""What a key counts: `12`, `epoch_12`."""
_TAG = re.compile(r"(?:.*-)?tag-(?P<tag>.+)")
"""A chart of TensorBoard, in the name of a file: `run-train-tag-loss`."""
_STEP = "step"


class _JsonTable(NamedTuple):
    """The keys around a table, and its records."""

    path: tuple[str, ...]
    records: list[dict[str, Any]]


class JsonTables(WholeFile):
    """Tables in a document of JSON, or in lines of it, whose rows may have no step."""

    name: ClassVar[str] = "json-tables"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The rows of the tables of the file; nothing of other files, such as lists of values."""
        tables = [each for each in _tables(_document(text), path.stem) if _has_metric(each.records)]
        names = [each.path for each in tables]
        for table in tables:
            prefix = table.path if len(tables) > 1 and len({*names}) == len(names) else ()
            rows = [*_rows(table.records, prefix)]
            if rows:
                yield RepeatedRows(()).batch(rows)


def _document(text: str) -> Any:
    """What the text says; a list of the objects of JSON Lines. None if it is no JSON."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None


def _tables(value: Any, stem: str, path: tuple[str, ...] = ()) -> Iterator[_JsonTable]:
    """The tables within a value, each of which is read as a whole."""
    records = _records_of_list(value, stem) if isinstance(value, list) else _records_of_object(value)
    if records:
        yield _JsonTable(path, records)
    elif isinstance(value, dict) and len(path) < _MOST_NESTED:
        for key, inner in value.items():
            if isinstance(inner, dict | list):
                yield from _tables(inner, stem, (*path, key))


def _records_of_list(value: Sequence[Any], stem: str) -> list[dict[str, Any]]:
    """The records of a list, or the points of a chart; nothing of other lists.

    Records without a step that are about another thing each, by a text of theirs, are no rows of a training.
    """
    records = [item for item in value if isinstance(item, dict)]
    if len(records) >= max(_LEAST_ROWS, _LEAST_OF_RECORDS * len(value)):
        if step_columns.find_step(_names(records)) is None:
            if _are_about_others(records):
                return []
            return [{_STEP: number, **record} for number, record in enumerate(records)]
        return records
    return _points(value, stem)


def _names(records: Sequence[Mapping[str, Any]]) -> list[str]:
    return [name for name, item in flatten_object(records[0]) if not isinstance(item, list)]


def _are_about_others(records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a text at the beginning of the records is another one in each."""
    first = next(iter(records[0]), None)
    texts = [record.get(first) for record in records] if first is not None else []
    is_clock = step_columns.find_clock([str(first)]) is not None
    return not is_clock and all(isinstance(text, str) for text in texts) and len({*texts}) == len(texts)


def _points(value: Sequence[Any], stem: str) -> list[dict[str, Any]]:
    """The points of a chart, each of which has its time, its step and its value."""
    if len(value) < _LEAST_ROWS or not all(isinstance(item, list) and len(item) == 3 for item in value):
        return []
    numbers = [[json_number(cell) for cell in item] for item in value]
    if any(None in row for row in numbers):
        return []
    times, steps, points = ([float(row[column] or 0) for row in numbers] for column in range(3))
    if min(times) < step_columns.EARLIEST_CLOCK or not all(step.is_integer() for step in steps):
        return []
    tag = _TAG.fullmatch(stem)
    name = stem if tag is None else tag["tag"]
    return [
        {"wall_time": time, _STEP: step, name: point}
        for time, step, point in zip(times, steps, points, strict=True)
    ]


def _records_of_object(value: Any) -> list[dict[str, Any]]:
    """The records of an object whose keys count, or whose values all have the same such keys."""
    if not isinstance(value, dict) or not value:
        return []
    counts = _counts(value)
    if counts and all(isinstance(item, dict) for item in value.values()):
        return [_with_step(record, step) for step, record in zip(counts, value.values(), strict=True)]
    columns = {name: column for name, column in value.items() if isinstance(column, dict)}
    keys = [*next(iter(columns.values()), {})]
    counts = _counts(keys)
    if not counts or len(columns) < len(value) or any([*column] != keys for column in columns.values()):
        return []
    if any(isinstance(cell, dict | list) for column in columns.values() for cell in column.values()):
        return []
    return [
        _with_step({name: column[key] for name, column in columns.items()}, step)
        for step, key in zip(counts, keys, strict=True)
    ]


def _with_step(record: Mapping[str, Any], step: int) -> dict[str, Any]:
    """The record, with this step unless it has its own."""
    return {**record} if step_columns.find_step([*record]) is not None else {_STEP: step, **record}


def _counts(keys: Iterable[str]) -> list[int]:
    """What the keys count, each more than the one before; nothing of other keys, or of a few."""
    found = [_COUNT.fullmatch(key) for key in keys]
    counts = [int(match[1]) for match in found if match is not None]
    rises = all(before < after for before, after in pairwise(counts))
    return counts if rises and len(counts) == len(found) >= _LEAST_ROWS else []


def _has_metric(records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a record has a number with the name of a metric."""
    return any(
        is_metric_name(name) and json_number(value) is not None
        for record in records[:_LEAST_ROWS]
        for name, value in flatten_object(record)
    )


def _rows(records: Sequence[Mapping[str, Any]], prefix: tuple[str, ...]) -> Iterator[LogRow]:
    """The rows of records with numbers, in their order."""
    subjects = ObjectSubjects({})
    for record in records:
        fields = dict(flatten_object(record))
        step = step_columns.find_step([*fields])
        try:
            row = None if step is None else row_from_fields(fields, step)
        except ValueError:
            continue
        if row is not None and row.values:
            row = subjects.row(record, row)._replace(attempt=None, begins=False)
            values = {"/".join((*prefix, name)): value for name, value in row.values.items()}
            yield row._replace(time=row.time if row.time == row.time else nan, values=values)

"""Finds tables in JSON that is no list of lines: records, columns, and points of TensorBoard's charts.

`{"history": [{"loss": 0.5}, ...]}`: the order of records without a step is their step. So are the keys of
`{"0": {"loss": 0.5}, ...}` and `{"loss": {"0": 0.5, ...}}`, as pandas writes a table, if they count; and
`[[TIME, STEP, VALUE], ...]`, as TensorBoard saves a chart, or `[[STEP, VALUE], ...]`. A list of
`{"step": 10, "value": 0.5}` is named after its key. JSON Lines without a step are records as well. Lists of
the values of all epochs next to such tables are histories.
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
from holter.ingest.console.writers.repeated_rows import RepeatedRows
from holter.ingest.json_epochs import EpochAxis
from holter.ingest.json_objects import flatten_object, json_number, row_from_fields, step_name
from holter.ingest.json_subjects import ObjectSubjects
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.json_names import with_names
from holter.ingest.offline.json_trainings import are_trainings, trainings_of
from holter.ingest.offline.value_histories import rows_of_histories
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.repeated_epochs import RepeatedEpochs
from holter.ingest.rows import LogRow, batch_from_rows, first_launch
from holter.types import Batch, Labels, Unreadable, labels_of

_LEAST_ROWS = 3
_LEAST_OF_RECORDS = 0.9
"""Of the items of a list that are records."""
_MOST_NESTED = 6
_COUNT = re.compile(r"(?i)((?:epoch|step|iter(?:ation)?|episode|round|ep|batch)s?[ _:#-]{0,2})?(\d{1,15})")
"""What a key counts, with its name: `12`, `epoch_12`."""
_OF_CLASSES = re.compile(r"(?i)class|label|per_")
"""Names of what has a value for each class, which may be numbered as well."""
_TAG = re.compile(r"(?:.*-)?tag-(?P<tag>.+)")
"""A chart of TensorBoard, in the name of a file: `run-train-tag-loss`."""
_STEP = "step"
_EPOCH, _BATCH = "epoch", "batch"
_VALUE = "value"


class _JsonTable(NamedTuple):
    """The keys around a table, and its records; `is_named`: the names of its values have the keys in them.

    `is_of_batches`: its keys count batches within epochs, whatever the values are.
    """

    path: tuple[str, ...]
    records: list[dict[str, Any]]
    is_named: bool = False
    is_of_batches: bool = False


class JsonTables(WholeFile):
    """Tables in a document of JSON, or in lines of it, whose rows may have no step."""

    name: ClassVar[str] = "json-tables"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The rows of the tables of the file; nothing of other files, such as lists of values alone."""
        document = with_names(_document(text))
        for labels, part in trainings_of(document) or [((), document)]:
            yield from _batches(part, path.stem, labels)


def _batches(document: Any, stem: str, labels: Labels) -> Iterator[Batch]:
    """The tables of a document, and the histories beside them."""
    rest = json.dumps(_without_tables(document)) if isinstance(document, dict) else ""
    histories = rows_of_histories(rest, stem, is_document=True)
    tables = [
        each
        for each in _tables(document, stem)
        if each.is_of_batches
        or _has_metric(each.records)
        or len(each.records) == len({row.step for row in histories})
    ]
    names = [each.path for each in tables if not each.is_named]
    is_named = len(tables) + bool(histories) > 1 and len({*names}) == len(names)
    for table in tables:
        rows = [*_rows(table.records, table.path if is_named and not table.is_named else ())]
        while rows:
            launch, rows = first_launch(rows)
            begins = launch[0].begins
            yield RepeatedRows(()).batch([_labelled(row, labels) for row in launch], restarts=begins)
    if histories:
        yield batch_from_rows([_labelled(row, labels) for row in histories])


def _labelled(row: LogRow, labels: Labels) -> LogRow:
    return row._replace(labels=labels_of({**dict(row.labels), **dict(labels)})) if labels else row


def tables_of(document: Any, stem: str) -> list[_JsonTable]:
    """The tables of a document with the name of a metric in them."""
    return [each for each in _tables(document, stem) if _has_metric(each.records)]


def _document(text: str) -> Any:
    """What the text states; of JSON Lines a list of their objects. None if it is no JSON."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None
    are_single = all(isinstance(each, dict) and len(each) == 1 for each in lines)
    counted = [next(iter(each.items())) for each in lines] if are_single else []
    return dict(counted) if _counts([key for key, _ in counted]) else lines


def _tables(value: Any, stem: str, path: tuple[str, ...] = ()) -> Iterator[_JsonTable]:
    """The tables within a value, each of which is read as a whole."""
    if isinstance(value, list):
        name = "/".join(path) or stem
        if records := _records_of_list(value, stem):
            named = _named_after(name, records) if path else []
            yield _JsonTable(path, named or records, bool(named))
        elif records := _pairs(value, name):
            yield _JsonTable(path, records, is_named=True)
    elif isinstance(value, dict):
        if records := _records_of_batches(value):
            yield _JsonTable(path, records, is_of_batches=True)
            return
        if records := _records_of_object(value):
            yield _JsonTable(path, records)
            return
        counted = _counted_columns(value)
        if counted:
            yield _JsonTable(path, _records_of_columns(counted))
        for key, inner in value.items() if len(path) < _MOST_NESTED else ():
            if isinstance(inner, dict | list) and key not in counted:
                yield from _tables(inner, stem, (*path, key))


def _without_tables(value: Any, depth: int = 0) -> Any:
    """What a document states besides its tables: what is in dictionaries, and lists of numbers alone."""
    if isinstance(value, dict) and depth < _MOST_NESTED:
        counted = _counted_columns(value)
        return {
            key: _without_tables(inner, depth + 1)
            for key, inner in value.items()
            if key not in counted
            and not (isinstance(inner, dict) and (_records_of_object(inner) or _records_of_batches(inner)))
            and not (isinstance(inner, list) and any(isinstance(item, dict | list) for item in inner))
        }
    return value


def _records_of_list(value: Sequence[Any], stem: str) -> list[dict[str, Any]]:
    """The records of a list, or the points of a chart; nothing of other lists.

    Records without a step that are about another thing each, by a text of theirs, are no rows of a training.
    """
    records = [item for item in value if isinstance(item, dict)]
    if len(records) >= max(_LEAST_ROWS, _LEAST_OF_RECORDS * len(value)):
        if step_columns.find_step(_names(records)) is None:
            if _are_about_others(records):
                return []
            if (step := _rising(records)) is not None:
                return [
                    {_STEP if name == step else name: value for name, value in record.items()}
                    for record in records
                ]
            return [{_STEP: number, **record} for number, record in enumerate(records)]
        return records
    return _points(value, stem)


def _named_after(name: str, records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Records of a step and a value without a name, named after the key before them; nothing of others."""
    if any(_VALUE not in record or is_metric_name(_VALUE) for record in records):
        return []
    others = [key for key in records[0] if key != _VALUE]
    step, clock = step_columns.find_step(others), step_columns.find_clock(others)
    if step is None or not {*others} <= {step, clock}:
        return []
    return [{(name if key == _VALUE else key): cell for key, cell in record.items()} for record in records]


def _pairs(value: Sequence[Any], name: str) -> list[dict[str, Any]]:
    """The records of pairs of a step, which goes up, and a value: `[[0, 2.1], [10, 1.8], ...]`."""
    if len(value) < _LEAST_ROWS or not all(isinstance(item, list) and len(item) == 2 for item in value):
        return []
    steps = [step for step, _ in value if isinstance(step, int) and not isinstance(step, bool)]
    if len(steps) < len(value) or not all(before < after for before, after in pairwise(steps)):
        return []
    return [{_STEP: step, name: number} for step, number in value]


def _names(records: Sequence[Mapping[str, Any]]) -> list[str]:
    return [name for name, item in flatten_object(records[0]) if not isinstance(item, list)]


def _rising(records: Sequence[Mapping[str, Any]]) -> str | None:
    """The key of what counts by its name and goes up from record to record; None without any."""
    columns = {name: [record.get(name) for record in records] for name in records[0]}
    return step_columns.find_rising(columns)


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


def _records_of_batches(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The records of an object whose named keys count epochs, in each of which keys count; else nothing."""
    epochs = [_COUNT.fullmatch(key) for key in value]
    batches = [_counts(each) if isinstance(each, dict) else [] for each in value.values()]
    if not all(batches) or not all(epoch is not None and epoch[1] for epoch in epochs):
        return []
    return [
        {_EPOCH: int(epoch[2]), _BATCH: batch, **(cell if isinstance(cell, dict) else {_VALUE: cell})}
        for epoch, counts, cells in zip(epochs, batches, value.values(), strict=True)
        for batch, cell in zip(counts, cells.values(), strict=True)
        if epoch is not None
    ]


def _records_of_object(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The records of an object whose keys count; nothing of another one."""
    counts = _counts(value)
    items = [*value.values()]
    if counts and all(isinstance(item, dict) for item in items) and not are_trainings(items):
        return [_with_step(record, step) for step, record in zip(counts, value.values(), strict=True)]
    return []


def _counted_columns(value: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The columns among the values of an object: numbers under keys that count."""
    return {
        name: column
        for name, column in value.items()
        if isinstance(column, dict)
        and not any(isinstance(cell, dict | list) for cell in column.values())
        and _OF_CLASSES.search(name) is None
        and _counts(column)
    }


def _records_of_columns(columns: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The records of columns by what their keys count, of which a column may lack some."""
    by_step: dict[int, dict[str, Any]] = {}
    for name, column in columns.items():
        for step, cell in zip(_counts(column), column.values(), strict=True):
            by_step.setdefault(step, {})[name] = cell
    return [_with_step(record, step) for step, record in sorted(by_step.items())]


def _with_step(record: Mapping[str, Any], step: int) -> dict[str, Any]:
    """The record, with this step unless it has its own."""
    return {**record} if step_columns.find_step([*record]) is not None else {_STEP: step, **record}


def _counts(keys: Iterable[str]) -> list[int]:
    """What the keys count, each more than the one before; nothing of other keys, or of a few."""
    found = [_COUNT.fullmatch(key) for key in keys]
    counts = [int(match[2]) for match in found if match is not None]
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
    """The rows of records with numbers, in their order, as in lines of JSON."""
    subjects, epochs, repeated = ObjectSubjects({}), EpochAxis({}), RepeatedEpochs({})
    for record in records:
        fields = dict(flatten_object(record))
        step = step_name(fields)
        try:
            row = None if step is None else row_from_fields(fields, step)
        except ValueError:
            continue
        if row is not None and row.values:
            row = subjects.row(record, epochs.row(record, row))._replace(attempt=None, begins=False)
            values = {"/".join((*prefix, name)): value for name, value in row.values.items()}
            row = row._replace(time=row.time if row.time == row.time else nan, values=values)
            yield from repeated.add(row, counts_epochs=step == "epoch")
    yield from repeated.release()

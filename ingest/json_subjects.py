"""What the objects of a log in JSON Lines state that their rows are of: the data, the training."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.tables.row_subjects import (
    RowSubjects,
    is_never_measured,
    may_be_numbered,
    subject_cell,
    subject_word,
)
from holter.ingest.console.tables.table_rows import columns_of, evaluated_data
from holter.ingest.rows import LogRow
from holter.ingest.step_columns import LABEL_NAMES
from holter.types import labels_of


class _Keys(NamedTuple):
    """The keys of an object that may name its data, and those that may name its training."""

    data: tuple[str, ...]
    subjects: tuple[str, ...]


class ObjectSubjects:
    """Names the rows of an evaluation after their data, and labels those of other trainings than the first.

    The first object with such keys decides which of them tell trainings apart; `known` are others that do.
    """

    def __init__(self, state: Mapping[str, Any], known: Collection[str] = ()) -> None:
        self._known = frozenset(known)
        self._keys: list[str] = state.get("keys", [])
        self._rows = RowSubjects(state.get("rows", {}))

    def state(self) -> dict[str, Any]:
        """What is known of the trainings, as JSON-able values; empty before the first that has a name."""
        return {"keys": self._keys, "rows": self._rows.state()} if self._keys else {}

    def row(self, logged: Mapping[str, Any], row: LogRow) -> LogRow:
        """The row of an object, with what that states of it."""
        keys = _keys_of(tuple(logged), self._known)
        if not (keys.data or keys.subjects):
            return row
        cells = {key: cell for key in keys.subjects if (cell := _cell(logged[key], key))}
        data = evaluated_data([value for key in keys.data if isinstance(value := logged[key], str)])
        self._keys = self._keys or [*cells]
        labels = row.labels
        if self._keys:
            subject = tuple(cells.get(key, "") for key in self._keys)
            [own] = self._rows.labels([subject], [row.step], [*map(_word, self._keys)])
            labels = labels_of({**dict(labels), **dict(own)}) if own else labels
        no_metrics = {key for key in cells if self._rows.tells or is_never_measured(_word(key))}
        values = row.values
        if data or not no_metrics.isdisjoint(values):
            values = {metric_name(name, data): values[name] for name in values if name not in no_metrics}
        if values is row.values and labels is row.labels:
            return row
        return row._replace(values=values, labels=labels)


@lru_cache(maxsize=256)
def _keys_of(keys: tuple[str, ...], known: frozenset[str]) -> _Keys:
    data = tuple(keys[column] for column in columns_of(keys).data if keys[column] not in LABEL_NAMES)
    of_subjects = (key for key in keys if key not in LABEL_NAMES and (key in known or subject_word(key)))
    return _Keys(data, tuple(of_subjects))


def _word(key: str) -> str:
    """The word for what a key names, which is the label of its rows."""
    return subject_word(key) or "_".join(key.lower().split())


def _cell(value: object, key: str) -> str:
    """The name or the number of a training; nothing for other values, such as measured ones."""
    if isinstance(value, str):
        return subject_cell(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number and may_be_numbered(subject_word(key)) else ""

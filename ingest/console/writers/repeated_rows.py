"""Rows of a launch that state other values of the same names at the same step once more.

A text may state values of several data, models or environments at a step without a name for them that is
recognised. Points of a series replace earlier ones of their step: so that none is hidden, those of the second
row have the label `repeat=2`, and so on. A row that is printed again, with the same values, has none. Nor has
one that replaces provisional values: of a step that was not complete, or of a line that was drawn over.

So it is for names that rows of other kinds have as well, from the first step on at which these differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan
from operator import is_
from typing import Any

from holter.ingest.console.line.names_of_kinds import KindOfRows, NamesOfKinds
from holter.ingest.console.stored_state import labels_from_json
from holter.ingest.rows import LogRow, RowsOfKinds, batch_from_rows, rows_of_kinds
from holter.types import NO_CONFIG, Batch, Config, Labels, label_of, labels_of

REPEAT = "repeat"
"""The name of the label."""
_MOST_KINDS = 256
"""Kinds of rows, by their labels and the names of their values, that are looked at."""
MOST_REPEATS = 32
"""Rows of a step that are distinguished; more replace the last of these."""

_Kind = tuple[Labels, tuple[str, ...]]


class RepeatedRows:
    """Labels rows by how often their step has had other values of the same names."""

    def __init__(self, state: Iterable[Sequence[Any]]) -> None:
        self._kinds: dict[_Kind, KindOfRows] = {}
        self._names = NamesOfKinds()
        for labels, last in state:
            self._add((labels_from_json(labels) or (), tuple(last[2])), KindOfRows(*last))
        for (labels, _), known in sorted(self._kinds.items(), key=lambda each: each[1].step):
            self._names.note(labels, known)

    def state(self) -> list[list[Any]]:
        """What later rows are compared with, as JSON-able values."""
        return [
            [
                labels,
                [kind.step, kind.number, dict(kind.values), kind.is_provisional, kind.numbers, kind.highest],
            ]
            for (labels, _), kind in self._kinds.items()
        ]

    def batch(self, rows: Sequence[LogRow], *, config: Config = NO_CONFIG, restarts: bool = False) -> Batch:
        """A batch of rows; see `batch_from_rows`. Rows that repeat a step have a label."""
        if restarts:
            self.forget()
        kinds = rows_of_kinds(rows)
        batch = batch_from_rows(rows, config=config, restarts=restarts, kinds=kinds)
        if not rows or self._is_of_later_steps(batch, rows, kinds):
            return batch
        labelled = [*self._apart(rows)]
        if len(labelled) == len(rows) and all(map(is_, labelled, rows)):
            return batch
        return batch_from_rows(labelled, config=config, restarts=restarts)

    def forget(self) -> None:
        """Compare later rows with none of those so far: they are of another attempt, or of other steps."""
        self._kinds.clear()
        self._names.clear()

    def labelled(self, rows: Iterable[LogRow]) -> list[LogRow]:
        """The rows, those that repeat a step of rows with the same names with a label."""
        return [_with_number(row, number) for row, number, _ in self._numbered(rows)]

    def _apart(self, rows: Iterable[LogRow]) -> Iterator[LogRow]:
        """The rows; values that another row of their step has otherwise are in rows with a label."""
        for row, number, kind in self._numbered(rows):
            if kind is not None and kind.shared:
                self._names.note(row.labels, kind)
            if kind is None or not kind.numbers:
                yield _with_number(row, number)
                continue
            by_number: dict[int, dict[str, float]] = {}
            for name, value in row.values.items():
                by_number.setdefault(number + kind.numbers.get(name, 0), {})[name] = value
            for each, values in by_number.items():
                yield _with_number(row._replace(values=values), each)

    def _is_of_later_steps(self, batch: Batch, rows: Sequence[LogRow], kinds: RowsOfKinds) -> bool:
        """Whether each value is of a later step than all before it of its name: so are nearly all of a log.

        They are noted then.
        """
        known = [(self._kinds.get(kind), rows[numbers[-1]]) for kind, numbers in kinds.items()]
        if any(last is None or last.numbers for last, _ in known):
            return False
        first_steps: dict[tuple[Labels, str], int] = {}
        for column in batch.columns:
            steps = batch.steps if column.rows is None else batch.steps[column.rows]
            if not (steps[1:] > steps[:-1]).all():
                return False
            first_steps[column.key.labels, column.key.metric] = int(steps[0])
        for (labels, names), of_kind in self._kinds.items():
            if any(first_steps.get((labels, name), of_kind.step + 1) <= of_kind.step for name in names):
                return False
        for last, row in sorted(known, key=lambda each: each[1].step):
            assert last is not None, "kinds that are all known"
            last.step, last.number, last.values = row.step, 1, row.values
            last.is_provisional = row.is_provisional
            if last.shared:
                self._names.note(row.labels, last)
        return True

    def _add(self, kind: _Kind, first: KindOfRows) -> None:
        self._kinds[kind] = first
        if not _has_own_steps(kind[0]):
            self._names.add(kind[0], first)

    def _numbered(self, rows: Iterable[LogRow]) -> Iterator[tuple[LogRow, int, KindOfRows | None]]:
        """The rows, each with its number among those of its kind and step, and its kind if that is known."""
        kinds = self._kinds
        for row in rows:
            kind, step, values = _kind_of(row), row.step, row.values
            last = kinds.get(kind)
            if row.begins or (last is not None and step < last.step):  # another attempt
                self.forget()
                last = None
            if last is None:
                if len(kinds) < _MOST_KINDS:
                    self._add(kind, last := KindOfRows(step, 1, values, row.is_provisional))
                yield row, 1, last
                continue
            if step > last.step:
                last.step, last.number = step, 1
            elif not (
                row.is_provisional
                or last.is_provisional
                or _are_same(values, last.values)
                or _has_own_steps(row.labels)
            ):
                last.number = min(last.number + 1, MOST_REPEATS)
                last.highest = max(last.highest, last.number)
            last.values, last.is_provisional = values, row.is_provisional
            yield row, last.number, last


def _kind_of(row: LogRow) -> _Kind:
    return row.labels, tuple(row.values)


def _has_own_steps(labels: Labels) -> bool:
    """Whether the steps of a series are no steps of the training: reports and events state what they are."""
    return label_of(labels, "steps") is not None


def _are_same(values: Mapping[str, float], others: Mapping[str, float]) -> bool:
    pairs = zip(values.values(), others.values(), strict=True)
    return all(value == other or (isnan(value) and isnan(other)) for value, other in pairs)


def _with_number(row: LogRow, number: int) -> LogRow:
    return row if number == 1 else row._replace(labels=labels_of({**dict(row.labels), REPEAT: number}))

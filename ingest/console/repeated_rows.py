"""Rows of a launch that state other values of the same names at the same step once more.

A text may state values of several data, models or environments at a step without a name for them that is
recognised. Points of a series replace earlier ones of their step: so that none is hidden, those of the second
row have the label `repeat=2`, and so on. A row that is printed again, with the same values, has none. Nor has
one that replaces provisional values: of a step that was not complete, or of a line that was drawn over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from operator import is_
from typing import Any

from holter.ingest.console.stored_state import labels_from_json
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import NO_CONFIG, Batch, Config, Labels, labels_of

REPEAT = "repeat"
"""The name of the label."""
_MOST_KINDS = 256
"""Kinds of rows, by their labels and the names of their values, that are looked at."""
_MOST_REPEATS = 32
"""Rows of a step that are told apart; more replace the last of these."""

_Kind = tuple[Labels, tuple[str, ...]]


@dataclass(slots=True)
class _LastStep:
    """The last step of a kind of rows, the number of different rows there, and the values of the last one."""

    step: int
    number: int
    values: Mapping[str, float]
    is_provisional: bool = False


class RepeatedRows:
    """Labels rows by how often their step has had other values of the same names."""

    def __init__(self, state: Iterable[Sequence[Any]]) -> None:
        self._kinds: dict[_Kind, _LastStep] = {
            (labels_from_json(labels) or (), tuple(last[2])): _LastStep(*last) for labels, last in state
        }

    def state(self) -> list[list[Any]]:
        """What later rows are compared with, as JSON-able values."""
        return [
            [labels, [last.step, last.number, dict(last.values), last.is_provisional]]
            for (labels, _), last in self._kinds.items()
        ]

    def batch(self, rows: Sequence[LogRow], *, config: Config = NO_CONFIG, restarts: bool = False) -> Batch:
        """A batch of rows; see `batch_from_rows`. Rows that repeat a step have a label."""
        if restarts:
            self._kinds.clear()
        batch = batch_from_rows(rows, config=config, restarts=restarts)
        if not rows or self._is_of_later_steps(batch, rows):
            return batch
        labelled = self.labelled(rows)
        if all(map(is_, labelled, rows)):
            return batch
        return batch_from_rows(labelled, config=config, restarts=restarts)

    def forget(self) -> None:
        """Compare later rows with none of those so far: they are of another attempt, or of other steps."""
        self._kinds.clear()

    def labelled(self, rows: Iterable[LogRow]) -> list[LogRow]:
        """The rows, those that repeat a step with a label."""
        return list(self._labelled(rows))

    def _is_of_later_steps(self, batch: Batch, rows: Sequence[LogRow]) -> bool:
        """Whether all rows are of one kind and each is of a later step: so are nearly all of a large log."""
        if any(column.rows is not None for column in batch.columns):
            return False
        kind, row = _kind_of(rows[0]), rows[-1]
        last = self._kinds.get(kind)
        if last is None or len(row.values) < len(batch.columns) or rows[0].step <= last.step:
            return False
        if not (batch.steps[1:] > batch.steps[:-1]).all():
            return False
        self._kinds[kind] = _LastStep(row.step, 1, row.values, row.is_provisional)
        return True

    def _labelled(self, rows: Iterable[LogRow]) -> Iterator[LogRow]:
        kinds = self._kinds
        for row in rows:
            kind, step, values = _kind_of(row), row.step, row.values
            last = kinds.get(kind)
            if row.begins or (last is not None and step < last.step):  # another attempt
                kinds.clear()
                last = None
            if last is None:
                if len(kinds) < _MOST_KINDS:
                    kinds[kind] = _LastStep(step, 1, values, row.is_provisional)
                yield row
                continue
            if step > last.step:
                last.step, last.number = step, 1
            elif not (
                row.is_provisional
                or last.is_provisional
                or _are_same(values, last.values)
                or _has_own_steps(row.labels)
            ):
                last.number = min(last.number + 1, _MOST_REPEATS)
            last.values, last.is_provisional = values, row.is_provisional
            yield row if last.number == 1 else _with_number(row, last.number)


def _kind_of(row: LogRow) -> _Kind:
    return row.labels, tuple(row.values)


def _has_own_steps(labels: Labels) -> bool:
    """Whether the steps of a series are no steps of the training: reports and events say what they are."""
    return any(name == "steps" for name, _ in labels)


def _are_same(values: Mapping[str, float], others: Mapping[str, float]) -> bool:
    pairs = zip(values.values(), others.values(), strict=True)
    return all(value == other or (isnan(value) and isnan(other)) for value, other in pairs)


def _with_number(row: LogRow, number: int) -> LogRow:
    return row._replace(labels=labels_of({**dict(row.labels), REPEAT: number}))

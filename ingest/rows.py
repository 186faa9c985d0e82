"""Rows of logs, one per log call, and their conversion to the columns of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from holter.types import NO_CONFIG, Batch, Column, Config, Labels, SeriesKey


class LogRow(NamedTuple):
    """Values logged in one call. `time` is in Unix seconds, NaN without a clock; all values have `labels`.

    `begins`: a new launch begins with it, whatever its step is. `is_provisional`: a later row may replace it:
    its step is not complete, or its line was drawn over another.
    """

    step: int
    time: float
    values: Mapping[str, float]
    labels: Labels = ()
    attempt: str | None = None
    begins: bool = False
    is_provisional: bool = False


def rows_from_columns(
    steps: Iterable[int], times: Iterable[float], values: Iterable[Mapping[str, float]]
) -> list[LogRow]:
    """Rows without labels; in a third of the time that their constructor takes."""
    others = map(repeat, LogRow(0, nan, {})[3:])
    return [*map(partial(tuple.__new__, LogRow), zip(steps, times, values, *others, strict=False))]


def row_to_json(row: LogRow) -> list[Any]:
    """A row as JSON-able values."""
    time = None if isnan(row.time) else row.time
    stored = [row.step, time, dict(row.values), row.labels, row.attempt, row.begins]
    return [*stored, True] if row.is_provisional else stored


def row_from_json(stored: Sequence[Any]) -> LogRow:
    """The row from what `row_to_json` returned."""
    step, time, values, labels, *more = stored
    pairs = tuple((name, value) for name, value in labels)
    return LogRow(step, nan if time is None else time, values, pairs, *more)


RowsOfKinds = Mapping[tuple[Labels, tuple[str, ...]], Sequence[int]]
"""The numbers of the rows of each kind, which have the same labels and the same names in the same order."""


def rows_of_kinds(rows: Sequence[LogRow]) -> RowsOfKinds:
    """The rows of each kind; kinds and their rows are in the order of the rows."""
    numbers: dict[tuple[Labels, tuple[str, ...]], list[int]] = {}
    for number, row in enumerate(rows):
        if (of_kind := numbers.get(kind := (row[3], tuple(row[2])))) is None:
            of_kind = numbers[kind] = []
        of_kind.append(number)
    return numbers


def batch_from_rows(
    rows: Sequence[LogRow],
    *,
    config: Config = NO_CONFIG,
    restarts: bool = False,
    kinds: RowsOfKinds | None = None,
) -> Batch:
    """A batch of the rows of one attempt, in their order; `config` was logged before them.

    `restarts`: a new launch begins with the first row. Other rows that begin one are those of other batches.
    `kinds` are those of the rows, if they are known.
    """
    return Batch(
        steps=np.array([row[0] for row in rows], dtype=np.int64),
        times=np.array([row[1] for row in rows], dtype=np.float64),
        columns=_columns(rows, rows_of_kinds(rows) if kinds is None else kinds),
        attempt=rows[0].attempt if rows else None,
        restarts=restarts,
        config=config,
    )


def _columns(rows: Sequence[LogRow], kinds: RowsOfKinds) -> Sequence[Column]:
    """The columns of some rows: for each name and label, of the rows that have it."""
    columns: dict[Labels, dict[str, tuple[list[int], list[float]]]] = {}
    for (labels, names), numbers in kinds.items():
        values = [*chain.from_iterable([rows[number][2].values() for number in numbers])]
        by_metric = columns.setdefault(labels, {})
        for place, metric in enumerate(names):
            of_rows, of_metric = by_metric.setdefault(metric, ([], []))
            of_rows += numbers
            of_metric += values[place :: len(names)]
    return tuple(
        _column(SeriesKey(metric, labels), of_rows, values, len(rows))
        for labels, by_metric in columns.items()
        for metric, (of_rows, values) in by_metric.items()
    )


def _column(key: SeriesKey, numbers: Sequence[int], values: Sequence[float], rows: int) -> Column:
    """The column of a series with values in some rows, which are in order among those of one kind."""
    in_rows, in_order = np.array(numbers, dtype=np.int64), np.array(values, dtype=np.float64)
    if (in_rows[1:] < in_rows[:-1]).any():
        order = np.argsort(in_rows)
        in_rows, in_order = in_rows[order], in_order[order]
    return Column(key=key, values=in_order, rows=None if len(in_rows) == rows else in_rows)


def first_launch(rows: list[LogRow]) -> tuple[list[LogRow], list[LogRow]]:
    """The rows up to the first one behind others with which a launch begins, and the rest."""
    end = next((number for number, row in enumerate(rows) if row.begins and number), len(rows))
    return rows[:end], rows[end:]

"""Positions in a series: its attempts as ranges of rows, and the rows up to a position, by binary search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from holter.types import FloatArray, Series

Position = tuple[int, int]
"""Attempt and step: the rows of every series are in this order."""


class RowPosition(NamedTuple):
    """A row of a series or a table, counted from its beginning, with its attempt and step."""

    row: int
    attempt: int
    step: int


class AttemptRows(NamedTuple):
    """The rows of one attempt: from `first` up to `after`, which is not included."""

    attempt: int
    first: int
    after: int

    @property
    def rows(self) -> slice:
        """The rows as a slice."""
        return slice(self.first, self.after)


def attempt_rows(series: Series, first: int = 0) -> list[AttemptRows]:
    """The attempts of a series' rows from `first` on."""
    if first >= len(series):
        return []
    lowest, highest = int(series.attempt[first]), int(series.attempt[-1])
    is_dense = highest - lowest < len(series)  # as Holter numbers them; others may have numbers of their own
    numbers = np.arange(lowest, highest + 1) if is_dense else np.unique(series.attempt[first:])
    afters = np.searchsorted(series.attempt, numbers, side="right").tolist()
    return [
        AttemptRows(attempt, begin, after)
        for attempt, begin, after in zip(numbers.tolist(), [first, *afters], afters, strict=False)
        if after > begin  # others logged nothing in this series
    ]


def rows_of_attempt(series: Series, attempt: int) -> AttemptRows:
    """The rows of an attempt; none where it logged nothing."""
    first, after = np.searchsorted(series.attempt, (attempt, attempt + 1)).tolist()
    return AttemptRows(attempt, first, after)


def position_of(series: Series, row: int) -> Position:
    """The attempt and step of a row."""
    return int(series.attempt[row]), int(series.step[row])


def rows_up_to(series: Series, position: Position) -> int:
    """The number of rows at or before a position."""
    attempt, step = position
    span = rows_of_attempt(series, attempt)
    return span.first + int(np.searchsorted(series.step[span.rows], step, side="right"))


def last_common_position(series: Sequence[Series]) -> Position:
    """The earliest of the last positions of some series, none of them empty. Later points come after it, as
    long as the series are logged together."""
    return min(position_of(each, len(each) - 1) for each in series)


def values_before(series: Series, attempt: int, step: int, count: int) -> FloatArray:
    """The last finite values, at most `count`, before a step in an attempt and in those before it."""
    values = np.empty(0)
    for span in reversed(attempt_rows(series)):
        if span.attempt > attempt:
            continue
        row = rows_up_to(series, (span.attempt, step - 1))
        while row > span.first and len(values) < count:
            first = max(row - count, span.first)
            chunk = series.value[first:row]
            values, row = np.concatenate((chunk[np.isfinite(chunk)], values)), first
    return values[-count:]

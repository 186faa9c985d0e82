"""Places in a series: its attempts as ranges of rows, and the rows up to a place, found by halving."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from holter.types import FloatArray, Series

Position = tuple[int, int]
"""Attempt and step: the order of the rows of every series."""


class RowPosition(NamedTuple):
    """A row of a series or a table, counted from its beginning, and where it stands."""

    row: int
    attempt: int
    step: int


class AttemptRows(NamedTuple):
    """The rows of one attempt: from `first` to `after`, the latter not included."""

    attempt: int
    first: int
    after: int

    @property
    def rows(self) -> slice:
        return slice(self.first, self.after)


def attempt_rows(series: Series, first: int = 0) -> list[AttemptRows]:
    """The attempts among a series' rows from `first` on."""
    spans = []
    while first < len(series):
        attempt = int(series.attempt[first])
        after = int(np.searchsorted(series.attempt, attempt, side="right"))
        spans.append(AttemptRows(attempt, first, after))
        first = after
    return spans


def rows_of_attempt(series: Series, attempt: int) -> AttemptRows:
    """The rows of an attempt, none where it logged nothing."""
    first, after = np.searchsorted(series.attempt, (attempt, attempt + 1)).tolist()
    return AttemptRows(attempt, first, after)


def position_of(series: Series, row: int) -> Position:
    """Where a row stands."""
    return int(series.attempt[row]), int(series.step[row])


def rows_up_to(series: Series, place: Position) -> int:
    """How many rows stand at a place or before it."""
    attempt, step = place
    span = rows_of_attempt(series, attempt)
    return span.first + int(np.searchsorted(series.step[span.rows], step, side="right"))


def last_common_position(series: Sequence[Series]) -> Position:
    """Up to where each of some series has come, none of them empty: what comes next comes after it, if they
    are logged side by side."""
    return min(position_of(one, len(one) - 1) for one in series)


def values_before(series: Series, attempt: int, step: int, count: int) -> FloatArray:
    """The last finite values, at most so many, that stand before a step in an attempt and those before it."""
    found = np.empty(0)
    for span in reversed(attempt_rows(series)):
        if span.attempt > attempt:
            continue
        row = rows_up_to(series, (span.attempt, step - 1))
        while row > span.first and len(found) < count:
            first = max(row - count, span.first)
            some = series.value[first:row]
            found, row = np.concatenate((some[np.isfinite(some)], found)), first
    return found[-count:]

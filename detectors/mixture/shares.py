"""Shares: how much of each dataset a total loss is made of, worked out where nobody logs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from holter.detectors.positions import Position
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series

_TRUST = 1e-3
"""Weight of what the shares were before, against what the losses say: decides what they leave open."""
_HALVED = 6
_SPREAD_ROWS, _SPREAD = 2**_HALVED, 0.02
"""Rows that the datasets' losses are compared on; nearer to each other than so much of the loss, shares
say nothing."""
_HUGE = 1e12


@dataclass(frozen=True, eq=False, kw_only=True)
class Sources:
    """A run's loss and those of its datasets [k]; their shares as logged, none where not all of them are."""

    names: tuple[str, ...]
    total: Series
    losses: tuple[Series, ...]
    shares: tuple[Series, ...]

    @property
    def series(self) -> list[Series]:
        """All of them: the losses first."""
        return [self.total, *self.losses, *self.shares]

    def logged(self, parts: Parts) -> FloatArray | None:
        """The shares as they were logged at some rows [n, k], None where they are not."""
        if not self.shares:
            return None
        places = _numbered(parts.attempt, parts.step)
        shares = np.stack([_latest(one, places) for one in self.shares], axis=1)
        total = shares.sum(axis=1, keepdims=True)
        normal: FloatArray = shares / np.where(total > 0, total, np.nan)
        return normal


@dataclass(frozen=True, eq=False, kw_only=True)
class Parts:
    """Rows [n] of a total loss and of its datasets' [n, k], ascending numbers of those at which all of them
    were logged. `spread`: how far the datasets' losses were apart of late."""

    row: IntArray
    attempt: IntArray
    step: IntArray
    total: FloatArray
    parts: FloatArray
    spread: FloatArray

    def __len__(self) -> int:
        return len(self.row)

    def between(self, first: int, after: int) -> Parts:
        """Those with these numbers, `after` not included."""
        return self._part(slice(*np.searchsorted(self.row, (first, after)).tolist()))

    def latest(self, count: int) -> Parts:
        """The last so many."""
        return self._part(slice(max(len(self) - count, 0), len(self)))

    def _part(self, rows: slice) -> Parts:
        return Parts(**{name: getattr(self, name)[rows] for name in _COLUMNS})

    def copy(self) -> Parts:
        """The same, free of the rows it was cut from."""
        return Parts(**{name: getattr(self, name).copy() for name in _COLUMNS})

    def and_then(self, others: Parts) -> Parts:
        """These and those that follow them."""
        return Parts(
            **{name: np.concatenate([getattr(one, name) for one in (self, others)]) for name in _COLUMNS}
        )

    def rows_upto(self, place: Position) -> int:
        """The number of the first row after a place, if there is one here before it; else 0."""
        attempt, step = place
        first, after = np.searchsorted(self.attempt, (attempt, attempt + 1)).tolist()
        upto = first + int(np.searchsorted(self.step[first:after], step, side="right"))
        return int(self.row[upto - 1]) + 1 if upto else 0


_COLUMNS = [one.name for one in fields(Parts)]


def sources_of(run: RunData) -> Sources | None:
    """The series to look at; None with fewer than two datasets."""
    keys = [key for key in sorted(run.series) if not any(name == "rank" for name, _ in key.labels)]
    total = next((run.series[key] for key in keys if role_of(key) is Role.LOSS), None)
    losses = {_dataset(run.series[key]): run.series[key] for key in keys if role_of(key) is Role.DATASET_LOSS}
    if total is None or len(losses) < 2:
        return None
    mixed = {_dataset(run.series[key]): run.series[key] for key in keys if role_of(key) is Role.MIXTURE}
    shares = tuple(mixed[name] for name in losses if name in mixed)
    return Sources(
        names=tuple(losses),
        total=total,
        losses=tuple(losses.values()),
        shares=shares if len(shares) == len(losses) else (),
    )


def parts_of(sources: Sources, first: Sequence[int], before: Parts | None) -> Parts:
    """The rows of the losses from some rows of theirs on; `before` are enough of the rows before these."""
    total, since = sources.total, first[0]
    places = _numbered(total.attempt[since:], total.step[since:])
    value = total.value[since:]
    there, columns = np.isfinite(value), []
    for one, begin in zip(sources.losses, first[1:], strict=False):
        own = _values_at(one, begin, places)
        columns.append(own)
        there &= np.isfinite(own)
    rows = slice(None) if there.all() else np.flatnonzero(there)
    parts = np.stack([np.clip(column[rows], -_HUGE, _HUGE) for column in columns], axis=1)
    number = 0 if before is None else int(before.row[-1]) + 1
    known = parts if before is None else np.concatenate((before.parts, parts))
    return Parts(
        row=np.arange(number, number + len(parts)),
        attempt=total.attempt[since:][rows],
        step=total.step[since:][rows],
        total=np.clip(value[rows], -_HUGE, _HUGE),
        parts=parts,
        spread=_spread(known, number, len(parts)),
    )


def _dataset(series: Series) -> str:
    return dict(series.key.labels).get("dataset") or series.key.metric.rsplit("/", 1)[-1]


def _numbered(attempt: IntArray, step: IntArray) -> IntArray:
    """One number a row: attempts in order, steps within."""
    places: IntArray = attempt * 2**40 + np.clip(step, -(2**39), 2**39 - 1)
    return places


def _values_at(series: Series, first: int, wanted: IntArray) -> FloatArray:
    """The value at each of some places, looked for from a row on; NaN where there is none."""
    places, value = _numbered(series.attempt[first:], series.step[first:]), series.value[first:]
    if np.array_equal(places, wanted):
        return value
    if not len(places):
        return np.full(len(wanted), np.nan)
    rows = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
    return np.where(places[rows] == wanted, value[rows], np.nan)


def _latest(series: Series, places: IntArray) -> FloatArray:
    if not len(series):
        return np.full(len(places), np.nan)
    at = np.searchsorted(_numbered(series.attempt, series.step), places, side="right") - 1
    return np.where(at >= 0, series.value[np.maximum(at, 0)], np.nan)


def _spread(parts: FloatArray, number: int, rows: int) -> FloatArray:
    """How far the datasets' losses were apart of late, at the last `rows` of these [m, k], the first of
    which has a number."""
    count = np.minimum(np.arange(number + 1, number + rows + 1), _SPREAD_ROWS)
    before = parts[max(len(parts) - rows - _SPREAD_ROWS + 1, 0) :].T
    nothing = np.zeros((len(before), rows + _SPREAD_ROWS - 1 - before.shape[1]))
    total = np.concatenate((nothing, before), axis=1)
    # sums of pairs, of pairs of pairs: what they are never depends on where the rows begin
    for apart in 2 ** np.arange(_HALVED):
        total = total[:, apart:] + total[:, :-apart]
    middle, square = np.zeros(rows), np.zeros(rows)
    for mean in total / count:
        middle += mean / len(total)
        square += mean**2 / len(total)
    spread: FloatArray = np.sqrt(np.maximum(square - middle**2, 0.0))
    return np.maximum(spread, _SPREAD * np.abs(middle)) + 1e-12


def fitted(total: FloatArray, parts: FloatArray, before: FloatArray) -> FloatArray:
    """The shares [k] by which losses of datasets [n, k] best add up to a total [n], together 1.

    Least squares; what these rows leave open stays as it was in `before` [k].
    """
    rest = total - parts @ before
    # shares move against each other: what one gains, the others lose
    centred = parts - parts.mean(axis=1, keepdims=True)
    square = centred.T @ centred
    trust = _TRUST * float(np.trace(square)) / len(before) + 1e-300
    moved: FloatArray = np.linalg.solve(square + trust * np.eye(len(before)), centred.T @ rest)
    shares: FloatArray = before + moved - moved.mean()
    return shares

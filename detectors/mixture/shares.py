"""Shares of datasets in a total loss, estimated from the losses where the shares are not logged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from holter.detectors.positions import Position
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series

_SPREAD_DOUBLINGS = 6
_SPREAD_ROWS = 2**_SPREAD_DOUBLINGS
"""Rows that the datasets' losses are compared on; their sums are formed by this many doublings."""
_VALUE_LIMIT = 1e12
"""Losses are clipped to this magnitude, so that products of them stay finite."""
_TINY = 1e-300


@dataclass(frozen=True, kw_only=True)
class ShareThresholds(Thresholds):
    """How shares are estimated from losses."""

    prior_weight: float = 1e-3
    """Weight of the shares from before relative to the losses: it decides what the losses leave open."""
    least_spread: float = 0.02
    """Share of the loss by which the datasets' losses differ, at least: where they are closer to each other,
    shares have no effect on the total."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DatasetLosses:
    """A run's loss, those of its datasets [k], and their logged shares; none where not all are logged."""

    names: tuple[str, ...]
    total: Series
    losses: tuple[Series, ...]
    shares: tuple[Series, ...]

    @property
    def series(self) -> list[Series]:
        """All series: the losses first."""
        return [self.total, *self.losses, *self.shares]

    def logged_shares(self, rows: LossRows) -> FloatArray | None:
        """The shares as they were logged at some rows [n, k], None where they are not logged."""
        if not self.shares:
            return None
        positions = _position_numbers(rows.attempt, rows.step)
        shares = np.stack([_latest_values(series, positions) for series in self.shares], axis=1)
        total = shares.sum(axis=1, keepdims=True)
        normalized: FloatArray = shares / np.where(total > 0, total, np.nan)
        return normalized


@dataclass(frozen=True, eq=False, kw_only=True)
class LossRows:
    """Rows [n] of a total loss and of its datasets' losses [n, k], of those at which all of them were logged.

    `row` are their ascending numbers; `spread` is how far the datasets' losses differed recently.
    """

    row: IntArray
    attempt: IntArray
    step: IntArray
    total: FloatArray
    losses: FloatArray
    spread: FloatArray

    def __len__(self) -> int:
        return len(self.row)

    def between(self, first: int, stop: int) -> LossRows:
        """The rows with numbers from `first` to `stop` (exclusive)."""
        return self._slice(slice(*np.searchsorted(self.row, (first, stop)).tolist()))

    def latest(self, count: int) -> LossRows:
        """The last `count` rows."""
        return self._slice(slice(max(len(self) - count, 0), len(self)))

    def _slice(self, rows: slice) -> LossRows:
        return LossRows(**{name: getattr(self, name)[rows] for name in _COLUMNS})

    def copy(self) -> LossRows:
        """A copy that does not hold on to the arrays it was sliced from."""
        return LossRows(**{name: getattr(self, name).copy() for name in _COLUMNS})

    def extended(self, later: LossRows) -> LossRows:
        """These rows and those that follow them."""
        return LossRows(
            **{name: np.concatenate((getattr(self, name), getattr(later, name))) for name in _COLUMNS}
        )

    def rows_up_to(self, position: Position) -> int:
        """The number of the first row after a position, if one of these rows is before it; else 0."""
        attempt, step = position
        first, stop = np.searchsorted(self.attempt, (attempt, attempt + 1)).tolist()
        index = first + int(np.searchsorted(self.step[first:stop], step, side="right"))
        return int(self.row[index - 1]) + 1 if index else 0


_COLUMNS = [column.name for column in fields(LossRows)]


def find_dataset_losses(run: RunData) -> DatasetLosses | None:
    """The series to examine; None with fewer than two datasets."""
    keys = [key for key in sorted(run.series) if key.rank is None]
    total = next((run.series[key] for key in keys if role_of(key) is Role.LOSS), None)
    losses = {
        _dataset_name(run.series[key]): run.series[key] for key in keys if role_of(key) is Role.DATASET_LOSS
    }
    if total is None or len(losses) < 2:
        return None
    logged = {_dataset_name(run.series[key]): run.series[key] for key in keys if role_of(key) is Role.MIXTURE}
    shares = tuple(logged[name] for name in losses if name in logged)
    return DatasetLosses(
        names=tuple(losses),
        total=total,
        losses=tuple(losses.values()),
        shares=shares if len(shares) == len(losses) else (),
    )


def read_loss_rows(
    datasets: DatasetLosses, first: Sequence[int], before: LossRows | None, thresholds: ShareThresholds
) -> LossRows:
    """The rows of the losses, from row `first[i]` of each series on; `before` are enough of the rows
    before."""
    total, begin = datasets.total, first[0]
    positions = _position_numbers(total.attempt[begin:], total.step[begin:])
    value = total.value[begin:]
    is_complete, columns = np.isfinite(value), []
    for series, series_begin in zip(datasets.losses, first[1:], strict=False):
        column = _values_at(series, series_begin, positions)
        columns.append(column)
        is_complete &= np.isfinite(column)
    rows = slice(None) if is_complete.all() else np.flatnonzero(is_complete)
    losses = np.stack([np.clip(column[rows], -_VALUE_LIMIT, _VALUE_LIMIT) for column in columns], axis=1)
    number = 0 if before is None else int(before.row[-1]) + 1
    known = losses if before is None else np.concatenate((before.losses, losses))
    return LossRows(
        row=np.arange(number, number + len(losses)),
        attempt=total.attempt[begin:][rows],
        step=total.step[begin:][rows],
        total=np.clip(value[rows], -_VALUE_LIMIT, _VALUE_LIMIT),
        losses=losses,
        spread=_recent_spread(known, number, len(losses), thresholds),
    )


def _dataset_name(series: Series) -> str:
    return series.key.label("dataset") or series.key.metric.rsplit("/", 1)[-1]


def _position_numbers(attempt: IntArray, step: IntArray) -> IntArray:
    """One number per row [n] that orders attempts, and steps within them."""
    positions: IntArray = attempt * 2**40 + np.clip(step, -(2**39), 2**39 - 1)
    return positions


def _values_at(series: Series, first: int, wanted: IntArray) -> FloatArray:
    """The value at each of some positions [n], searched for from row `first` on; NaN where there is none."""
    positions, value = _position_numbers(series.attempt[first:], series.step[first:]), series.value[first:]
    if np.array_equal(positions, wanted):
        return value
    if not len(positions):
        return np.full(len(wanted), np.nan)
    rows = np.minimum(np.searchsorted(positions, wanted), len(positions) - 1)
    return np.where(positions[rows] == wanted, value[rows], np.nan)


def _latest_values(series: Series, positions: IntArray) -> FloatArray:
    """The last value up to each of some positions [n]; NaN where there is none."""
    if not len(series):
        return np.full(len(positions), np.nan)
    rows = np.searchsorted(_position_numbers(series.attempt, series.step), positions, side="right") - 1
    return np.where(rows >= 0, series.value[np.maximum(rows, 0)], np.nan)


def _recent_spread(losses: FloatArray, number: int, rows: int, thresholds: ShareThresholds) -> FloatArray:
    """How far the datasets' losses differed recently, at the last `rows` of these [m, k], the first of which
    has a number."""
    count = np.minimum(np.arange(number + 1, number + rows + 1), _SPREAD_ROWS)
    known = losses[max(len(losses) - rows - _SPREAD_ROWS + 1, 0) :].T
    missing = np.zeros((len(known), rows + _SPREAD_ROWS - 1 - known.shape[1]))
    total = np.concatenate((missing, known), axis=1)
    # sums of pairs, of pairs of pairs: they never depend on where the rows begin
    for distance in 2 ** np.arange(_SPREAD_DOUBLINGS):
        total = total[:, distance:] + total[:, :-distance]
    middle, square = np.zeros(rows), np.zeros(rows)
    for mean in total / count:
        middle += mean / len(total)
        square += mean**2 / len(total)
    spread: FloatArray = np.sqrt(np.maximum(square - middle**2, 0.0))
    return np.maximum(spread, thresholds.least_spread * np.abs(middle)) + 1e-12


def fit_shares(
    total: FloatArray, losses: FloatArray, before: FloatArray, thresholds: ShareThresholds
) -> FloatArray:
    """The shares [k], which add up to 1, by which datasets' losses [n, k] best combine to a total [n].

    Least squares; what these rows leave open stays as it was in `before` [k].
    """
    rest = total - losses @ before
    # shares move against each other: what one gains, the others lose
    centered = losses - losses.mean(axis=1, keepdims=True)
    square = centered.T @ centered
    prior = thresholds.prior_weight * float(np.trace(square)) / len(before) + _TINY
    moved: FloatArray = np.linalg.solve(square + prior * np.eye(len(before)), centered.T @ rest)
    shares: FloatArray = before + moved - moved.mean()
    return shares

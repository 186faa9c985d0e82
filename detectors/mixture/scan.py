"""The scan for shifts of the shares: one pass over the rows, each compared with what is established by
then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from holter.detectors.mixture.shares import DatasetLosses, LossRows, ShareThresholds, fit_shares
from holter.detectors.positions import RowPosition
from holter.detectors.robust_statistics import MAD_TO_SIGMA, mad_sigma
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class MixtureScanThresholds(Thresholds):
    """When a move of the total loss is a shift of the shares."""

    known_rows: int = 64
    """Rows without a shift from which on shares and noise are known."""
    stored_rows: int = 1024
    """Latest rows without a shift that shares and noise are measured on."""
    state_rows: int = 192
    """Latest rows that are stored to continue with: those a shift may have begun in, and those before."""
    clip_sigmas: float = 5.0
    """Sigmas. A row counts at most this much in the cumulative sum."""
    drift_sigmas: float = 1.0
    """Sigmas that are subtracted from each row in the cumulative sum."""
    alarm_sigmas: float = 10.0
    """Sigmas that the cumulative sum must reach."""
    least_noise: float = 1e-3
    """Noise, at least, as a share of the spread of the datasets' losses."""
    correlated_from: float = 0.3
    """Correlation of neighboring rows from which on the limit is raised by (1 + c) / (1 - c)."""
    most_correlation: float = 0.9
    """Correlation of neighboring rows that counts at most."""
    fewest_rows: int = 16
    """Rows of a shift, at least: a few batches with more of one dataset are chance."""
    least_share: float = 0.02
    """Share of the loss that a shift of many rows must move it by to be worth reporting."""
    least_share_row: float = 0.08
    """Share of the loss in addition, divided by the root of the rows: 10 % for one row."""
    own_share: float = 0.3
    """Share of the shift by which a dataset's own loss may have moved, beyond its noise, without being a
    cause itself."""
    chance_sigmas: float = 4.0
    """Standard errors by which a dataset's own loss may have moved by chance."""
    patience_rows: int = 64
    """Rows within which a rise must prove to be a shift."""
    settled_rows: int = 256
    """Rows after which the shares of a shift are the established ones."""
    return_rows: int = 64
    """Rows on which the shares from before must explain the loss better for a shift to end."""
    return_sigmas_squared: float = 20.0
    """Times the noise squared by which they must explain it better."""
    return_share: float = 0.5
    """A further shift is the end of the one before if the shares from before leave at most this share of the
    squared rest."""
    grid: tuple[tuple[int, int], ...] = ((256, 16), (4096, 64), (65536, 512), (2**62, 2048))
    """Up to this many rows, shares and noise are measured anew after this many: less often in a long run."""
    shares: ShareThresholds = ShareThresholds()
    """How shares are estimated from losses."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EstablishedMixture:
    """The established shares [k], the middle and the noise of what they leave unexplained, and the alarm
    limit."""

    shares: FloatArray
    middle: float
    noise: float
    alarm: float

    def rest(self, rows: LossRows) -> FloatArray:
        """What the shares leave unexplained of the total [n]."""
        rest = rows.total - self.middle
        # column by column: the sum of a row never depends on its position in an array
        for column, share in zip(rows.losses.T, self.shares.tolist(), strict=True):
            rest = rest - column * share
        return rest


@dataclass(frozen=True, eq=False, kw_only=True)
class ShareShift:
    """One shift; `start` and `detected` are numbers of rows, `end` is None while it lasts.

    `around` are its first rows and those before it, as far as known; `logged` the logged shares there.
    """

    start: int
    detected: int
    established: EstablishedMixture
    around: LossRows
    logged: FloatArray | None
    end: RowPosition | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class MixtureScanState:
    """The state of a scan before row `row`.

    `calm` are the latest rows without a shift, on which the established mixture rests, `recent` the latest of
    all rows; the present shares hold from row `since` on.
    """

    row: int = 0
    since: int = 0
    calm: LossRows | None = None
    recent: LossRows | None = None
    shifts: tuple[ShareShift, ...] = ()

    def compact(self, recent_rows: int) -> MixtureScanState:
        """The same state without rows that are no longer needed."""
        assert self.calm is not None
        assert self.recent is not None
        recent = self.recent.between(0, self.row).latest(recent_rows).copy()
        return replace(self, calm=self.calm.copy(), recent=recent)


class MixtureScan:
    """A scan that continues from a state, with the rows from there on."""

    def __init__(
        self,
        state: MixtureScanState,
        datasets: DatasetLosses,
        rows: LossRows,
        sensitivity: float,
        thresholds: MixtureScanThresholds,
    ) -> None:
        self._datasets = datasets
        self._sensitivity = sensitivity
        self._thresholds = thresholds
        self._rows = rows if state.recent is None else state.recent.extended(rows)
        self._calm = rows.latest(0) if state.calm is None else state.calm
        self._end = state.row + len(rows)
        self._row = state.row
        self._since = state.since
        self._decided = 0
        self.shifts = list(state.shifts)

    def run(self) -> Iterator[MixtureScanState]:
        """Scan chunk by chunk; yields the state wherever nothing before can change any more."""
        while self._row < self._end:
            grid = next(rows for limit, rows in self._thresholds.grid if self._row < limit)
            grid_end = self._row - self._row % grid + grid
            stop = min(grid_end, self._end)
            established = self._established()
            shift = None if established is None else self._detect_shift(self._row, stop, established)
            if shift is None:
                calm = self._calm.extended(self._rows.between(self._row, stop))
                self._calm = calm.latest(self._thresholds.stored_rows)
                self._row = stop
            else:
                self._add_shift(shift)
            if self._row >= self._decided and (shift is not None or stop == grid_end):
                yield MixtureScanState(
                    row=self._row,
                    since=self._since,
                    calm=self._calm,
                    recent=self._rows,
                    shifts=tuple(self.shifts),
                )

    def _established(self) -> EstablishedMixture | None:
        """The shares and the noise of the calm rows; None while they are too few."""
        limits = self._thresholds
        if len(self._calm) < limits.known_rows:
            return None
        total, losses = self._calm.total, self._calm.losses
        equal = np.full(losses.shape[1], 1 / losses.shape[1])
        shares = fit_shares(total, losses, equal, limits.shares)
        rest = EstablishedMixture(shares=shares, middle=0.0, noise=0.0, alarm=0.0).rest(self._calm)
        middle = float(np.median(rest))
        # the chance of the draw has the more effect, the more the datasets' losses differ
        relative = (rest - middle) / self._calm.spread
        noise = max(mad_sigma(relative, 0.0), limits.least_noise)
        score = np.clip(relative / noise, -limits.clip_sigmas, limits.clip_sigmas)
        correlation = float(np.mean(score[1:] * score[:-1]) / max(float(np.mean(score**2)), 1e-12))
        spread = max(1.0, float(np.std(score)))
        bounded = min(correlation, limits.most_correlation)
        inflation = (1 + bounded) / (1 - bounded) if correlation > limits.correlated_from else 1.0
        return EstablishedMixture(
            shares=shares, middle=middle, noise=noise * spread, alarm=limits.alarm_sigmas * inflation
        )

    def _detect_shift(self, row: int, stop: int, established: EstablishedMixture) -> ShareShift | None:
        """The first shift that is detected within these rows; it may have begun in the calm ones before."""
        limits = self._thresholds
        begin = max(row - limits.patience_rows, self._since)
        rows = self._rows.between(begin, stop)
        score = established.rest(rows) / rows.spread / established.noise
        score = np.clip(score, -limits.clip_sigmas, limits.clip_sigmas)
        shifts = []
        for sign in (1.0, -1.0):
            walk = np.cumsum(sign * score - limits.drift_sigmas)
            lowest = np.minimum.accumulate(np.minimum(walk, 0.0))
            alarms = np.flatnonzero(walk - lowest > established.alarm / self._sensitivity)
            for index in alarms[alarms >= row - begin].tolist():
                zeros = np.flatnonzero(walk[:index] <= lowest[index])
                first = int(zeros[-1]) + 1 if len(zeros) else 0
                first = begin + max(first, int(np.searchsorted(rows.attempt, rows.attempt[index])))
                length = begin + index - first + 1
                is_possible = limits.fewest_rows <= length < limits.patience_rows
                if is_possible and self._is_shift(first, begin + index, established):
                    shifts.append((begin + index, first))
                    break
        if not shifts:
            return None
        detected, first = min(shifts, key=lambda shift: shift[0])
        around = self._rows.between(first - limits.known_rows, first + limits.settled_rows).copy()
        return ShareShift(
            start=first,
            detected=detected,
            established=established,
            around=around,
            logged=self._datasets.logged_shares(around),
        )

    def _is_shift(self, first: int, last: int, established: EstablishedMixture) -> bool:
        """Whether the move is worth reporting, shares can cause it, and no dataset's own loss does."""
        limits = self._thresholds
        before = self._calm.between(0, first).latest(limits.known_rows)
        if len(before) < limits.known_rows // 2:
            return False
        rows, count = self._rows.between(first, last + 1), last + 1 - first
        moved = float(np.mean(established.rest(rows)))
        level = abs(float(np.median(before.total)))
        least = (limits.least_share + limits.least_share_row / count**0.5) * level
        if abs(moved) * self._sensitivity < least:
            return False
        now, earlier = rows.losses.mean(axis=0), before.losses
        total = float(np.mean(rows.total)) - established.middle
        if not now.min() <= total <= now.max():
            return False
        middle = np.median(earlier, axis=0)
        noise = MAD_TO_SIGMA * np.median(np.abs(earlier - middle), axis=0)
        by_chance = limits.chance_sigmas * noise * (1 / count + 1 / len(earlier)) ** 0.5
        return bool((np.abs(now - middle) < np.maximum(limits.own_share * abs(moved), by_chance)).all())

    def _add_shift(self, shift: ShareShift) -> None:
        """Continue after a shift: where it has ended, or its shares have become the established ones."""
        settled = shift.start + self._thresholds.settled_rows
        self._decided = settled
        end = self._find_return(shift)
        if not self._ends_previous(shift):
            self.shifts.append(replace(shift, end=end))
        if end is not None:
            self._row = end.row + self._thresholds.return_rows
        else:
            self._row = min(settled, self._end)
            self._calm = self._rows.between(shift.detected + 1, self._row)
        self._since = self._row

    def _ends_previous(self, shift: ShareShift) -> bool:
        """Whether it is the end of the previous shift: the shares are as they were before that one."""
        previous = self.shifts[-1] if self.shifts else None
        if previous is None or previous.end is not None:
            return False
        rows = self._rows.between(shift.start, shift.detected + 1)
        rest_before, rest_now = (mixture.rest(rows) for mixture in (previous.established, shift.established))
        if float(rest_before @ rest_before) > self._thresholds.return_share * float(rest_now @ rest_now):
            return False
        self.shifts[-1] = replace(previous, end=_position_of(rows, 0))
        return True

    def _find_return(self, shift: ShareShift) -> RowPosition | None:
        """The row at which the shares are as they were before, soon after a shift; None if they are not."""
        limits, established = self._thresholds, shift.established
        rows = self._rows.between(shift.start, shift.detected + 1)
        shares = fit_shares(rows.total - established.middle, rows.losses, established.shares, limits.shares)
        later = self._rows.between(shift.detected + 1, shift.start + limits.settled_rows)
        rest_before, rest_now = established.rest(later), replace(established, shares=shares).rest(later)
        gain = np.concatenate(([0.0], np.cumsum(rest_now**2 - rest_before**2)))
        noise = established.noise * float(rows.spread[0])
        window = limits.return_rows
        returns = np.flatnonzero(gain[window:] - gain[:-window] > limits.return_sigmas_squared * noise**2)
        return _position_of(later, int(returns[0])) if len(returns) else None


def _position_of(rows: LossRows, index: int) -> RowPosition:
    return RowPosition(int(rows.row[index]), int(rows.attempt[index]), int(rows.step[index]))

"""Detects peers that fall behind the others, by clipped CUSUMs of each peer against its own past."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from holter.detectors.positions import RowPosition
from holter.detectors.ranks.cusum import ClippedCusum, CusumThresholds, SlowCusumThresholds
from holter.detectors.ranks.timing_rows import TimingRows
from holter.detectors.robust_statistics import MAD_TO_SIGMA
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class LagThresholds(Thresholds):
    """When a rank counts as behind its peers, since when, and until when."""

    fast_cusum: CusumThresholds = CusumThresholds()
    """The CUSUM of large distances."""
    slow_cusum: SlowCusumThresholds = SlowCusumThresholds()
    """The CUSUM of small, lasting distances."""
    first_rows: int = 8
    """Rows. The first chunk, and the fewest calm rows from which a peer's own baseline is learned."""
    chunk_rows: int = 32
    """Rows. Baselines and noise are learned again after each chunk."""
    memory_rows: int = 128
    """Rows. Baselines, noise and the size of a lag are computed over the latest rows."""
    look_back_rows: int = 256
    """Rows. A peer that falls behind more slowly has become the baseline on the way."""
    smallest_excess: float = log(1.03)
    """Logarithm of the ratio to the baseline. A slow-down below 3 % is not reported."""
    smallest_mean_share: float = 0.9
    """Share of `smallest_excess`. The mean of the rows since the onset must reach it."""
    initial_excess: float = log(1.1)
    """Logarithm of the ratio to the peers. A peer without a past, behind from the first row on, must be this
    far behind: Greyhound groups workers above 1.1 times the median."""
    initial_spreads: float = 6.0
    """Robust deviations of the peers' first distances. A peer must also be this far behind them."""
    smallest_initial_spread: float = 0.01
    """Logarithm of a ratio. Floor of the spread among peers in the first rows."""
    max_initial_share: int = 8
    """Divisor of the number of peers. Where more than one in eight is behind at the start, none is reported.
    """
    noise_floor: float = 0.002
    """Logarithm of a ratio. Timings are not more exact than 0.2 %."""
    extreme: float = 6.0
    """Noise units. A row this far out is part of a burst."""
    burst_rows: int = 64
    """Rows. Window in which extreme rows of a peer are counted."""
    burst_min_extremes: int = 3
    """Extreme rows. Fewer within the window are not reported."""
    burst_chance: float = 1e-4
    """Probability that any peer has so many extreme rows by chance (Poisson), below which it is reported."""
    unseen_extremes: float = 0.25
    """Extreme rows. Added to those seen of the other peers: with none of them, three within the window
    suffice."""
    end_rows: int = 24
    """Rows. A lag is over after this many rows without slowness, or three times its own longest gap."""
    same_lag_rows: int = 64
    """Rows. A lag that returns within this many rows after its end is the same one."""
    together_rows: int = 2
    """Rows. Peers whose onsets differ by no more fell behind together."""
    small_lag_noises: float = 2.0
    """Noise units. A smaller lag is followed in the mean of the latest rows, a larger one row by row."""
    calm_share_fast: float = 0.5
    """Share of the fast alarm below which a peer's rows count for its baseline."""
    calm_share_slow: float = 0.25
    """Share of the slow alarm. It takes chunks to rise, the first of which must not become the baseline."""


@dataclass
class LagCost:
    """What the others lost over `rows` rows, in the log's unit of time.

    `lost` is the time that they waited for the slow rank, `step` their own time and wait, `own_wait` the slow
    rank's wait and `others_wait` theirs.
    """

    rows: int = 0
    lost: float = 0.0
    step: float = 0.0
    own_wait: float = 0.0
    others_wait: float = 0.0

    def plus(self, own: float, median: float, own_wait: float, others_wait: float) -> LagCost:
        """The cost with one more row."""
        return LagCost(
            rows=self.rows + 1,
            lost=self.lost + max(own - median, 0.0),
            step=self.step + median + others_wait,
            own_wait=self.own_wait + own_wait,
            others_wait=self.others_wait + others_wait,
        )


@dataclass
class RankLag:
    """One peer that is behind the others; `end` is None while it lasts.

    `size` is the median logarithm by which it is behind in its slow rows, `count` the number of these, and
    `baseline` its own distance before. `together` are peers that fell behind at the same time. `cost` is over
    all rows so far, `cost_to_last_slow_row` up to the last slow one. `slow_rows` and `excesses` are the
    latest slow rows and their excess over the baseline; for a lag that `is_small` these are means of the
    latest rows.
    """

    rank: int
    start: RowPosition
    detected: RowPosition
    baseline: float
    noise: float
    size: float
    worst: RowPosition
    highest: float
    end: RowPosition | None = None
    together: list[int] = field(default_factory=list)
    count: int = 0
    slow_rows: list[int] = field(default_factory=list)
    excesses: list[float] = field(default_factory=list)
    cost: LagCost = field(default_factory=LagCost)
    cost_to_last_slow_row: LagCost = field(default_factory=LagCost)
    first_row_after: RowPosition | None = None
    is_small: bool = False

    def copy(self) -> RankLag:
        """An independent copy."""
        return replace(
            self,
            together=self.together.copy(),
            slow_rows=self.slow_rows.copy(),
            excesses=self.excesses.copy(),
        )

    def add_slow_row(self, row: int, excess: float, memory_rows: int) -> None:
        """Count one more slow row."""
        self.count += 1
        self.slow_rows = [*self.slow_rows, row][-memory_rows:]
        self.excesses = [*self.excesses, excess][-memory_rows:]


class LagScan:
    """Scans rows of all peers for lags; holds the state between two chunks of rows.

    A lag is detected from rows up to `detected` only. A peer's baseline distance and noise are learned from
    its calm rows, in chunks. A peer that is far behind in the first rows has no past to compare with, and is
    compared with the spread among its peers instead. `lags` are all lags in the order of detection; `row` is
    the number of rows scanned. `complete_chunks` is False after a partial chunk: such a state must not be
    continued.
    """

    def __init__(self, peers: int, sensitivity: float, thresholds: LagThresholds) -> None:
        self.thresholds = thresholds
        self.row = 0
        self.complete_chunks = True
        self.rows: TimingRows | None = None
        self.sensitivity = sensitivity
        self.doubt: FloatArray = np.full(peers, np.inf)
        self.cusums = (
            ClippedCusum.initial(peers, thresholds.fast_cusum),
            ClippedCusum.initial(peers, thresholds.slow_cusum),
        )
        self.alarms = [cusum.thresholds.alarm / sensitivity for cusum in self.cusums]
        self.past: FloatArray = np.full((0, peers), np.nan)
        self.baseline: FloatArray = np.zeros(peers)
        self.noise: FloatArray = np.full(peers, np.inf)
        self.open: dict[int, RankLag] = {}
        self.joined: dict[int, RankLag] = {}
        self.latest: dict[int, RankLag] = {}
        self.bursts: dict[int, list[int]] = {}
        self.extremes = 0
        self.lags: list[RankLag] = []

    def copy(self) -> LagScan:
        """An independent copy that can be continued."""
        other = copy(self)
        active = {id(lag): lag.copy() for lag in (*self.open.values(), *self.latest.values())}
        other.lags = [active.get(id(lag), lag) for lag in self.lags]
        other.open = {rank: active[id(lag)] for rank, lag in self.open.items()}
        other.joined = {rank: active[id(lag)] for rank, lag in self.joined.items()}
        other.latest = {rank: active[id(lag)] for rank, lag in self.latest.items()}
        other.bursts = self.bursts.copy()
        look_back = self.thresholds.look_back_rows
        other.rows = None if self.rows is None else self.rows.before(self.row, look_back)
        return other

    def scan(self, rows: TimingRows) -> Iterator[LagScan]:
        """Scan further rows; yields itself after each complete chunk, and the state after all rows.

        The last state treats a partial chunk as if it were complete, and must not be continued then.
        """
        self.rows = rows if self.rows is None else self.rows.append(rows)
        upto = self.row + len(rows.step)
        while self.row + self._chunk_length <= upto:
            start, stop = self.row, self.row + self._chunk_length
            self._detect(start, stop)
            self._learn(start, stop)
            self.row = stop
            yield self
        rest = self.copy() if self.row < upto else self
        if self.row < upto:
            rest.rows = self.rows
            rest._detect(self.row, upto)
            rest.row, rest.complete_chunks = upto, False
        yield rest

    @property
    def _chunk_length(self) -> int:
        return max(self.thresholds.first_rows, min(self.thresholds.chunk_rows, self.row))

    def _index(self, row: int) -> int:
        """The index of a row among those that are stored."""
        assert self.rows is not None
        return row - self.rows.first

    def _position(self, row: int) -> RowPosition:
        assert self.rows is not None
        return self.rows.position(row)

    def _log_ratio(self, first: int, stop: int) -> FloatArray:
        assert self.rows is not None
        return self.rows.log_ratio[self._index(first) : self._index(stop)]

    def _detect(self, start: int, stop: int) -> None:
        """Follow the open lags and find new ones in rows [start, stop)."""
        chunk = self._log_ratio(start, stop)
        with np.errstate(invalid="ignore"):
            distance = (chunk - self.baseline) / self.noise
        fast, slow = self.cusums
        sums = [fast.values_over(distance), slow.values_over(distance - self.doubt)]
        behind = any((values > alarm).any() for values, alarm in zip(sums, self.alarms, strict=True))
        if self.open or behind or (distance > self.thresholds.extreme).any():
            # rare: row by row, so that each decision depends on earlier rows only
            for row in range(start, stop):
                self._detect_in_row(
                    row, [values[: row - start + 1] for values in sums], distance[row - start]
                )
        active = list(self.open)
        fast, slow = (
            cusum.after(values, stop, active) for cusum, values in zip(self.cusums, sums, strict=True)
        )
        self.cusums = fast, slow

    def _detect_in_row(self, row: int, sums: list[FloatArray], distance: FloatArray) -> None:
        for lag in list(self.open.values()):
            self._follow(lag, row)
        for cusum, values, alarm in zip(self.cusums, sums, self.alarms, strict=True):
            for rank in np.flatnonzero(values[-1] > alarm).tolist():
                if rank not in self.open and rank not in self.joined:
                    self._check_alarm(rank, cusum.start_row(rank, row, values[:, rank]), row)
        for rank in np.flatnonzero(distance > self.thresholds.extreme).tolist():
            if rank not in self.open and rank not in self.joined:
                self._count_burst(rank, row)

    def _check_alarm(self, rank: int, begin: int, row: int) -> None:
        """Open a lag if, since the sum was last at zero, the peer is behind by enough."""
        limits = self.thresholds
        begin = max(begin, row - limits.look_back_rows + 1)
        excess = self._log_ratio(begin, row + 1)[:, rank] - self.baseline[rank]
        excess = excess[np.isfinite(excess)]
        if float(np.mean(excess)) > limits.smallest_mean_share * limits.smallest_excess / self.sensitivity:
            self._open_lag(rank, begin, row, float(np.median(excess)))

    def _count_burst(self, rank: int, row: int) -> None:
        """Open a lag for a peer that is far behind repeatedly, if only for a row or two each time."""
        limits = self.thresholds
        window = limits.burst_rows
        bursts = [burst for burst in self.bursts.get(rank, []) if burst > row - window] + [row]
        self.bursts[rank] = bursts
        self.extremes += 1
        peers = len(self.baseline)
        # the rate of extreme rows of any peer, were it a little above that of the others
        rate = (self.extremes - len(bursts) + limits.unseen_extremes) / ((row + 1) * peers)
        behind = self._log_ratio(row - window + 1, row + 1) if row >= window else self._log_ratio(0, row + 1)
        excess = float(np.median(behind[np.array(bursts) - row - 1, rank] - self.baseline[rank]))
        if len(bursts) < limits.burst_min_extremes or excess < limits.smallest_excess / self.sensitivity:
            return
        if _poisson_at_least(len(bursts), window * rate) * peers < limits.burst_chance:
            self.extremes -= len(bursts)
            self._open_lag(rank, bursts[0], row, excess)

    def _open_lag(self, rank: int, begin: int, row: int, size: float) -> None:
        near = self.thresholds.together_rows
        together = next((lag for lag in self.open.values() if abs(lag.start.row - begin) <= near), None)
        latest = self.latest.get(rank)
        if together is not None:
            together.together.append(rank)
            self.joined[rank] = together
        elif latest is not None and latest.end is not None and self._continues(latest.end, latest, begin):
            latest.end = None
            excess = float(self._log_ratio(begin, begin + 1)[0, rank] - latest.baseline)
            latest.add_slow_row(begin, excess, self.thresholds.memory_rows)
            self.open[rank] = latest
            self._follow_from(latest, begin, row)
        else:
            lag = RankLag(
                rank=rank,
                start=self._position(begin),
                detected=self._position(row),
                baseline=float(self.baseline[rank]),
                noise=float(self.noise[rank]),
                size=size,
                worst=self._position(row),
                highest=float(self._log_ratio(row, row + 1)[0, rank] - self.baseline[rank]),
                is_small=size < self.thresholds.small_lag_noises * float(self.noise[rank]),
            )
            self.open[rank] = self.latest[rank] = lag
            self.lags.append(lag)
            self._follow_from(lag, begin, row)

    def _follow_from(self, lag: RankLag, begin: int, row: int) -> None:
        for earlier in range(begin, row + 1):
            self._follow(lag, earlier)

    def _continues(self, end: RowPosition, latest: RankLag, begin: int) -> bool:
        return begin - end.row <= max(self.thresholds.same_lag_rows, end.row - latest.start.row)

    def _follow(self, lag: RankLag, row: int) -> None:
        """Count a slow row; end the lag when none has come for longer than its own gaps suggest."""
        limits = self.thresholds
        excess = self._excess(lag, row)
        last = lag.slow_rows[-1] if lag.slow_rows else lag.detected.row
        lag.cost = self._cost(lag, row)
        least = 0.0 if lag.is_small else limits.small_lag_noises * lag.noise
        if excess > max(lag.size / 2, least, limits.smallest_excess / 2):
            lag.add_slow_row(row, excess, limits.memory_rows)
            lag.cost_to_last_slow_row = lag.cost
            lag.size = float(np.median(lag.excesses))
            if excess >= lag.highest:
                lag.worst, lag.highest = self._position(row), excess
        elif row == last + 1:
            lag.first_row_after = self._position(row)
        elif row - last > self._rows_to_end(lag):
            lag.end = lag.first_row_after
            for rank in (lag.rank, *lag.together):
                self.open.pop(rank, None)
                self.joined.pop(rank, None)

    def _excess(self, lag: RankLag, row: int) -> float:
        """The excess over the baseline in a row; for a small lag, the mean over the latest rows."""
        first = max(row - self.thresholds.end_rows + 1, lag.start.row) if lag.is_small else row
        recent = self._log_ratio(first, row + 1)[:, lag.rank] - lag.baseline
        known = recent[np.isfinite(recent)]
        return float(np.mean(known)) if len(known) else np.nan

    def _cost(self, lag: RankLag, row: int) -> LagCost:
        assert self.rows is not None
        index = self._index(row)
        own, median = float(self.rows.time[index, lag.rank]), float(self.rows.median_time[index])
        if not self.rows.has_waits:
            return lag.cost.plus(own, median, 0.0, 0.0) if np.isfinite(own + median) else lag.cost
        own_wait, median_wait = float(self.rows.wait[index, lag.rank]), float(self.rows.median_wait[index])
        known = np.isfinite(own + median + median_wait + own_wait)
        return lag.cost.plus(own, median, own_wait, median_wait) if known else lag.cost

    def _rows_to_end(self, lag: RankLag) -> int:
        gaps = np.diff(lag.slow_rows)
        return max(self.thresholds.end_rows, 3 * int(gaps.max()) if len(gaps) else 0)

    def _learn(self, start: int, stop: int) -> None:
        """Learn each peer's baseline and noise from its calm rows in the chunk [start, stop)."""
        limits = self.thresholds
        calm = self._calm_peers()
        learned = np.where(calm, self._log_ratio(start, stop), np.nan)
        self.past = np.concatenate([self.past, learned])[-limits.memory_rows :]
        known = np.isfinite(self.past).sum(axis=0) >= limits.first_rows
        if start == 0:
            self._compare_with_peers(stop)
            known &= ~np.isin(np.arange(len(known)), list(self.open))
        median = _quantile(self.past, 0.5)
        self.baseline = np.where(known, median, self.baseline)
        # twice the standard error of a median: a baseline of few rows may be wrong by so much
        self.doubt = 2.5 / np.sqrt(np.maximum(np.isfinite(self.past).sum(axis=0), 1))
        spread = MAD_TO_SIGMA * _quantile(np.abs(self.past - median), 0.5)
        # noise of timings is skewed to the slow side: two deviations of a normal, taken from all peers
        skewed = (_quantile(self.past, 0.975) - median) / 2
        common = float(np.median(np.maximum(spread, skewed)[known])) if known.any() else np.inf
        own = np.where(known, spread, common)
        self.noise = np.maximum(np.maximum(own, common), limits.noise_floor)
        correlation = self._correlation()
        self.alarms = [cusum.alarm_at(correlation) / self.sensitivity for cusum in self.cusums]

    def _calm_peers(self) -> NDArray[np.bool_]:
        fast, slow = self.cusums
        calm = (fast.highest < self.thresholds.calm_share_fast * self.alarms[0]) & (
            slow.highest < self.thresholds.calm_share_slow * self.alarms[1]
        )
        exceeded = fast.exceeded(self.alarms[0]) | slow.exceeded(self.alarms[1])
        # an alarm that opened no lag: the peer's baseline has shifted a little
        self.cusums = fast.reset(exceeded), slow.reset(exceeded)
        calm |= exceeded
        for rank in (*self.open, *self.joined):
            calm[rank] = False
        return calm

    def _compare_with_peers(self, stop: int) -> None:
        limits = self.thresholds
        distance = _quantile(self.past, 0.5)
        if not len(distance) > 3 or not np.isfinite(distance).all():
            return
        spread = max(MAD_TO_SIGMA * float(np.median(np.abs(distance))), limits.smallest_initial_spread)
        required = max(limits.initial_excess, limits.initial_spreads * spread)
        behind = np.flatnonzero(distance > required / self.sensitivity)
        if len(behind) <= max(1, len(distance) // limits.max_initial_share):
            self.noise = np.where(np.isin(np.arange(len(distance)), behind), spread, self.noise)
            for rank in behind.tolist():
                self.past[:, rank] = np.nan
                self._open_lag(rank, 0, stop - 1, float(distance[rank]))

    def _correlation(self) -> float:
        """Lag-1 correlation of neighbouring rows, over all peers together."""
        rest = np.nan_to_num(self.past - self.baseline)
        power = float(np.sum(rest[:-1] ** 2))
        return float(np.sum(rest[1:] * rest[:-1])) / power if power > 0 else 0.0


def _poisson_at_least(count: int, mean: float) -> float:
    """Probability of `count` or more events by chance, when `mean` are expected (Poisson)."""
    return float(gammainc(count, mean))


def _quantile(table: FloatArray, share: float) -> FloatArray:
    """Quantile of each column, ignoring NaN; NaN where a column has no value."""
    ordered = np.sort(table, axis=0)
    position = share * np.maximum(np.isfinite(table).sum(axis=0) - 1, 0)
    low = np.floor(position).astype(np.int64)
    column = np.arange(table.shape[1])
    above = ordered[np.minimum(low + 1, len(table) - 1), column]
    below = ordered[low, column]
    return np.asarray(np.where(position > low, below + (above - below) * (position - low), below))

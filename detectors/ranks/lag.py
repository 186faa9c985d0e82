"""When one of many peers falls behind: a clipped CUSUM per peer, against the peer's own past."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from holter.types import FloatArray, IntArray

_FIRST, _CHUNK, _REMEMBERED = 8, 32, 128
_CLIP, _ALLOWANCE, _ALARM = 5.0, 1.5, 10.0
"""In units of noise. Clipped at 5, one row counts for 3.5 at most: it takes three, however far out."""
_SMALLEST = float(np.log(1.03))
_FROM_THE_START = float(np.log(1.1))
_NOISE_FLOOR = 0.002
_EXTREME, _WITHIN, _BY_CHANCE = 6.0, 64, 1e-4
"""Short bursts: so far out, so often within so many rows, that among all peers it is no chance."""
_PATIENCE, _SAME = 24, 64
"""Rows without slowness until it is over; rows after the end within which it is the same again."""


@dataclass
class Lag:
    """One peer behind the others; `start`, `detected`, `worst`, `end` are rows, `end` None while it lasts.

    `size` is the median logarithm by which it is behind in its slow rows; `together` are peers that
    fell behind at the same time.
    """

    rank: int
    start: int
    detected: int
    usual: float
    noise: float
    size: float
    worst: int
    end: int | None = None
    together: list[int] = field(default_factory=list)
    slow: list[int] = field(default_factory=list)


def lags(beyond: FloatArray, *, sensitivity: float = 1.0) -> list[Lag]:
    """Peers that fall behind in `beyond` [rows, peers], logarithms over the peers' median, NaN = unknown.

    Rests on rows up to `detected`. What a peer's own usual distance and noise are is learnt from its
    calm rows, in chunks; a peer that is far behind in the first rows already has no past to compare
    with, and is compared with the spread among its peers.
    """
    watch = _Watch(beyond, sensitivity)
    start, length = 0, _FIRST
    while start < len(beyond):
        stop = min(start + length, len(beyond))
        watch.look(start, stop)
        if stop - start < length:
            break
        watch.learn(start, stop)
        start, length = stop, max(_FIRST, min(_CHUNK, stop))
    return watch.found


class _Watch:
    """What is known about every peer between two chunks of rows."""

    def __init__(self, beyond: FloatArray, sensitivity: float) -> None:
        peers = beyond.shape[1]
        self.beyond = beyond
        self.sensitivity = sensitivity
        self.alarm = _ALARM / sensitivity
        self.past: FloatArray = np.full((0, peers), np.nan)
        self.usual: FloatArray = np.zeros(peers)
        self.noise: FloatArray = np.full(peers, np.inf)
        self.sum: FloatArray = np.zeros(peers)
        self.highest: FloatArray = np.zeros(peers)
        self.begun: IntArray = np.zeros(peers, dtype=np.int64)
        self.open: dict[int, Lag] = {}
        self.joined: dict[int, Lag] = {}
        self.latest: dict[int, Lag] = {}
        self.bursts: dict[int, list[int]] = {}
        self.extremes = 0
        self.found: list[Lag] = []

    def look(self, start: int, stop: int) -> None:
        """Follow who is behind, and find who falls behind, in these rows."""
        chunk = self.beyond[start:stop]
        with np.errstate(invalid="ignore"):
            distance = (chunk - self.usual) / self.noise
        z = np.clip(distance, -_CLIP, _CLIP) - _ALLOWANCE
        z[np.isnan(chunk)] = 0.0
        # the recursion max(0, sum + z) over the rows, unrolled: how far above its lowest point so far
        walk = np.cumsum(z, axis=0)
        sums = walk + np.maximum(self.sum, -np.minimum.accumulate(walk, axis=0))
        if self.open or (sums > self.alarm).any() or (distance > _EXTREME).any():
            # rare: in the order of the rows, so that what is said rests on earlier rows alone
            for row in range(start, stop):
                self._look_at(row, sums[: row - start + 1], distance[row - start])
        self.highest = sums.max(axis=0)
        self.sum = np.where(np.isin(np.arange(len(self.sum)), list(self.open)), 0.0, sums[-1])
        at_zero = sums <= 0
        last_zero = stop - 1 - np.argmax(at_zero[::-1], axis=0)
        self.begun = np.where(at_zero.any(axis=0), last_zero + 1, self.begun)

    def _look_at(self, row: int, sums: FloatArray, distance: FloatArray) -> None:
        for lag in list(self.open.values()):
            self._follow(lag, row)
        for rank in np.flatnonzero(sums[-1] > self.alarm).tolist():
            if rank not in self.open and rank not in self.joined:
                self._judge(rank, row, sums[:, rank])
        for rank in np.flatnonzero(distance > _EXTREME).tolist():
            if rank not in self.open and rank not in self.joined:
                self._count_burst(rank, row)

    def _judge(self, rank: int, row: int, sums: FloatArray) -> None:
        """Speak if, since the sum was last at zero, the peer is behind by enough."""
        zeros = np.flatnonzero(sums <= 0)
        begun = row - len(sums) + 2 + int(zeros[-1]) if len(zeros) else int(self.begun[rank])
        excess = self.beyond[begun : row + 1, rank] - self.usual[rank]
        excess = excess[np.isfinite(excess)]
        if float(np.mean(excess)) > 0.9 * _SMALLEST / self.sensitivity:
            self._speak(rank, begun, row, float(np.median(excess)))

    def _count_burst(self, rank: int, row: int) -> None:
        """Speak of a peer that is far behind again and again, if only for a row or two each time."""
        bursts = [one for one in self.bursts.get(rank, []) if one > row - _WITHIN] + [row]
        self.bursts[rank] = bursts
        self.extremes += 1
        peers = len(self.sum)
        # how often this happens to anyone, were it but once more than seen without this peer
        often = (self.extremes - len(bursts) + 1) / ((row + 1) * peers)
        excess = float(np.median(self.beyond[bursts, rank] - self.usual[rank]))
        if len(bursts) < 3 or excess < _SMALLEST / self.sensitivity:
            return
        if _at_least(len(bursts), _WITHIN * often) * peers < _BY_CHANCE:
            self.extremes -= len(bursts)
            self._speak(rank, bursts[0], row, excess)

    def _speak(self, rank: int, begun: int, row: int, size: float) -> None:
        together = next((lag for lag in self.open.values() if abs(lag.start - begun) <= 2), None)
        latest = self.latest.get(rank)
        if together is not None:
            together.together.append(rank)
            self.joined[rank] = together
        elif latest is not None and latest.end is not None and self._same(latest, begun):
            latest.end = None
            latest.slow.append(begun)
            self.open[rank] = latest
            self._recall(latest, begun, row)
        else:
            lag = Lag(
                rank=rank,
                start=begun,
                detected=row,
                usual=float(self.usual[rank]),
                noise=float(self.noise[rank]),
                size=size,
                worst=row,
            )
            self.open[rank] = self.latest[rank] = lag
            self.found.append(lag)
            self._recall(lag, begun, row)

    def _recall(self, lag: Lag, begun: int, row: int) -> None:
        for earlier in range(begun, row + 1):
            self._follow(lag, earlier)

    def _same(self, latest: Lag, begun: int) -> bool:
        assert latest.end is not None
        return begun - latest.end <= max(_SAME, latest.end - latest.start)

    def _follow(self, lag: Lag, row: int) -> None:
        """Note a slow row; end the lag when none has come for longer than its own gaps suggest."""
        excess = float(self.beyond[row, lag.rank] - lag.usual)
        last = lag.slow[-1] if lag.slow else lag.detected
        if excess > max(lag.size / 2, 2 * lag.noise, _SMALLEST / 2):
            lag.slow.append(row)
            recent = self.beyond[lag.slow[-_REMEMBERED:], lag.rank] - lag.usual
            lag.size = float(np.median(recent))
            if excess >= self.beyond[lag.worst, lag.rank] - lag.usual:
                lag.worst = row
        elif row - last > self._patience(lag):
            lag.end = last + 1
            for rank in (lag.rank, *lag.together):
                self.open.pop(rank, None)
                self.joined.pop(rank, None)

    def _patience(self, lag: Lag) -> int:
        gaps = np.diff(lag.slow[-_REMEMBERED:])
        return max(_PATIENCE, 3 * int(gaps.max()) if len(gaps) else 0)

    def _end(self, lag: Lag, last: int) -> None:
        lag.end = last + 1
        for rank in (lag.rank, *lag.together):
            self.open.pop(rank, None)
            self.joined.pop(rank, None)
            self.sum[rank] = 0.0

    def learn(self, start: int, stop: int) -> None:
        """Take the chunk's calm rows as what is usual for each peer."""
        calm = self._calm()
        self.past = np.concatenate([self.past, np.where(calm, self.beyond[start:stop], np.nan)])[
            -_REMEMBERED:
        ]
        known = np.isfinite(self.past).sum(axis=0) >= _FIRST
        if start == 0:
            self._compare_with_peers(stop)
            known &= ~np.isin(np.arange(len(known)), list(self.open))
        median = _quantile(self.past, 0.5)
        self.usual = np.where(known, median, self.usual)
        spread = 1.4826 * _quantile(np.abs(self.past - median), 0.5)
        # noise of timings leans to the slow side: two deviations of a normal, taken from all peers
        leaning = (_quantile(self.past, 0.975) - median) / 2
        common = float(np.median(np.maximum(spread, leaning)[known])) if known.any() else np.inf
        own = np.where(known, spread, common)
        self.noise = np.maximum(np.maximum(own, common), _NOISE_FLOOR)
        self.alarm = _ALARM / self.sensitivity * self._persistence()

    def _calm(self) -> NDArray[np.bool_]:
        calm = self.highest < self.alarm / 2
        restless = self.highest > self.alarm
        # an alarm that was not worth a word: the peer's usual distance has shifted a little
        self.sum = np.where(restless, 0.0, self.sum)
        calm |= restless
        for rank in (*self.open, *self.joined):
            calm[rank] = False
        return calm

    def _compare_with_peers(self, stop: int) -> None:
        distance = _quantile(self.past, 0.5)
        if not len(distance) > 3 or not np.isfinite(distance).all():
            return
        spread = max(1.4826 * float(np.median(np.abs(distance))), 0.01)
        behind = np.flatnonzero(distance > max(_FROM_THE_START, 6 * spread) / self.sensitivity)
        if len(behind) <= max(1, len(distance) // 8):
            self.noise[behind] = spread
            for rank in behind.tolist():
                self.past[:, rank] = np.nan
                self._speak(rank, 0, stop - 1, float(distance[rank]))

    def _persistence(self) -> float:
        """How much longer chance runs last when noise is correlated: (1 + r) / (1 - r)."""
        rest = np.nan_to_num(self.past - self.usual)
        power = float(np.sum(rest[:-1] ** 2))
        r = float(np.sum(rest[1:] * rest[:-1])) / power if power > 0 else 0.0
        return (1 + min(r, 0.9)) / (1 - min(r, 0.9)) if r > 0.3 else 1.0


def _at_least(count: int, mean: float) -> float:
    """Probability of so many or more by chance, when `mean` are expected (Poisson)."""
    return float(gammainc(count, mean))


def _quantile(table: FloatArray, share: float) -> FloatArray:
    """Quantile of each column, ignoring NaN; NaN where a column has nothing."""
    ordered = np.sort(table, axis=0)
    place = share * np.maximum(np.isfinite(table).sum(axis=0) - 1, 0)
    low = np.floor(place).astype(np.int64)
    column = np.arange(table.shape[1])
    above = ordered[np.minimum(low + 1, len(table) - 1), column]
    below = ordered[low, column]
    return np.asarray(np.where(place > low, below + (above - below) * (place - low), below))

"""When one of many peers falls behind: clipped sums for each peer, against the peer's own past."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from holter.detectors.positions import At
from holter.detectors.ranks.cusum import ClippedCusum
from holter.detectors.ranks.timing_rows import TimingRows
from holter.types import FloatArray

_FIRST, CHUNK, _REMEMBERED = 8, 32, 128
_LOOK_BACK = 256
"""Rows: what falls behind more slowly has become usual on the way."""
_IMPATIENT = {"allowance": 1.5, "alarm": 10.0, "least": 0.3}
"""In units of noise. Clipped at 5, one row counts for 3.5 at most: it takes three, however far out."""
_PATIENT = {"allowance": 0.5, "alarm": 25.0, "least": 0.0}
"""For what is less than two noises behind, which the others forgive: by chance one row of a peer in 1e11."""
_SMALLEST = float(np.log(1.03))
_FROM_THE_START = float(np.log(1.1))
_NOISE_FLOOR = 0.002
_EXTREME, _WITHIN, _BY_CHANCE = 6.0, 64, 1e-4
"""Short bursts: so far out, so often within so many rows, that among all peers it is no chance."""
_UNSEEN = 0.25
"""Extremes that may have been missed: with none of any other peer, three within 64 rows are told."""
_PATIENCE, _SAME = 24, 64
"""Rows without slowness until it is over; rows after the end within which it is the same again."""


@dataclass
class LagCost:
    """What the others lost over `rows` rows, in the log's unit: the time that they waited for the slow one
    (`lost`), their own time and wait (`step`), the slow one's wait and theirs."""

    rows: int = 0
    lost: float = 0.0
    step: float = 0.0
    own_wait: float = 0.0
    others_wait: float = 0.0

    def and_then(self, own: float, usual: float, own_wait: float, others_wait: float) -> LagCost:
        """With one row more."""
        return LagCost(
            rows=self.rows + 1,
            lost=self.lost + max(own - usual, 0.0),
            step=self.step + usual + others_wait,
            own_wait=self.own_wait + own_wait,
            others_wait=self.others_wait + others_wait,
        )


@dataclass
class RankLag:
    """One peer behind the others; `end` is None while it lasts.

    `size` is the median logarithm by which it is behind in its slow rows, `count` how many they are;
    `together` are peers that fell behind at the same time. `cost` is over all rows so far, `settled` up to
    the last slow one. `slow` and `sizes` are the latest slow rows and by how much; of one that `is_small`,
    less than two noises, those are means of the rows of late.
    """

    rank: int
    start: At
    detected: At
    usual: float
    noise: float
    size: float
    worst: At
    highest: float
    end: At | None = None
    together: list[int] = field(default_factory=list)
    count: int = 0
    slow: list[int] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    cost: LagCost = field(default_factory=LagCost)
    settled: LagCost = field(default_factory=LagCost)
    after: At | None = None
    is_small: bool = False

    def copy(self) -> RankLag:
        return replace(self, together=self.together.copy(), slow=self.slow.copy(), sizes=self.sizes.copy())

    def note(self, row: int, excess: float) -> None:
        """One slow row more."""
        self.count += 1
        self.slow = [*self.slow, row][-_REMEMBERED:]
        self.sizes = [*self.sizes, excess][-_REMEMBERED:]


class LagScan:
    """Peers that fall behind, and what is known about every peer between two chunks of rows.

    What is found rests on rows up to `detected`. What a peer's own usual distance and noise are is learnt
    from its calm rows, in chunks; a peer that is far behind in the first rows already has no past to
    compare with, and is compared with the spread among its peers.
    """

    def __init__(self, peers: int, sensitivity: float = 1.0) -> None:
        self.row = 0
        self.is_whole = True
        self.rows: TimingRows | None = None
        self.sensitivity = sensitivity
        self.doubt: FloatArray = np.full(peers, np.inf)
        self.sums = (ClippedCusum.of(peers, **_IMPATIENT), ClippedCusum.of(peers, **_PATIENT))
        self.alarms = [one.alarm / sensitivity for one in self.sums]
        self.past: FloatArray = np.full((0, peers), np.nan)
        self.usual: FloatArray = np.zeros(peers)
        self.noise: FloatArray = np.full(peers, np.inf)
        self.open: dict[int, RankLag] = {}
        self.joined: dict[int, RankLag] = {}
        self.latest: dict[int, RankLag] = {}
        self.bursts: dict[int, list[int]] = {}
        self.extremes = 0
        self.found: list[RankLag] = []

    def copy(self) -> LagScan:
        """Another one that knows the same, and may learn more."""
        other = copy(self)
        going_on = {id(lag): lag.copy() for lag in (*self.open.values(), *self.latest.values())}
        other.found = [going_on.get(id(lag), lag) for lag in self.found]
        other.open = {rank: going_on[id(lag)] for rank, lag in self.open.items()}
        other.joined = {rank: going_on[id(lag)] for rank, lag in self.joined.items()}
        other.latest = {rank: going_on[id(lag)] for rank, lag in self.latest.items()}
        other.bursts = self.bursts.copy()
        other.rows = None if self.rows is None else self.rows.before(self.row, _LOOK_BACK)
        return other

    def over(self, rows: TimingRows) -> Iterator[LagScan]:
        """Itself after each whole chunk of the rows that follow, and after all of them, as if the last chunk
        were whole: what it says then is no basis to go on from."""
        self.rows = rows if self.rows is None else self.rows.and_then(rows)
        upto = self.row + len(rows.step)
        while self.row + self._length <= upto:
            start, stop = self.row, self.row + self._length
            self.look(start, stop)
            self.learn(start, stop)
            self.row = stop
            yield self
        rest = self.copy() if self.row < upto else self
        if self.row < upto:
            rest.rows = self.rows
            rest.look(self.row, upto)
            rest.row, rest.is_whole = upto, False
        yield rest

    @property
    def _length(self) -> int:
        return max(_FIRST, min(CHUNK, self.row))

    def _index(self, row: int) -> int:
        """Where a row stands among those that are kept."""
        assert self.rows is not None
        return row - self.rows.first

    def _at(self, row: int) -> At:
        assert self.rows is not None
        return self.rows.at(row)

    def _beyond(self, first: int, stop: int) -> FloatArray:
        assert self.rows is not None
        return self.rows.beyond[self._index(first) : self._index(stop)]

    def look(self, start: int, stop: int) -> None:
        """Follow who is behind, and find who falls behind, in these rows."""
        chunk = self._beyond(start, stop)
        with np.errstate(invalid="ignore"):
            distance = (chunk - self.usual) / self.noise
        impatient, patient = self.sums
        sums = [impatient.over(distance), patient.over(distance - self.doubt)]
        behind = any((one > alarm).any() for one, alarm in zip(sums, self.alarms, strict=True))
        if self.open or behind or (distance > _EXTREME).any():
            # rare: in the order of the rows, so that what is said rests on earlier rows alone
            for row in range(start, stop):
                self._look_at(row, [one[: row - start + 1] for one in sums], distance[row - start])
        known = list(self.open)
        impatient, patient = (one.after(over, stop, known) for one, over in zip(self.sums, sums, strict=True))
        self.sums = impatient, patient

    def _look_at(self, row: int, sums: list[FloatArray], distance: FloatArray) -> None:
        for lag in list(self.open.values()):
            self._follow(lag, row)
        for own, over, alarm in zip(self.sums, sums, self.alarms, strict=True):
            for rank in np.flatnonzero(over[-1] > alarm).tolist():
                if rank not in self.open and rank not in self.joined:
                    self._judge(rank, own.begin_of(rank, row, over[:, rank]), row)
        for rank in np.flatnonzero(distance > _EXTREME).tolist():
            if rank not in self.open and rank not in self.joined:
                self._count_burst(rank, row)

    def _judge(self, rank: int, begun: int, row: int) -> None:
        """Speak if, since the sum was last at zero, the peer is behind by enough."""
        begun = max(begun, row - _LOOK_BACK + 1)
        excess = self._beyond(begun, row + 1)[:, rank] - self.usual[rank]
        excess = excess[np.isfinite(excess)]
        if float(np.mean(excess)) > 0.9 * _SMALLEST / self.sensitivity:
            self._speak(rank, begun, row, float(np.median(excess)))

    def _count_burst(self, rank: int, row: int) -> None:
        """Speak of a peer that is far behind again and again, if only for a row or two each time."""
        bursts = [one for one in self.bursts.get(rank, []) if one > row - _WITHIN] + [row]
        self.bursts[rank] = bursts
        self.extremes += 1
        peers = len(self.usual)
        # how often this happens to anyone, were it a little more than seen without this peer
        often = (self.extremes - len(bursts) + _UNSEEN) / ((row + 1) * peers)
        behind = self._beyond(row - _WITHIN + 1, row + 1) if row >= _WITHIN else self._beyond(0, row + 1)
        excess = float(np.median(behind[np.array(bursts) - row - 1, rank] - self.usual[rank]))
        if len(bursts) < 3 or excess < _SMALLEST / self.sensitivity:
            return
        if _at_least(len(bursts), _WITHIN * often) * peers < _BY_CHANCE:
            self.extremes -= len(bursts)
            self._speak(rank, bursts[0], row, excess)

    def _speak(self, rank: int, begun: int, row: int, size: float) -> None:
        together = next((lag for lag in self.open.values() if abs(lag.start.row - begun) <= 2), None)
        latest = self.latest.get(rank)
        if together is not None:
            together.together.append(rank)
            self.joined[rank] = together
        elif latest is not None and latest.end is not None and self._same(latest.end, latest, begun):
            latest.end = None
            latest.note(begun, float(self._beyond(begun, begun + 1)[0, rank] - latest.usual))
            self.open[rank] = latest
            self._recall(latest, begun, row)
        else:
            lag = RankLag(
                rank=rank,
                start=self._at(begun),
                detected=self._at(row),
                usual=float(self.usual[rank]),
                noise=float(self.noise[rank]),
                size=size,
                worst=self._at(row),
                highest=float(self._beyond(row, row + 1)[0, rank] - self.usual[rank]),
                is_small=size < 2 * float(self.noise[rank]),
            )
            self.open[rank] = self.latest[rank] = lag
            self.found.append(lag)
            self._recall(lag, begun, row)

    def _recall(self, lag: RankLag, begun: int, row: int) -> None:
        for earlier in range(begun, row + 1):
            self._follow(lag, earlier)

    def _same(self, end: At, latest: RankLag, begun: int) -> bool:
        return begun - end.row <= max(_SAME, end.row - latest.start.row)

    def _follow(self, lag: RankLag, row: int) -> None:
        """Note a slow row; end the lag when none has come for longer than its own gaps suggest."""
        excess = self._excess(lag, row)
        last = lag.slow[-1] if lag.slow else lag.detected.row
        lag.cost = self._cost(lag, row)
        if excess > max(lag.size / 2, 0.0 if lag.is_small else 2 * lag.noise, _SMALLEST / 2):
            lag.note(row, excess)
            lag.settled = lag.cost
            lag.size = float(np.median(lag.sizes))
            if excess >= lag.highest:
                lag.worst, lag.highest = self._at(row), excess
        elif row == last + 1:
            lag.after = self._at(row)
        elif row - last > self._patience(lag):
            lag.end = lag.after
            for rank in (lag.rank, *lag.together):
                self.open.pop(rank, None)
                self.joined.pop(rank, None)

    def _excess(self, lag: RankLag, row: int) -> float:
        """How far behind in a row; a small lag shows in the mean of the rows of late alone."""
        first = max(row - _PATIENCE + 1, lag.start.row) if lag.is_small else row
        recent = self._beyond(first, row + 1)[:, lag.rank] - lag.usual
        known = recent[np.isfinite(recent)]
        return float(np.mean(known)) if len(known) else np.nan

    def _cost(self, lag: RankLag, row: int) -> LagCost:
        assert self.rows is not None
        at = self._index(row)
        own, usual = float(self.rows.own[at, lag.rank]), float(self.rows.usual[at])
        if not self.rows.has_waits:
            return lag.cost.and_then(own, usual, 0.0, 0.0) if np.isfinite(own + usual) else lag.cost
        own_wait, waiting = float(self.rows.wait[at, lag.rank]), float(self.rows.waiting[at])
        known = np.isfinite(own + usual + waiting + own_wait)
        return lag.cost.and_then(own, usual, own_wait, waiting) if known else lag.cost

    def _patience(self, lag: RankLag) -> int:
        gaps = np.diff(lag.slow)
        return max(_PATIENCE, 3 * int(gaps.max()) if len(gaps) else 0)

    def learn(self, start: int, stop: int) -> None:
        """Take the chunk's calm rows as what is usual for each peer."""
        calm = self._calm()
        learnt = np.where(calm, self._beyond(start, stop), np.nan)
        self.past = np.concatenate([self.past, learnt])[-_REMEMBERED:]
        known = np.isfinite(self.past).sum(axis=0) >= _FIRST
        if start == 0:
            self._compare_with_peers(stop)
            known &= ~np.isin(np.arange(len(known)), list(self.open))
        median = _quantile(self.past, 0.5)
        self.usual = np.where(known, median, self.usual)
        # twice the standard error of a median: what few rows call usual may be so far off
        self.doubt = 2.5 / np.sqrt(np.maximum(np.isfinite(self.past).sum(axis=0), 1))
        spread = 1.4826 * _quantile(np.abs(self.past - median), 0.5)
        # noise of timings leans to the slow side: two deviations of a normal, taken from all peers
        leaning = (_quantile(self.past, 0.975) - median) / 2
        common = float(np.median(np.maximum(spread, leaning)[known])) if known.any() else np.inf
        own = np.where(known, spread, common)
        self.noise = np.maximum(np.maximum(own, common), _NOISE_FLOOR)
        correlation = self._correlation()
        self.alarms = [one.level(correlation) / self.sensitivity for one in self.sums]

    def _calm(self) -> NDArray[np.bool_]:
        impatient, patient = self.sums
        # a patient alarm takes chunks: the first of them must not become usual, and chance seldom goes so far
        calm = (impatient.highest < self.alarms[0] / 2) & (patient.highest < self.alarms[1] / 4)
        restless = impatient.restless(self.alarms[0]) | patient.restless(self.alarms[1])
        # an alarm that was not worth a word: the peer's usual distance has shifted a little
        self.sums = impatient.calmed(restless), patient.calmed(restless)
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
            self.noise = np.where(np.isin(np.arange(len(distance)), behind), spread, self.noise)
            for rank in behind.tolist():
                self.past[:, rank] = np.nan
                self._speak(rank, 0, stop - 1, float(distance[rank]))

    def _correlation(self) -> float:
        """How much neighbouring rows resemble each other, all peers together."""
        rest = np.nan_to_num(self.past - self.usual)
        power = float(np.sum(rest[:-1] ** 2))
        return float(np.sum(rest[1:] * rest[:-1])) / power if power > 0 else 0.0


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

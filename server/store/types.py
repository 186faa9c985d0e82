"""What the store takes in and gives out, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from holter.server.store.encoding.series_names import Names
from holter.types import FloatArray, IntArray, SeriesKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Series that a limit keeps out. `what` is the metric, or what the names of several have in common."""

    what: str
    series: int
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """A delivery is durable. `attempt` is that of its last row; `accepted` counts its points.

    `duplicate`: the run has had this batch before, and nothing changed. `refused`: series that a limit
    kept out, of this time; where nothing was accepted for it, the batch may come again.
    """

    run_id: int
    public_id: str
    attempt: int
    accepted: int
    duplicate: bool = False
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """News of one run, durable: the last row of one delivery or, where an attempt began in it, of each part.

    `last_time` is None where the log has no clock; `live`: the points arrived about when they were logged.
    """

    run_id: int
    public_id: str
    attempt: int
    last_step: int
    last_time: float | None
    points: int
    live: bool


class SeriesSummary(NamedTuple):
    """One series in numbers. Points, extremes (of finite values, None without any) and non-finite count
    are over all attempts; step, time (None: no clock) and value are those of the newest attempt's last point.
    `logged` is how many points there were: more than `points` where retention has thinned them.
    """

    key: SeriesKey
    points: int
    logged: int
    first_step: int
    last_step: int
    last_time: float | None
    last_value: float
    minimum: float | None
    maximum: float | None
    nonfinite: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptSummary:
    """One attempt in numbers. The steps are those of the series that tell its progress."""

    number: int
    name: str | None
    first_step: int
    last_step: int
    first_time: float | None
    last_time: float | None
    points: int


class Newest(NamedTuple):
    """The newest point of each of some series, in the order of their keys; arrays [c].

    A time is NaN where there is no clock.
    """

    names: Names
    attempt: IntArray
    step: IntArray
    time: FloatArray
    value: FloatArray


class SeriesGlance(NamedTuple):
    """One series at a glance: its points over all attempts, step and value of the newest attempt's last."""

    key: SeriesKey
    points: int
    step: int
    value: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Glance:
    """A run at a glance, as of a version of it: nothing of it changes while the version stays."""

    version: tuple[int, int]
    attempts: list[AttemptSummary]
    series: list[SeriesGlance]


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Band:
    """What a reduced segment stands for, bucket by bucket: arrays [m], finite values only."""

    step: IntArray
    minimum: FloatArray
    maximum: FloatArray
    mean: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Segment:
    """A piece of curve to be drawn in one go: real points with finite values, arrays [n].

    With a `band`, the points are each bucket's lowest and highest, the first and the last.
    """

    attempt: int
    ghost: bool
    step: IntArray
    time: FloatArray
    value: FloatArray
    band: Band | None = None


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class ChartSeries:
    """One series as a chart draws it. `count` and `nonfinite_count` are what the range really holds;
    `nonfinite` lists (attempt, step, value) of the first thousand. `thinned` is how many points retention
    has taken out of the chunks that the range touches.
    """

    key: SeriesKey
    count: int
    reduced: bool
    segments: list[Segment]
    nonfinite: list[tuple[int, int, float]]
    nonfinite_count: int
    thinned: int = 0

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        columns = [column for one in self.segments for column in (one.step, one.time, one.value)]
        bands = [one.band for one in self.segments if one.band is not None]
        columns += [column for one in bands for column in (one.step, one.minimum, one.maximum, one.mean)]
        return 1000 + sum(column.nbytes for column in columns) + 200 * len(self.nonfinite)

"""Values that the store accepts and returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from holter.server.store.encoding.series_names import SeriesNames
from holter.types import Column, FloatArray, IntArray, SeriesKey


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesRefusal:
    """Series that a limit rejected. `what` is the metric, or what the names of several have in common."""

    what: str
    series: int
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """Confirms that a delivery is durable. `attempt` is that of its last row.

    `accepted` counts the points of it that are stored: points of equal step, time and value are one.
    `duplicate`: the run had this batch already, and nothing changed. `refused`: series that a limit rejected
    this time; where nothing was accepted because of it, the batch may be sent again.
    """

    run_id: int
    public_id: str
    attempt: int
    accepted: int
    duplicate: bool = False
    refused: tuple[SeriesRefusal, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """One durable write to a run: the last row of a delivery, or of each attempt's part of it.

    `last_time` is None where the log has no clock; `live`: the points arrived about when they were logged;
    `has_nonfinite`: one of their values is NaN or infinite. `columns`: the points themselves.
    """

    run_id: int
    public_id: str
    attempt: int
    last_step: int
    last_time: float | None
    points: int
    live: bool
    has_nonfinite: bool = False
    columns: Sequence[Column] = field(default=(), compare=False, repr=False)


class SeriesSummary(NamedTuple):
    """Statistics of one series.

    Points, extremes (of finite values, None without any) and the non-finite count are over all attempts;
    step, time (None: no clock) and value are those of the newest attempt's last point. `logged` is how many
    points were logged: more than `points` after downsampling.
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
    """Summary of one attempt. The steps are those of the series that show progress of the training."""

    number: int
    name: str | None
    first_step: int
    last_step: int
    first_time: float | None
    last_time: float | None
    points: int


class NewestPoints(NamedTuple):
    """The newest point of each series, in the order of their keys; arrays [c].

    A time is NaN without a clock.
    """

    names: SeriesNames
    attempt: IntArray
    step: IntArray
    time: FloatArray
    value: FloatArray


class SeriesOverview(NamedTuple):
    """One series in a run overview: points over all attempts, step and value of the last point."""

    key: SeriesKey
    points: int
    step: int
    value: float


class SeriesRange(NamedTuple):
    """The newest value of a series and the extremes of its finite values, inf and -inf without any."""

    key: SeriesKey
    value: float
    minimum: float
    maximum: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOverview:
    """Attempts and series of a run as of a version (generation, revision): unchanged while the version is."""

    version: tuple[int, int]
    attempts: list[AttemptSummary]
    series: list[SeriesOverview]


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class CurveBand:
    """The minimum, maximum and mean of each bucket of a reduced segment; arrays [m], finite values only."""

    step: IntArray
    minimum: FloatArray
    maximum: FloatArray
    mean: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class CurveSegment:
    """A contiguous piece of a curve: real points with finite values, arrays [n].

    With a `band`, the points are each bucket's lowest and highest, the first and the last.
    """

    attempt: int
    ghost: bool
    step: IntArray
    time: FloatArray
    value: FloatArray
    band: CurveBand | None = None


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class ReducedSeries:
    """One series as a chart draws it.

    `count` and `nonfinite_count` are those of the stored points in the range; `nonfinite` lists (attempt,
    step, value) of the first thousand. `downsampled` is how many points retention has removed from the
    chunks that the range overlaps.
    """

    key: SeriesKey
    count: int
    reduced: bool
    segments: list[CurveSegment]
    nonfinite: list[tuple[int, int, float]]
    nonfinite_count: int
    downsampled: int = 0

    @property
    def size(self) -> int:
        """Approximate bytes of memory."""
        columns = [
            column for segment in self.segments for column in (segment.step, segment.time, segment.value)
        ]
        bands = [segment.band for segment in self.segments if segment.band is not None]
        columns += [
            column
            for segment in bands
            for column in (segment.step, segment.minimum, segment.maximum, segment.mean)
        ]
        return 1000 + sum(column.nbytes for column in columns) + 200 * len(self.nonfinite)

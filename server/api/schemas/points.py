"""Answers about points: series, charts, the newest ones, and what was taken in."""

from __future__ import annotations

from typing import Literal

from holter.server.api.schemas.base import Number, SeriesName, Shape


class SeriesFacts(SeriesName):
    """What is known of one series. Extremes are those of its finite values.

    `logged` points there were; fewer are kept (`points`) where retention has thinned them.
    """

    role: str
    points: int
    logged: int
    first_step: int
    last_step: int
    last_time: float | None
    last_value: Number | None
    minimum: float | None
    maximum: float | None
    nonfinite: int


class SeriesList(Shape):
    """The series of a run, by name."""

    series: list[SeriesFacts]


class Band(Shape):
    """What lies between the points of a reduced segment: extremes and mean of each bucket."""

    step: list[int]
    minimum: list[float]
    maximum: list[float]
    mean: list[float]


class Segment(Shape):
    """A stretch of real points of one attempt; `ghost`: newer attempts superseded it."""

    attempt: int
    ghost: bool
    step: list[int]
    time: list[float | None]
    value: list[float]
    band: Band | None


class NonfinitePoint(Shape):
    """A NaN or an infinity, where it was logged."""

    attempt: int
    step: int
    value: Literal["NaN", "Infinity", "-Infinity"]


class ChartSeries(SeriesName):
    """One series over a range; `count` points are stored there, `reduced`: fewer are given.

    `thinned`: how many points retention has taken out of the stretches that the range touches.
    """

    count: int
    reduced: bool
    segments: list[Segment]
    nonfinite: list[NonfinitePoint]
    nonfinite_count: int
    thinned: int


class AttemptSpan(Shape):
    """The steps that an attempt covers."""

    number: int
    first_step: int
    last_step: int


class ChartData(Shape):
    """Series over a range of steps."""

    run_id: str
    attempts: list[AttemptSpan]
    series: list[ChartSeries]


class RefusedSeries(Shape):
    """Series that a limit keeps out. `metric` may be what the names of several have in common."""

    metric: str
    series: int
    reason: str


class LatestPoints(Shape):
    """The newest point of every series of a run: columns of equal length. A time without a clock is null."""

    run_id: str
    metric: list[str]
    labels: list[dict[str, str]]
    attempt: list[int]
    step: list[int]
    time: list[float | None]
    value: list[Number]


class Accepted(Shape):
    """A batch that is durable. `duplicate`: it had come before, and changed nothing."""

    accepted: int
    run_id: str
    attempt: int
    batch_id: str
    duplicate: bool
    refused: list[RefusedSeries] | None = None


class AcceptedSeveral(Shape):
    """The batches of a body that held several, in their order."""

    batches: list[Accepted]

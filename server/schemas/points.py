"""Answers about points: series, charts, newest points, and receipts of batches."""

from __future__ import annotations

from typing import NotRequired

from holter.json_values import NonfiniteText
from holter.server.schemas.base import ApiObject, JsonNumber, SeriesName


class SeriesInfo(SeriesName):
    """Statistics of one series. `minimum` and `maximum` are those of its finite values.

    `logged` counts all points ever stored, `points` those that retention has left.
    """

    role: str
    points: int
    logged: int
    first_step: int
    last_step: int
    last_time: float | None
    last_value: JsonNumber | None
    minimum: float | None
    maximum: float | None
    nonfinite: int


class SeriesList(ApiObject):
    """The series of a run, ordered by name."""

    series: list[SeriesInfo]


class ChartBand(ApiObject):
    """Minimum, maximum and mean of each bucket of points in a reduced segment, by its first step."""

    step: list[int]
    minimum: list[float]
    maximum: list[float]
    mean: list[float]


class ChartSegment(ApiObject):
    """Logged points of one attempt, which a line may join; `ghost`: superseded by newer attempts."""

    attempt: int
    ghost: bool
    step: list[int]
    time: list[float | None]
    value: list[float]
    band: ChartBand | None


class NonfinitePoint(ApiObject):
    """A point whose value is NaN or infinite."""

    attempt: int
    step: int
    value: NonfiniteText


class ChartCurve(SeriesName):
    """One series over a range of steps, of which `count` points are stored; `reduced`: fewer are returned.

    `thinned` counts the points that retention has removed from the segments that overlap the range.
    """

    count: int
    reduced: bool
    segments: list[ChartSegment]
    nonfinite: list[NonfinitePoint]
    nonfinite_count: int
    thinned: int


class AttemptRange(ApiObject):
    """The range of steps of one attempt."""

    number: int
    first_step: int
    last_step: int


class ChartData(ApiObject):
    """Series over a range of steps, and the run's attempts.

    `points` is the approximate number of points that each series may have: as requested, or fewer where the
    series together would have too many for one answer.
    """

    run_id: str
    attempts: list[AttemptRange]
    points: int
    series: list[ChartCurve]


class MetricChart(ApiObject):
    """The chart of one metric: its section, and the first of its `series_count` series.

    `axis`: the metric only grows, as far as its statistics tell, so that it can be an x axis.
    """

    metric: str
    role: str
    section: str
    series: list[SeriesName]
    series_count: int
    axis: bool


class MetricCharts(ApiObject):
    """A chart for every metric of a run, in the order of sections."""

    charts: list[MetricChart]


class SeriesGrid(ApiObject):
    """The series of one metric over a range of steps, in `columns` intervals of equal length.

    `labels` has the labels of each row. `mean`, `minimum` and `maximum` have the finite values of row 0, then
    of row 1 ...; NaN (JSON: null) without any. Superseded branches are left out. `rows_total` counts all
    series; rows are the first ones where there are more.
    """

    run_id: str
    metric: str
    first_step: int | None
    last_step: int | None
    columns: int
    rows_total: int
    labels: list[dict[str, str]]
    mean: list[float | None]
    minimum: list[float | None]
    maximum: list[float | None]


class LatestPoints(ApiObject):
    """The newest points of all series of a run, as columns of equal length. `time`: null without a clock."""

    run_id: str
    metric: list[str]
    labels: list[dict[str, str]]
    attempt: list[int]
    step: list[int]
    time: list[float | None]
    value: list[JsonNumber]


class RefusedSeries(ApiObject):
    """Series that exceed a limit and were not stored. `metric` may be a prefix that several of them share."""

    metric: str
    series: int
    reason: str


class BatchReceipt(ApiObject):
    """Confirms that a batch is durable. `duplicate`: its `batch_id` had been stored before.

    `accepted` counts the points of the batch that are stored; points of equal series, step, time and value
    are one.
    """

    accepted: int
    run_id: str
    attempt: int
    batch_id: str
    duplicate: bool
    refused: NotRequired[list[RefusedSeries]]


class BatchReceipts(ApiObject):
    """The receipts of a body with several batches, in their order."""

    batches: list[BatchReceipt]

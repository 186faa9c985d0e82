"""Answers of comparisons of runs: curves on a common axis, differences of settings, statistics."""

from __future__ import annotations

from typing import Literal

from holter.detectors.compare.axes import AxisSource, XAxis
from holter.detectors.compare.difference_fields import Classification
from holter.detectors.compare.settings import SettingCategory
from holter.json_values import NonfiniteText
from holter.server.schemas.base import ApiObject, SeriesName
from holter.types import Severity


class RunAxis(ApiObject):
    """How the x of a run's points is obtained.

    `metric` is the logged series that it is taken from, `formula` how it is derived, `reason` why it is
    missing.
    """

    name: XAxis
    unit: str
    source: AxisSource
    metric: str | None
    formula: str | None
    reason: str | None


class ComparedAttempt(ApiObject):
    """The range of steps of one attempt, and the same on the axis; null where it is not known."""

    number: int
    first_step: int
    last_step: int
    first_x: float | None
    last_x: float | None


class ComparedRun(ApiObject):
    """A run of a comparison. `group`: the value of the setting by which runs are grouped, as text."""

    id: str
    project: str
    name: str
    group: str | None
    axis: RunAxis
    attempts: list[ComparedAttempt]


class ComparedBand(ApiObject):
    """Minimum, maximum and mean of each bucket of points in a reduced segment, by its first x."""

    x: list[float]
    minimum: list[float]
    maximum: list[float]
    mean: list[float]


class ComparedSegment(ApiObject):
    """Logged points of one attempt, which a line may join; `ghost`: superseded by newer attempts."""

    attempt: int
    ghost: bool
    step: list[int]
    x: list[float]
    value: list[float]
    band: ComparedBand | None


class ComparedNonfinite(ApiObject):
    """A point whose value is NaN or infinite. `x`: null where it is not known."""

    attempt: int
    step: int
    x: float | None
    value: NonfiniteText


class ComparedCurve(SeriesName):
    """One series of one run, of which `count` points are stored; `reduced`: fewer are returned."""

    run: str
    count: int
    reduced: bool
    segments: list[ComparedSegment]
    nonfinite: list[ComparedNonfinite]
    nonfinite_count: int


class DifferenceCurve(ApiObject):
    """A run's curve minus the baseline's, and divided by it, from means over common intervals of x.

    Intervals in which one of them has no points are left out. `ratio` is null where the baseline is 0.
    """

    run: str
    x: list[float]
    difference: list[float]
    ratio: list[float | None]


class GroupCurve(ApiObject):
    """Mean and range over the runs of a group, from means over common intervals of x.

    `count` is the number of runs that have points in an interval; `deviation` the standard deviation between
    them, null for one.
    """

    group: str
    runs: list[str]
    x: list[float]
    mean: list[float]
    minimum: list[float]
    maximum: list[float]
    deviation: list[float | None]
    count: list[int]


class ComparisonChart(ApiObject):
    """The curves of one metric, or of the metrics of one role where runs name them differently."""

    title: str
    metric: str
    role: str
    unit: str
    curves: list[ComparedCurve]
    differences: list[DifferenceCurve]
    groups: list[GroupCurve]


class CompareCurves(ApiObject):
    """Curves of several runs on a common x axis.

    `metrics` are all metrics that two or more of the runs have, those with charts first.
    """

    baseline: str
    x: XAxis
    group_by: str | None
    runs: list[ComparedRun]
    charts: list[ComparisonChart]
    metrics: list[str]


class ComparedSetting(ApiObject):
    """A setting that differs, with its newest value in each run (null: not stated) and its name there.

    `folded`: not stated by all runs, and empty, off or 0 where it is stated, as a default would be.
    """

    name: str
    category: SettingCategory
    names: list[str | None]
    values: list[str | int | float | bool | None]
    folded: bool


class ComparedFigure(ApiObject):
    """A figure of each run, null where it is not known. `better`: which values are better."""

    name: str
    title: str
    unit: str
    better: Literal["lower", "higher"] | None
    values: list[float | None]


class ComparedIncidents(ApiObject):
    """The number of incidents of a kind in each run, and the highest severity of any of them."""

    kind: str
    title: str
    severity: Severity
    counts: list[int]


class ComparisonSummary(ApiObject):
    """What differs between a run and the baseline, in one sentence each."""

    run: str
    configuration: str
    environment: str
    speed: str
    loss: str
    incidents: str


class CompareDifferences(ApiObject):
    """What differs between runs. Lists of values have one entry per run, in the order of `runs`.

    `equal_settings` counts the settings that all runs state with the same value. `common_x`: tokens or
    samples where a step has different numbers of them in the runs, else steps.
    """

    baseline: str
    common_x: XAxis
    runs: list[ComparedRun]
    settings: list[ComparedSetting]
    equal_settings: int
    figures: list[ComparedFigure]
    incidents: list[ComparedIncidents]
    summaries: list[ComparisonSummary]
    text: str


class DifferenceBand(ApiObject):
    """The difference of two curves over intervals of x, with its 95 % interval in each."""

    x: list[float]
    difference: list[float]
    low: list[float]
    high: list[float]


class CurveComparison(ApiObject):
    """The difference of a run's curve from the baseline's at equal x, with its 95 % interval.

    `difference`, `low` and `high` are means over `from_x` to `to_x`, `relative...` the same as shares of the
    baseline's `level` there; `effect_size` is the difference in standard deviations of single points.
    `since_x`: from where on the runs differ this way. `paired`: both saw the same batches, `correlation` of
    their noise. `detectable`: the smallest relative difference that these logs show with a probability of 80
    %. `needed_x`: how far both would have to run to show a difference of 1 %; null where this far suffices
    or it cannot be said. `block_points`: points per block that are treated as dependent.
    """

    run: str
    metric: str
    baseline_metric: str
    verdict: Classification
    paired: bool
    correlation: float | None
    points: int
    from_x: float | None
    to_x: float | None
    level: float | None
    difference: float | None
    low: float | None
    high: float | None
    relative: float | None
    relative_low: float | None
    relative_high: float | None
    effect_size: float | None
    since_x: float | None
    detectable: float | None
    needed_x: float | None
    block_points: int | None
    sentence: str
    band: DifferenceBand


class CompareStatistics(ApiObject):
    """The differences of a metric of several runs from the baseline, and whether they are more than noise."""

    baseline: str
    x: XAxis
    role: str
    runs: list[ComparedRun]
    comparisons: list[CurveComparison]


class PinnedReference(ApiObject):
    """A run that is a reference of its project. `pinned_at` is in Unix seconds."""

    run: str
    name: str
    pinned_at: float
    pinned_by: str | None


class ReferenceList(ApiObject):
    """The reference runs of a project, the newest pin first."""

    project: str
    references: list[PinnedReference]

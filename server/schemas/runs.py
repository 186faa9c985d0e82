"""Answers about runs: the overview of all, and the details of one."""

from __future__ import annotations

from typing import Any, Literal

from holter.detectors.compare.course import Course
from holter.server.alerting.incident import IncidentState
from holter.server.schemas.base import ApiObject, JsonNumber, SeriesName
from holter.server.schemas.client_status import SaveRequest
from holter.types import Severity

RunState = Literal["running", "stalled", "finished"]
RunHealth = Literal["ok"] | Severity
"""The severity of the worst open incident, `ok` without one."""
RunSection = Literal["attention", "running", "unresolved", "finished"]
"""Where the overview lists a run; `unresolved`: it is over, and has an open warning or critical incident."""
ColumnValue = JsonNumber | str | bool | None
"""A setting or a statistic of a metric; null where a run has none."""


class LatestValue(ApiObject):
    """The newest value of the series that represents a role."""

    metric: str
    value: JsonNumber
    step: int


class LatestByRole(ApiObject):
    """The newest value of each role, null where the run does not log it."""

    loss: LatestValue | None
    reward: LatestValue | None
    throughput: LatestValue | None
    step_time: LatestValue | None
    mfu: LatestValue | None
    grad_norm: LatestValue | None
    learning_rate: LatestValue | None


class StripAttempt(ApiObject):
    """One attempt on the health strip. Newer attempts superseded its steps from `lost_from_step` on."""

    number: int
    first_step: int
    last_step: int
    first_time: float | None
    last_time: float | None
    lost_from_step: int | None


class StripIncident(ApiObject):
    """One incident on the health strip."""

    id: int
    kind: str
    metric: str
    severity: Severity
    state: IncidentState
    attempt: int
    start_step: int
    end_step: int | None


class StripThroughput(ApiObject):
    """Throughput in bins over all steps, as shares of the run's 95th percentile; `step` is a bin's first."""

    step: list[int]
    relative: list[float]


class HealthStrip(ApiObject):
    """The health strip: all attempts, incidents and the throughput of a run on one line."""

    first_step: int | None
    last_step: int | None
    attempts: list[StripAttempt]
    throughput: StripThroughput
    incidents: list[StripIncident]


class WorstIncident(ApiObject):
    """The most severe open incident of a run."""

    id: int
    kind: str
    metric: str
    severity: Severity
    summary: str
    start_step: int
    opened_at: float


class ReferenceStatus(ApiObject):
    """How a run compares with its reference runs (docs/compare.md), at the newest comparison, at `at_step`.

    `references` are ids of runs, `names` their names. `relative` is the
    difference of the loss from the nearest reference as a share, with its interval; `since_step`: from where
    on it is better or worse.
    """

    course: Course
    references: list[str]
    names: list[str]
    aligned_by: str
    at_step: int | None
    since_step: int | None
    relative: float | None
    relative_low: float | None
    relative_high: float | None
    sentence: str
    checked_at: float


class RunInfo(ApiObject):
    """One run in the overview. Times are Unix seconds.

    `note` is the beginning of the run's notes, `trend` its loss in up to 48 means over equal numbers of
    steps. `values` has what was asked for as `columns`: settings, and statistics of metrics. `unjudged`:
    why nothing is known about the run's health, for people; null where its points are judged.
    """

    id: str
    project: str
    name: str
    state: RunState
    created_at: float
    updated_at: float
    first_time: float | None
    last_time: float | None
    last_step: int | None
    points: int
    damaged: str | None
    series: int
    attempts: int
    health: RunHealth
    unjudged: str | None
    analyzed: bool
    open_incidents: int
    worst: WorstIncident | None
    latest: LatestByRole
    strip: HealthStrip
    is_reference: bool
    reference: ReferenceStatus | None
    section: RunSection
    display_name: str | None
    group: str | None
    note: str
    tags: list[str]
    starred: bool
    trend: list[float]
    values: dict[str, ColumnValue]


class RunCounts(ApiObject):
    """How many runs there are in all, how many a filter finds, and of these how many by state and section."""

    all: int
    found: int
    running: int
    stalled: int
    sections: dict[RunSection, int]


class RunList(ApiObject):
    """Runs that a filter finds, in the order asked for; without one, the newest points first.

    `next` is the cursor of the next page, null at the end. `version` names this state of all runs: asked
    again with `since`, the answer has in `order` the ids of the page, and in `runs` those of its runs that
    have changed. `notices` are remarks on the filter for its author.
    """

    runs: list[RunInfo]
    order: list[str] | None
    counts: RunCounts
    next: str | None
    version: str
    notices: list[str]


class DefaultChart(ApiObject):
    """A chart that the run page shows at first. `series` names at most 50 of its `series_count` series."""

    title: str
    role: str
    series: list[SeriesName]
    series_count: int


class UnreadableLocation(ApiObject):
    """A location in a log that could not be read. `seen_at` is in Unix seconds."""

    source: str
    place: str
    reason: str
    seen_at: float


class TimeUseShare(ApiObject):
    """Seconds, and their share of the run's total time."""

    seconds: float
    share: float


class TimeSplit(ApiObject):
    """The time since a run's first point, split without remainder by its use.

    It ends at the newest point; of a stalled run, now. `nonfinite`: steps at the end with a NaN or infinite
    loss.
    """

    forward: TimeUseShare
    slow: TimeUseShare
    superseded: TimeUseShare
    restarts: TimeUseShare
    stalled: TimeUseShare
    nonfinite: TimeUseShare


class LossTrend(ApiObject):
    """The trend of the loss or of the reward over the newest tenth of its steps, whatever a chart shows.

    `slope`: change per 1,000 steps; 0 within the noise; null with too few points, or if the newest value is
    not finite. `nonfinite_since`: the first step of the NaN or infinite values at the end, null without.
    """

    metric: str
    slope: float | None
    from_step: int
    to_step: int
    last_finite: JsonNumber | None
    last_finite_step: int | None
    last_finite_time: float | None
    nonfinite_since: int | None


class StopRequest(ApiObject):
    """A request to stop a run. Times are Unix seconds; `stopped_at` is null until its client has ended."""

    requested_at: float
    by: str | None
    reason: str | None
    stopped_at: float | None


class RunDescription(ApiObject):
    """What the program and its tracker's client report about a run beside its points."""

    display_name: str | None
    notes: str | None
    tags: list[str]
    group: str | None
    job_type: str | None
    parent_run: str | None
    reported_state: str | None
    exit_code: int | None


class RunDetail(RunInfo):
    """A run with its configuration, its first charts, the cost of rollbacks, and what could not be read.

    `config` has the newest value of each setting of the whole job. `spent` is null without a clock.
    `unreadable` has the newest 20 of `unreadable_count` locations.
    """

    config: dict[str, Any]
    description: RunDescription
    stop: StopRequest | None
    save: SaveRequest | None
    lost_steps: int
    lost_seconds: float | None
    goodput: float | None
    spent: TimeSplit | None
    loss_trend: LossTrend | None
    reward_trend: LossTrend | None
    charts: list[DefaultChart]
    unreadable: list[UnreadableLocation]
    unreadable_count: int

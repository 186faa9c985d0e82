"""Answers about runs: the overview of all, and the details of one."""

from __future__ import annotations

from typing import Any, Literal

from holter.server.alerting.incident import IncidentState
from holter.server.schemas.base import ApiObject, JsonNumber, SeriesName
from holter.types import Severity

RunState = Literal["running", "stalled", "finished"]
RunHealth = Literal["ok"] | Severity
"""The severity of the worst open incident, `ok` without one."""


class LatestValue(ApiObject):
    """The newest value of the series that represents a role."""

    metric: str
    value: JsonNumber
    step: int


class LatestByRole(ApiObject):
    """The newest value of each role, null where the run does not log it."""

    loss: LatestValue | None
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
    severity: Severity
    summary: str
    start_step: int
    opened_at: float


class RunInfo(ApiObject):
    """One run in the overview. Times are Unix seconds."""

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
    analyzed: bool
    open_incidents: int
    worst: WorstIncident | None
    latest: LatestByRole
    strip: HealthStrip


class RunList(ApiObject):
    """Runs, the one with the newest points first."""

    runs: list[RunInfo]


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
    """The time between a run's first and newest point, split without remainder by its use."""

    forward: TimeUseShare
    slow: TimeUseShare
    superseded: TimeUseShare
    restarts: TimeUseShare
    stalled: TimeUseShare


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
    lost_steps: int
    lost_seconds: float | None
    goodput: float | None
    spent: TimeSplit | None
    charts: list[DefaultChart]
    unreadable: list[UnreadableLocation]
    unreadable_count: int

"""Answers about runs: lists of them, and one with its whole life."""

from __future__ import annotations

from typing import Any, Literal

from holter.server.api.schemas.base import Number, SeriesName, Severity, Shape
from holter.server.api.schemas.incidents import IncidentState

RunState = Literal["running", "stalled", "finished"]


class LatestValue(Shape):
    """The newest value of the series that stands for a role."""

    metric: str
    value: Number
    step: int


class LatestValues(Shape):
    """The newest value of each role that a run logs."""

    loss: LatestValue | None
    throughput: LatestValue | None
    step_time: LatestValue | None
    mfu: LatestValue | None
    grad_norm: LatestValue | None
    learning_rate: LatestValue | None


class StripAttempt(Shape):
    """One attempt on the strip. From `lost_from_step` on its work was superseded by newer attempts."""

    number: int
    first_step: int
    last_step: int
    first_time: float | None
    last_time: float | None
    lost_from_step: int | None


class StripIncident(Shape):
    """One incident on the strip."""

    id: int
    kind: str
    severity: Severity
    state: IncidentState
    attempt: int
    start_step: int
    end_step: int | None


class Throughput(Shape):
    """Throughput over a run, each bin (named by its first step) as a share of the run's own best."""

    step: list[int]
    relative: list[float]


class Strip(Shape):
    """The health strip: a run's whole life on one line."""

    first_step: int | None
    last_step: int | None
    attempts: list[StripAttempt]
    incidents: list[StripIncident]
    throughput: Throughput


class WorstIncident(Shape):
    """The gravest open incident of a run."""

    id: int
    kind: str
    severity: Severity
    summary: str
    start_step: int
    opened_at: float


class Run(Shape):
    """A run at a glance. Times are Unix seconds."""

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
    health: Literal["ok", "info", "warning", "critical"]
    analyzed: bool
    open_incidents: int
    worst: WorstIncident | None
    latest: LatestValues
    strip: Strip


class Runs(Shape):
    """Runs, the one with the newest points first."""

    runs: list[Run]


class Chart(Shape):
    """A chart that a run's page begins with. `series` names at most 50 of its `series_count` series."""

    title: str
    role: str
    series: list[SeriesName]
    series_count: int


class UnreadablePlace(Shape):
    """A place in a log that could not be understood. `seen_at` in Unix seconds."""

    source: str
    place: str
    reason: str
    seen_at: float


class TimeSpent(Shape):
    """Seconds that went into something, and their share of the whole time."""

    seconds: float
    share: float


class RunDetail(Run):
    """A run with its configuration, its charts, what rollbacks cost, and what could not be read.

    `config` has the newest word on each setting of the job.

    `spent` splits the time from the first point to the newest without rest: forward, slow, superseded,
    restarts, stalled.

    `unreadable` holds the newest 20 of `unreadable_count` places.
    """

    config: dict[str, Any]
    lost_steps: int
    lost_seconds: float | None
    goodput: float | None
    spent: dict[str, TimeSpent] | None
    charts: list[Chart]
    unreadable: list[UnreadablePlace]
    unreadable_count: int

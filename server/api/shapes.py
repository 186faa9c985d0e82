"""The shapes of answers, as OpenAPI describes them. Tests hold every answer against them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from holter.server.agents import Report
from holter.server.agents.agents import State as AgentState

Number = float | Literal["NaN", "Infinity", "-Infinity"]
Severity = Literal["info", "warning", "critical"]
IncidentState = Literal["open", "recovered", "closed"]
RunState = Literal["running", "stalled", "finished"]


class Shape(BaseModel):
    """An object with exactly the fields it names."""

    model_config = ConfigDict(extra="forbid")


class SeriesName(Shape):
    """One series of a run. Labels are strings."""

    metric: str
    labels: dict[str, str]


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


class IncidentEvent(Shape):
    """One line of an incident's history. `by` is who did it, null where Holter did."""

    at: float
    type: str
    by: str | None
    text: str
    detail: dict[str, Any]


class Incident(Shape):
    """A finding (docs/findings.md) with its life."""

    id: int
    run_id: str
    run: str
    project: str
    kind: str
    metric: str
    labels: dict[str, str | int]
    attempt: int
    start_step: int
    peak_step: int | None
    end_step: int | None
    detected_step: int
    classified_step: int | None
    severity: Severity
    confidence: float
    summary: str
    advice: str
    evidence: dict[str, Any]
    state: IncidentState
    start_time: float | None
    opened_at: float
    updated_at: float
    recovered_at: float | None
    closed_at: float | None
    acknowledged_at: float | None
    acknowledged_by: str | None
    events: list[IncidentEvent]


class Incidents(Shape):
    """Incidents, the newest first."""

    incidents: list[Incident]


class ExpectedEvent(Shape):
    """An event that is planned. `scope` says who announced it; those of settings have no `id`."""

    id: int | None
    scope: Literal["run", "project", "settings"]
    kinds: list[str]
    what: str | None
    metric: str
    from_step: int
    to_step: int | None
    every: int | None
    lasting: int | None
    note: str
    added_at: float | None
    added_by: str | None


class ExpectedEvents(Shape):
    """Everything that is planned for a run or a project."""

    expected: list[ExpectedEvent]


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


class SessionState(Shape):
    """Whether a login is needed, and who is logged in."""

    login_required: bool
    logged_in: bool
    user: str | None


class Health(Shape):
    """Whether the server lives, or is ready for requests."""

    status: str


class Agent(Report):
    """An agent as it last reported. `trouble` says in a sentence what is the matter; empty: nothing."""

    seen_at: float
    state: AgentState
    trouble: str


class Agents(Shape):
    """Every agent."""

    agents: list[Agent]

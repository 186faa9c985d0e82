"""Answers about the server itself: session, health, agents, problems; events of the live stream."""

from __future__ import annotations

from typing import Literal

from holter.server.agents.registry import AgentReport, AgentState
from holter.server.schemas.base import ApiObject
from holter.server.schemas.findings import FindingsCatalogue

SettingSource = Literal["flag", "environment", "file", "default"]


class SettingView(ApiObject):
    """One setting. `value` and `default` are texts, empty for an unset one; a secret's value is not shown."""

    name: str
    value: str
    default: str
    source: SettingSource
    secret: bool


class ServerSettings(ApiObject):
    """All settings of the server, and the file that some of them are from."""

    version: str
    file: str | None
    database: str
    settings: list[SettingView]


class SessionState(ApiObject):
    """Whether the server requires a login, who is logged in, and the catalogue that findings are shown by.

    `shared_path`: the page that a share link shows to somebody who is not logged in.
    """

    login_required: bool
    logged_in: bool
    user: str | None
    shared_path: str | None
    findings: FindingsCatalogue


class HealthStatus(ApiObject):
    """`alive` or `ready`."""

    status: str


class AgentStatus(AgentReport):
    """The latest report of an agent. `trouble` describes what is wrong in a sentence, empty if nothing is."""

    seen_at: float
    state: AgentState
    trouble: str


class AgentList(ApiObject):
    """All agents."""

    agents: list[AgentStatus]


class PointsEvent(ApiObject):
    """Event `points` of the live stream: a run has new points."""

    run_id: str
    last_step: int | None
    attempt: int


class RunEvent(ApiObject):
    """Event `run` of the live stream: a run is new, or has changed otherwise than by points."""

    run_id: str


class Problem(ApiObject):
    """Why a request failed, as a sentence."""

    detail: str


class FieldProblem(ApiObject):
    """What was expected at one location of a request."""

    loc: list[str | int]
    msg: str


class FieldProblems(ApiObject):
    """Everything that is wrong with a request, field by field."""

    detail: list[FieldProblem]

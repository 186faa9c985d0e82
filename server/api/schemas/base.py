"""Answers about the server itself: sessions, health, and the agents that send to it.

What every answer is: an object with exactly the fields it names, numbers as strict JSON has them.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from holter.server.agents import Report
from holter.server.agents.registry import State as AgentState

Number = float | Literal["NaN", "Infinity", "-Infinity"]


Severity = Literal["info", "warning", "critical"]


class Shape(BaseModel):
    """An object with exactly the fields it names."""

    model_config = ConfigDict(extra="forbid")


class SeriesName(Shape):
    """One series of a run. Labels are strings."""

    metric: str
    labels: dict[str, str]


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

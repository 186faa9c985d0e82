"""Answers about the server itself: sessions, health, and the agents that send to it."""

from __future__ import annotations

from holter.server.agents import Report
from holter.server.agents.agents import State as AgentState
from holter.server.api.shapes.shape import Shape


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

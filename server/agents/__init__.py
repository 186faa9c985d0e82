"""Agents elsewhere: how each one is by its own reports, and who is told when some fall silent."""

from holter.server.agents.agents import Agents, Report, UnknownAgentError, in_words
from holter.server.agents.watch import Watch

__all__ = ["Agents", "Report", "UnknownAgentError", "Watch", "in_words"]

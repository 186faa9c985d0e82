"""Agents on other machines: the state of each one by its own reports."""

from holter.server.agents.registry import Agents, Report, UnknownAgentError, in_words

__all__ = ["Agents", "Report", "UnknownAgentError", "in_words"]

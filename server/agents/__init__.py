"""Agents on other machines: the state of each one by its own reports."""

from holter.server.agents.registry import AgentRegistry, AgentReport, UnknownAgentError, format_duration

__all__ = ["AgentRegistry", "AgentReport", "UnknownAgentError", "format_duration"]

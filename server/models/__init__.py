"""The tables. Importing this package fills the metadata that migrations compare with."""

from holter.server.models.access import Token
from holter.server.models.agents import AgentRow, OutageRow
from holter.server.models.base import Base
from holter.server.models.expected import ExpectedEvent
from holter.server.models.incidents import Analysis, Incident, IncidentEvent
from holter.server.models.notifications import Notification
from holter.server.models.points import (
    AcceptedBatch,
    Attempt,
    Chunk,
    ConfigRow,
    LogEntry,
    Project,
    Run,
    SeriesRow,
    SourceCursor,
    Summary,
    Thinning,
    Timeline,
    UnreadableRow,
    WriterRow,
)

__all__ = [
    "AcceptedBatch",
    "AgentRow",
    "Analysis",
    "Attempt",
    "Base",
    "Chunk",
    "ConfigRow",
    "ExpectedEvent",
    "Incident",
    "IncidentEvent",
    "LogEntry",
    "Notification",
    "OutageRow",
    "Project",
    "Run",
    "SeriesRow",
    "SourceCursor",
    "Summary",
    "Thinning",
    "Timeline",
    "Token",
    "UnreadableRow",
    "WriterRow",
]

"""The tables. Importing this package fills the metadata that migrations compare with."""

from holter.server.models.alerting import (
    AgentRow,
    Analysis,
    ExpectedEvent,
    Incident,
    IncidentEvent,
    Notification,
    OutageRow,
)
from holter.server.models.base import Base
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
from holter.server.models.tokens import Token

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

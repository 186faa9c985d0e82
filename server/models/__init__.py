"""The tables. Importing this package fills the metadata that migrations compare with."""

from holter.server.models.access import Token
from holter.server.models.base import Base
from holter.server.models.incidents import Analysis, Incident, IncidentEvent
from holter.server.models.notifications import Notification
from holter.server.models.points import (
    AcceptedBatch,
    Attempt,
    Chunk,
    Latest,
    LogEntry,
    Project,
    Run,
    SeriesRow,
    SourceCursor,
    Thinning,
    Timeline,
    UnreadableRow,
    WriterRow,
)

__all__ = [
    "AcceptedBatch",
    "Analysis",
    "Attempt",
    "Base",
    "Chunk",
    "Incident",
    "IncidentEvent",
    "Latest",
    "LogEntry",
    "Notification",
    "Project",
    "Run",
    "SeriesRow",
    "SourceCursor",
    "Thinning",
    "Timeline",
    "Token",
    "UnreadableRow",
    "WriterRow",
]

"""The tables. Importing this package fills the metadata that migrations compare with."""

from holter.server.models.alerting import (
    AgentRow,
    AnalysisRow,
    PlannedEventRow,
    IncidentRow,
    IncidentEventRow,
    NotificationRow,
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
    RunRecord,
    SeriesRow,
    SourceCursor,
    SummaryRow,
    DownsamplingRow,
    Timeline,
    UnreadableRow,
    WriterRow,
)
from holter.server.models.tokens import Token

__all__ = [
    "AcceptedBatch",
    "AgentRow",
    "AnalysisRow",
    "Attempt",
    "Base",
    "Chunk",
    "ConfigRow",
    "PlannedEventRow",
    "IncidentRow",
    "IncidentEventRow",
    "LogEntry",
    "NotificationRow",
    "OutageRow",
    "Project",
    "RunRecord",
    "SeriesRow",
    "SourceCursor",
    "SummaryRow",
    "DownsamplingRow",
    "Timeline",
    "Token",
    "UnreadableRow",
    "WriterRow",
]

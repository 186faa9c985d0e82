"""The tables. Importing this package fills the metadata that migrations compare with."""

from holter.server.models.alerting import (
    AgentRow,
    AnalysisRow,
    IncidentEventRow,
    IncidentRow,
    NotificationDecisionRow,
    NotificationRow,
    PlannedEventRow,
    SilenceRow,
)
from holter.server.models.base import Base
from holter.server.models.points import (
    AcceptedBatch,
    Attempt,
    Chunk,
    ConfigRow,
    DownsamplingRow,
    LogEntry,
    Project,
    RunRecord,
    SeriesRow,
    SourceCursor,
    SummaryRow,
    Timeline,
    UnreadableRow,
    WriterRow,
)
from holter.server.models.references import ReferenceRow
from holter.server.models.run_details import RunAttributeRow, RunDetailRow
from holter.server.models.tokens import EndedSession, Token
from holter.server.models.views import SavedViewRow, ShareLinkRow

__all__ = [
    "AcceptedBatch",
    "AgentRow",
    "AnalysisRow",
    "Attempt",
    "Base",
    "Chunk",
    "ConfigRow",
    "DownsamplingRow",
    "EndedSession",
    "IncidentEventRow",
    "IncidentRow",
    "LogEntry",
    "NotificationDecisionRow",
    "NotificationRow",
    "PlannedEventRow",
    "Project",
    "ReferenceRow",
    "RunAttributeRow",
    "RunDetailRow",
    "RunRecord",
    "SavedViewRow",
    "SeriesRow",
    "ShareLinkRow",
    "SilenceRow",
    "SourceCursor",
    "SummaryRow",
    "Timeline",
    "Token",
    "UnreadableRow",
    "WriterRow",
]

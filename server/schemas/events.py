"""Answers about events of a run: linked incidents, what changed before, and similar incidents of the past."""

from __future__ import annotations

from typing import Literal

from holter.server.alerting.incident import IncidentState
from holter.server.schemas.base import ApiObject
from holter.types import Severity

ChangeCategory = Literal[
    "restart", "setting", "learning_rate", "batch_size", "mixture", "hardware", "planned", "other"
]


class LinkedIncident(ApiObject):
    """One incident of an event."""

    id: int
    kind: str
    metric: str
    severity: Severity
    state: IncidentState
    summary: str
    attempt: int
    start_step: int
    end_step: int | None
    classified_step: int | None
    start_time: float | None
    opened_at: float


class IncidentEvent(ApiObject):
    """Incidents of one event, the cause first.

    `rollback_step`: the newest step whose checkpoint is safe for all of them, null where no rollback is
    needed. `advice`: what to do about all of them.
    """

    severity: Severity
    is_open: bool
    rollback_step: int | None
    advice: str
    incidents: list[LinkedIncident]


class RunChange(ApiObject):
    """Something that was changed in a run. `cause`: it is a probable cause of an incident (0 to 1)."""

    category: ChangeCategory
    attempt: int
    step: int
    time: float | None
    text: str
    cause: float


class SimilarIncident(ApiObject):
    """An earlier incident of the same kind, and what was done about it (`actions`)."""

    id: int
    run_id: str
    run: str
    project: str
    summary: str
    severity: Severity
    state: IncidentState
    start_step: int
    end_step: int | None
    began_at: float
    actions: list[str]


class IncidentContext(ApiObject):
    """The event that an incident belongs to, changes of its run before it, and similar incidents."""

    event: IncidentEvent
    changes: list[RunChange]
    similar: list[SimilarIncident]


class RunEvents(ApiObject):
    """The events of a run, those with open incidents first, then the newest; and what was changed in it."""

    events: list[IncidentEvent]
    changes: list[RunChange]

"""An incident: a finding with an identity, a state and a history, one for each real-world event.

Lifecycle, routing, messages, the REST interface and the pages all work with this one value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from holter.types import CLOCK_STEPS, Finding


class IncidentState(StrEnum):
    """Whether an incident lasts. Acknowledgement is independent of it."""

    OPEN = "open"
    RECOVERED = "recovered"
    CLOSED = "closed"


class EventType(StrEnum):
    """What one line of an incident's history reports. Those that people are notified of are also reasons."""

    OPENED = "opened"
    REOPENED = "reopened"
    ESCALATED = "escalated"
    EASED = "eased"
    RECLASSIFIED = "reclassified"
    MOVED = "moved"
    RECOVERED = "recovered"
    WITHDRAWN = "withdrawn"
    CLOSED = "closed"
    ACKNOWLEDGED = "acknowledged"
    UNACKNOWLEDGED = "unacknowledged"
    MUTED = "muted"
    UNMUTED = "unmuted"
    ASSIGNED = "assigned"
    COMMENT = "comment"
    NOTIFIED = "notified"
    UNDELIVERED = "undelivered"
    NOT_ACKNOWLEDGED = "not_acknowledged"
    REMINDER = "reminder"


_STATE_EVENTS = frozenset({EventType.CLOSED, EventType.REOPENED, EventType.RECOVERED, EventType.WITHDRAWN})


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryLine:
    """What happened to an incident; `detail` holds JSON-able values."""

    type: EventType
    text: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryEntry(HistoryLine):
    """A stored history line: `at` in Unix seconds, `by` the person who acted, None for Holter itself."""

    at: float
    by: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentRun:
    """The run of an incident. `number` is the database's id, `public_id` the one in addresses."""

    number: int
    public_id: str
    name: str
    project: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Incident:
    """The newest finding about one event, with its state and history (oldest entry first).

    `run` is None for an incident about agents: its finding's evidence names them. `fingerprint` recognises
    the event when it is detected again. Times are Unix seconds; `start_time` is the wall time of the
    finding's first step, None where the log has no clock.
    """

    id: int
    fingerprint: str
    run: IncidentRun | None
    finding: Finding
    state: IncidentState
    start_time: float | None
    opened_at: float
    updated_at: float
    recovered_at: float | None = None
    closed_at: float | None = None
    acknowledged_at: float | None = None
    acknowledged_by: str | None = None
    history: tuple[HistoryEntry, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it still lasts and nobody closed it."""
        return self.state is IncidentState.OPEN

    @property
    def assignee(self) -> str | None:
        """The person who was asked last to work on it."""
        entry = self.latest(EventType.ASSIGNED)
        return (entry.detail.get("assignee") or None) if entry is not None else None

    @property
    def began_at(self) -> float:
        """When it began in Unix seconds: by the clock of the log, or else when it was opened."""
        if self.start_time is not None:
            return self.start_time
        timed = dict(self.finding.labels).get("steps") == CLOCK_STEPS
        return self.finding.start_step / 1000 if timed else self.opened_at

    @property
    def decision(self) -> EventType | None:
        """CLOSED or REOPENED where a person changed the state last, None where Holter did."""
        last = next((entry for entry in reversed(self.history) if entry.type in _STATE_EVENTS), None)
        return last.type if last is not None and last.by is not None else None

    @property
    def has_changed_state(self) -> bool:
        """Whether its state has changed since Holter first saw it."""
        return self.latest(*_STATE_EVENTS) is not None

    def mute(self, now: float) -> HistoryEntry | None:
        """The entry of the mute that is in force, None without one.

        `until` in its detail is when it ends (Unix seconds), None: when the incident recovers.
        """
        entry = self.latest(EventType.MUTED, EventType.UNMUTED)
        if entry is None or entry.type is EventType.UNMUTED:
            return None
        until = entry.detail.get("until")
        if until is None:
            ended = self.latest(EventType.RECOVERED, EventType.CLOSED, EventType.WITHDRAWN)
            return entry if self.is_open and (ended is None or ended.at < entry.at) else None
        return entry if until > now else None

    def latest(self, *events: EventType) -> HistoryEntry | None:
        """The newest history entry of these types."""
        return next((entry for entry in reversed(self.history) if entry.type in events), None)

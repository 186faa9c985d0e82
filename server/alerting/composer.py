"""Composes what a channel sends: a message that was claimed, or what holds now about incidents."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypedDict

from holter.server.alerting.gpu_hours import gpu_hours_lost
from holter.server.alerting.incident import EventType, Incident, IncidentRun, IncidentState
from holter.server.alerting.incident_groups import IncidentGroup, group_incidents
from holter.server.alerting.message_incidents import message_incident
from holter.server.alerting.messages import compose
from holter.server.alerting.messages_of_many import compose_group, compose_notice, summarize
from holter.server.alerting.outbox import ClaimedMessage, MessageThread
from holter.server.alerting.rate_limit import SendGroup, SendNotice, SendSummary
from holter.server.alerting.run_strip import StripAttempts, run_strip
from holter.server.channels import Message
from holter.server.channels.message import MessageIncident, MessageStrip
from holter.server.rendering.incident_chart import ChartSource, IncidentCharts

_logger = logging.getLogger(__name__)
RunIncidents = Callable[[int], Sequence[Incident]]
"""All incidents of a run (its number in the database)."""
DeviceCount = Callable[[int, int], int | None]
"""The number of GPUs of a run (its number in the database) in an attempt, None where it is not known."""


class MessageStore(ChartSource, StripAttempts, Protocol):
    """The part of the store that messages need."""


class _Envelope(TypedDict):
    """Arguments that every message is composed with."""

    key: str
    sent_at: float
    address: str


class MessageComposer:
    """Composes messages with their curves. `address` is the server's, without a slash at its end."""

    def __init__(
        self,
        store: MessageStore,
        *,
        address: str,
        devices: DeviceCount = lambda _run, _attempt: None,
        incidents: RunIncidents = lambda _run: (),
    ) -> None:
        self._store = store
        self._charts = IncidentCharts(store)
        self._incidents = incidents
        self._address = address
        self._devices = devices

    def prepare(self) -> None:
        """Get ready for a message with a picture, which is due within seconds."""
        self._charts.prepare()

    def claimed(self, claimed: ClaimedMessage, *, wants_picture: bool) -> Message:
        """The message that was claimed."""
        action = claimed.action
        envelope = self._envelope(claimed.key, claimed.created_at)
        events = self._events(claimed.incidents)
        if isinstance(action, SendNotice):
            message = compose_notice(action.reason, claimed.notice, **envelope)
        elif isinstance(action, SendSummary):
            reason = claimed.common_reason or EventType.OPENED
            message = summarize(claimed.incidents, reason=reason, **envelope)
        elif isinstance(action, SendGroup):
            message = compose_group(claimed.incidents, reason=action.reason, **envelope)
        else:
            message = self._about(
                claimed.incidents[0], action.reason, envelope, events, wants_picture=wants_picture
            )
        return replace(
            message,
            group=claimed.group,
            receiver=claimed.receiver,
            resolved=claimed.resolved,
            incidents=self._for_programs(claimed.incidents, events, envelope),
        )

    def present(self, thread: MessageThread, *, key: str, now: float) -> Message:
        """The first message of a thread as it would be sent now."""
        envelope = self._envelope(key, now)
        events = self._events(thread.incidents)
        if thread.summary:
            message = summarize(thread.incidents, **envelope)
        elif len(thread.incidents) > 1:
            message = compose_group(thread.incidents, reason=_common_reason(thread.incidents), **envelope)
        else:
            [incident] = thread.incidents
            message = self._about(incident, _present_reason(incident), envelope, events, wants_picture=False)
        resolved = not any(incident.is_open for incident in thread.incidents)
        programs = self._for_programs(thread.incidents, events, envelope)
        return replace(message, resolved=resolved, incidents=programs)

    def _about(
        self,
        incident: Incident,
        reason: EventType,
        envelope: _Envelope,
        events: Mapping[int, IncidentGroup],
        *,
        wants_picture: bool,
    ) -> Message:
        sketch, picture, devices = "", None, None
        if incident.run is not None:
            sketch = self._charts.sketch(incident.run.number, incident.finding)
            if wants_picture:
                picture = self._charts.picture(incident.run.number, incident.finding)
            devices = self._devices(incident.run.number, incident.finding.attempt)
        lost = gpu_hours_lost(incident, devices, envelope["sent_at"])
        return compose(
            incident,
            reason=reason,
            sketch=sketch,
            picture=picture,
            gpu_hours=lost,
            event=events[incident.id],
            strip=self._strip(incident.run) if wants_picture and incident.run is not None else None,
            **envelope,
        )

    def _events(self, incidents: Sequence[Incident]) -> dict[int, IncidentGroup]:
        """Each incident's number with the incidents that are linked with it."""
        events = {incident.id: IncidentGroup([incident]) for incident in incidents}
        for number in {incident.run.number for incident in incidents if incident.run is not None}:
            for group in group_incidents(self._incidents(number)):
                events |= {member.id: group for member in group.incidents if member.id in events}
        return events

    def _strip(self, run: IncidentRun) -> MessageStrip | None:
        """The health strip of a run. A failure is logged and leaves the message without it."""
        try:
            return run_strip(self._store.attempts(run.number), self._incidents(run.number))
        except Exception:
            _logger.exception("no health strip of run %d", run.number)
            return None

    def _envelope(self, key: str, sent_at: float) -> _Envelope:
        return {"key": key, "sent_at": sent_at, "address": self._address}

    def _for_programs(
        self, incidents: Sequence[Incident], events: Mapping[int, IncidentGroup], envelope: _Envelope
    ) -> tuple[MessageIncident, ...]:
        now = envelope["sent_at"]
        return tuple(
            message_incident(each, self._address, now=now, event=events[each.id]) for each in incidents
        )


def _present_reason(incident: Incident) -> EventType:
    """The reason that represents the state of an incident."""
    if incident.state is IncidentState.OPEN:
        return EventType.OPENED
    if incident.state is IncidentState.RECOVERED:
        return EventType.RECOVERED
    last = incident.latest(EventType.CLOSED, EventType.WITHDRAWN)
    return EventType.CLOSED if last is None else last.type


def _common_reason(incidents: Sequence[Incident]) -> EventType:
    """The reason that represents the state of a group: an end once all have ended."""
    reasons = {_present_reason(incident) for incident in incidents}
    if EventType.OPENED in reasons:
        return EventType.OPENED
    return reasons.pop() if len(reasons) == 1 else EventType.RECOVERED

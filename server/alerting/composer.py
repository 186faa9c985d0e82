"""Composes what a channel sends: a message that was claimed, or what holds now about incidents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypedDict

from holter.server.alerting.gpu_hours import gpu_hours_lost
from holter.server.alerting.incident import EventType, Incident, IncidentState
from holter.server.alerting.message_incidents import message_incident
from holter.server.alerting.messages import compose
from holter.server.alerting.messages_of_many import compose_group, compose_notice, summarize
from holter.server.alerting.outbox import ClaimedMessage, MessageThread
from holter.server.alerting.rate_limit import SendGroup, SendNotice, SendSummary
from holter.server.channels import Message
from holter.server.channels.message import MessageIncident
from holter.server.rendering.incident_chart import ChartSource, IncidentCharts

DeviceCount = Callable[[int, int], int | None]
"""The number of GPUs of a run (its number in the database) in an attempt, None where it is not known."""


class _Envelope(TypedDict):
    """Arguments that every message is composed with."""

    key: str
    sent_at: float
    address: str


class MessageComposer:
    """Composes messages with their curves. `address` is the server's, without a slash at its end."""

    def __init__(
        self, store: ChartSource, *, address: str, devices: DeviceCount = lambda _run, _attempt: None
    ) -> None:
        self._charts = IncidentCharts(store)
        self._address = address
        self._devices = devices

    def claimed(self, claimed: ClaimedMessage, *, wants_picture: bool) -> Message:
        """The message that was claimed."""
        action = claimed.action
        envelope = self._envelope(claimed.key, claimed.created_at)
        if isinstance(action, SendNotice):
            message = compose_notice(action.reason, claimed.notice, **envelope)
        elif isinstance(action, SendSummary):
            message = summarize(claimed.incidents, **envelope)
        elif isinstance(action, SendGroup):
            message = compose_group(claimed.incidents, reason=action.reason, **envelope)
        else:
            message = self._about(claimed.incidents[0], action.reason, envelope, wants_picture=wants_picture)
        return replace(
            message,
            group=claimed.group,
            receiver=claimed.receiver,
            resolved=claimed.resolved,
            incidents=self._for_programs(claimed.incidents, envelope),
        )

    def present(self, thread: MessageThread, *, key: str, now: float) -> Message:
        """The first message of a thread as it would be sent now."""
        envelope = self._envelope(key, now)
        if thread.summary:
            message = summarize(thread.incidents, **envelope)
        elif len(thread.incidents) > 1:
            message = compose_group(thread.incidents, reason=_common_reason(thread.incidents), **envelope)
        else:
            [incident] = thread.incidents
            message = self._about(incident, _present_reason(incident), envelope, wants_picture=False)
        resolved = not any(incident.is_open for incident in thread.incidents)
        return replace(message, resolved=resolved, incidents=self._for_programs(thread.incidents, envelope))

    def _about(
        self, incident: Incident, reason: EventType, envelope: _Envelope, *, wants_picture: bool
    ) -> Message:
        sketch, picture, devices = "", None, None
        if incident.run is not None:
            sketch = self._charts.sketch(incident.run.number, incident.finding)
            if wants_picture:
                picture = self._charts.picture(incident.run.number, incident.finding)
            devices = self._devices(incident.run.number, incident.finding.attempt)
        lost = gpu_hours_lost(incident, devices, envelope["sent_at"])
        return compose(incident, reason=reason, sketch=sketch, picture=picture, gpu_hours=lost, **envelope)

    def _envelope(self, key: str, sent_at: float) -> _Envelope:
        return {"key": key, "sent_at": sent_at, "address": self._address}

    def _for_programs(
        self, incidents: Sequence[Incident], envelope: _Envelope
    ) -> tuple[MessageIncident, ...]:
        return tuple(message_incident(each, self._address, now=envelope["sent_at"]) for each in incidents)


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

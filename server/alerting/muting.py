"""What mutes an incident now: silences, inhibition by other open incidents, time intervals of routes.

As in Alertmanager, muting is decided when a notification is due: it waits while something mutes it, is sent
once nothing does, and is dropped if its incident ends before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.server.alerting.incident import IncidentState
from holter.server.alerting.incident_labels import read_labels
from holter.server.alerting.routing import LabelSet, NotificationPolicy, Route
from holter.server.alerting.routing.inhibition_rules import InhibitingIncident, inhibitor
from holter.server.alerting.silences import Silence, read_silences
from holter.server.models.alerting import IncidentRow
from holter.types import Severity


@dataclass(frozen=True, slots=True)
class MuteReason:
    """Why an incident is mute. `number`: of the silence or of the inhibiting incident."""

    by: Literal["silence", "inhibition", "time_interval"]
    text: str
    number: int | None = None


class Muting:
    """What mutes incidents at one time, read from the database when it is first needed."""

    def __init__(self, session: Session, policy: NotificationPolicy, now: float) -> None:
        self._session = session
        self._policy = policy
        self._now = now

    @cached_property
    def _silences(self) -> Sequence[Silence]:
        return read_silences(self._session, now=self._now)

    @cached_property
    def _open_incidents(self) -> Sequence[InhibitingIncident]:
        rows = self._session.scalars(select(IncidentRow).where(IncidentRow.state == IncidentState.OPEN)).all()
        labels = read_labels(self._session, rows)
        return [InhibitingIncident(row.id, labels[row.id]) for row in rows]

    def reason(
        self, incident_id: int, labels: LabelSet, severity: Severity, route: Route | None
    ) -> MuteReason | None:
        """Why an incident is mute on a route, None where nothing mutes it."""
        for silence in self._silences:
            if silence.mutes(labels, self._now):
                text = f"silence {silence.id} by {silence.created_by}: {silence.comment}"
                return MuteReason("silence", text, silence.id)
        target = InhibitingIncident(incident_id, labels)
        rules = [rule for rule in self._policy.inhibit_rules if rule.concerns(labels)]
        if rules and (pair := inhibitor(rules, target, self._open_incidents)) is not None:
            rule, source = pair
            text = f"inhibited by incident {source.id}: {rule.name}"
            return MuteReason("inhibition", text, source.id)
        if route is not None:
            interval = self._policy.muting_interval(route, severity, self._now)
            if interval is not None:
                return MuteReason("time_interval", interval)
        return None

"""Other settings of routing on trial: where the newest incidents would have gone with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.server.alerting.incident import Incident
from holter.server.alerting.incident_labels import read_labels
from holter.server.alerting.incident_rows import read_incidents
from holter.server.alerting.routing import LabelSet, NotificationPolicy
from holter.server.alerting.routing.targets import channel_targets
from holter.server.models import IncidentRow
from holter.types import Severity


@dataclass(frozen=True, slots=True)
class ChangedRouting:
    """An incident that other settings send elsewhere: its channels with those in force, and on trial."""

    incident: Incident
    current: tuple[str, ...]
    trial: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoutingTrial:
    """The incidents that go elsewhere, of so many that were `compared`; the newest first."""

    compared: int
    changed: Sequence[ChangedRouting]


def try_policy(
    session: Session, current: NotificationPolicy, trial: NotificationPolicy, *, incidents: int
) -> RoutingTrial:
    """Compare two policies on the newest incidents, at the times when these were opened.

    Compares routes, minimums of channels and time intervals; what mutes an incident by other incidents or
    silences changes later. Incidents of the severity info, which are never sent, are left out.
    """
    query = (
        select(IncidentRow)
        .where(IncidentRow.severity != Severity.INFO)
        .order_by(IncidentRow.opened_at.desc(), IncidentRow.id.desc())
        .limit(incidents)
    )
    rows = session.scalars(query).all()
    labels = read_labels(session, rows)
    pairs = {
        row.id: (
            _channels(current, labels[row.id], row.opened_at),
            _channels(trial, labels[row.id], row.opened_at),
        )
        for row in rows
    }
    changed = [row for row in rows if pairs[row.id][0] != pairs[row.id][1]]
    return RoutingTrial(
        compared=len(rows),
        changed=[
            ChangedRouting(incident, *pairs[incident.id]) for incident in read_incidents(session, changed)
        ],
    )


def _channels(policy: NotificationPolicy, labels: LabelSet, opened_at: float) -> tuple[str, ...]:
    """The channels that get an incident with these labels when it opens."""
    [severity] = labels.get("severity") or (Severity.WARNING.value,)
    return tuple(
        sorted(
            target.channel
            for target in channel_targets(policy, labels).values()
            if not target.refusal
            and policy.muting_interval(target.route, Severity(severity), opened_at) is None
        )
    )

"""Incidents and notifications: lifecycle -> routing -> outbox -> channel, as in Prometheus' Alertmanager."""

from __future__ import annotations

from holter.server.alerting.incident import Incident
from holter.server.alerting.incident_rows import UnknownIncidentError, read_incident, read_incidents
from holter.server.alerting.incident_store import IncidentStore
from holter.server.alerting.lifecycle import IncidentCandidate
from holter.server.alerting.routing import NotificationPolicy, build_policy
from holter.server.alerting.sender import NotificationSender

__all__ = [
    "Incident",
    "IncidentCandidate",
    "IncidentStore",
    "NotificationPolicy",
    "NotificationSender",
    "UnknownIncidentError",
    "build_policy",
    "read_incident",
    "read_incidents",
]

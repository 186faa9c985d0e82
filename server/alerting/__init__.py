"""The outbox: what is waiting to be told, when it is sent, and what became of it.

Incidents: findings with a life. What changes is decided purely; writing it is one transaction.
"""

from __future__ import annotations

from holter.server.alerting.incidents import IncidentStore
from holter.server.alerting.lifecycle import IncidentCandidate
from holter.server.alerting.queries import UnknownIncidentError, read_incident, read_incidents
from holter.server.alerting.routing import Route
from holter.server.alerting.sender import NotificationSender, routes

__all__ = [
    "IncidentCandidate",
    "IncidentStore",
    "NotificationSender",
    "Route",
    "UnknownIncidentError",
    "read_incident",
    "read_incidents",
    "routes",
]

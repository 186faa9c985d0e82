"""Incidents: findings with a life. What changes is decided purely; writing it is one transaction."""

from holter.server.incidents.changes import Found
from holter.server.incidents.incidents import Incidents
from holter.server.incidents.reading import UnknownIncidentError, read_incident, read_incidents
from holter.server.incidents.reasons import Route

__all__ = ["Found", "Incidents", "Route", "UnknownIncidentError", "read_incident", "read_incidents"]

"""What people do with incidents beyond their state, equal on pages, over REST and in messages."""

from __future__ import annotations

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from holter.server.alerting import Incident, IncidentStore, read_incident
from holter.server.analysis import AnalysisWorker
from holter.server.planned_events import PlannedEvents
from holter.tuning import planned_event_for

NOT_AN_INCIDENT = "Not an incident"
"""The note of planned events that somebody declares with this button."""


class NotPlannableError(Exception):
    """An incident about agents was to be planned for."""


class IncidentActions:
    """Closes incidents so that they do not open again."""

    def __init__(
        self,
        engine: Engine,
        incidents: IncidentStore,
        planned_events: PlannedEvents,
        analysis: AnalysisWorker,
    ) -> None:
        self._engine = engine
        self._incidents = incidents
        self._planned_events = planned_events
        self._analysis = analysis

    def close_as_planned(self, incident_id: int, *, by: str | None, note: str = "") -> Incident:
        """Close an incident and declare a planned event for its steps. The same again changes nothing.

        Raises UnknownIncidentError, NotPlannableError.
        """
        with Session(self._engine) as session:
            incident = read_incident(session, incident_id)
        if incident.run is None:
            raise NotPlannableError("Silent agents cannot be planned for: close the incident instead.")
        run_id = incident.run.number
        self._planned_events.add_to_run(run_id, planned_event_for(incident.finding, note=note), by=by)
        closed = self._incidents.close(incident_id, by=by, text=note or "This was planned.")
        self._analysis.request_analysis(run_id)
        return closed

    def close_as_no_incident(self, incident_id: int, *, by: str | None) -> Incident:
        """Close what is not an incident; one of a run does not open again. Raises UnknownIncidentError."""
        try:
            return self.close_as_planned(incident_id, by=by, note=NOT_AN_INCIDENT)
        except NotPlannableError:
            return self._incidents.close(incident_id, by=by, text=NOT_AN_INCIDENT)

"""Incidents in the database: a change, its history and its notifications are one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Engine, delete, func, select
from sqlalchemy.orm import Session

from holter.server.alerting.enqueue import enqueue_notifications
from holter.server.alerting.incident import EventType, HistoryLine, Incident, IncidentState
from holter.server.alerting.incident_mutes import mute_incident, unmute_incident
from holter.server.alerting.incident_rows import (
    UnknownIncidentError,
    normalize_candidate,
    read_incidents,
    write_candidate,
    write_state,
)
from holter.server.alerting.lifecycle import IncidentCandidate, IncidentChange, changes
from holter.server.alerting.routing import NO_POLICY, NotificationPolicy
from holter.server.alerting.silences import Silence
from holter.server.models.alerting import (
    AgentRow,
    IncidentEventRow,
    IncidentRow,
    NotificationDecisionRow,
    NotificationRow,
)
from holter.server.models.points import RunRecord
from holter.tuning import PlannedEvent
from holter.types import Finding, Kind

_logger = logging.getLogger(__name__)
IncidentListener = Callable[[Incident], None]
ANONYMOUS = "someone"
_WITHOUT_DETECTOR = (Kind.USER_ALERT, Kind.NO_DATA)
"""Kinds of a run's incidents that no analysis pass reports."""
AGENT_RETENTION = 30 * 86_400.0
"""Seconds for which ended incidents about agents are retained; those of a run are deleted with it."""


class IncidentStore:
    """The only writer of incidents. Listeners receive each changed incident once it is durable."""

    def __init__(
        self,
        engine: Engine,
        *,
        policy: NotificationPolicy = NO_POLICY,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine = engine
        self._policy = policy
        self._clock = clock
        self._listeners: list[IncidentListener] = []

    def on_change(self, listener: IncidentListener) -> None:
        """Call `listener` with an incident after each change, from the thread that made the change."""
        self._listeners.append(listener)

    def update_run(
        self,
        run_id: int,
        candidates: Sequence[IncidentCandidate],
        *,
        live: bool = True,
        over: bool = False,
        planned: Sequence[PlannedEvent] = (),
        final: Callable[[Finding], bool] = lambda _: False,
        onset_final: Callable[[Finding], bool] = lambda _: False,
        arrived_at: float | None = None,
    ) -> list[Incident]:
        """Bring a run's incidents to what the newest analysis pass detected; returns those that changed.

        `live`: the run's points arrive as they are logged, so that people are notified. `over`: the run is
        finished. `planned` events explain why something is no longer detected. `final`: findings whose data
        has been downsampled entirely, so that their incidents stay as they are. `onset_final`: findings
        whose onset has, so that they neither open nor vanish. `arrived_at`: when the newest points of the
        pass arrived. The same candidates again change nothing.
        """
        candidates = [candidate for candidate in candidates if not final(candidate.finding)]
        with Session(self._engine) as session, session.begin():
            _lock_run(session, run_id)
            query = select(IncidentRow).where(IncidentRow.run_id == run_id).order_by(IncidentRow.id)
            query = query.where(IncidentRow.kind.not_in(_WITHOUT_DETECTOR))
            rows = {row.id: row for row in session.scalars(query.with_for_update())}
            incidents = [
                incident
                for incident in read_incidents(session, list(rows.values()))
                if not final(incident.finding)
            ]
            news = [normalize_candidate(candidate) for candidate in candidates]
            decided = changes(incidents, news, over=over, planned=planned, onset_final=onset_final)
            changed = self._apply(session, run_id, rows, decided)
            result = _read(session, changed)
            # an open incident of a run that was catching up is sent once the run is live
            open_before = [one for one in incidents if one.is_open and one.id not in changed]
            self._enqueue(session, [*result, *open_before], changed, live=live, arrived_at=arrived_at)
        self._announce(result)
        return result

    def open_user_alert(self, run_id: int, finding: Finding) -> Incident:
        """Open an incident for an alert that the run's program raised.

        The same title and text in the same attempt are one incident, however often the alert is sent.
        """
        text = "\0".join(
            [str(finding.attempt), str(finding.evidence["title"]), str(finding.evidence["text"])]
        )
        fingerprint = f"{finding.kind}\0{text}"
        now = self._clock()
        with Session(self._engine) as session, session.begin():
            _lock_run(session, run_id)
            candidate = normalize_candidate(
                IncidentCandidate(finding=finding, fingerprint=fingerprint, start_time=now)
            )
            query = select(IncidentRow).where(
                IncidentRow.run_id == run_id, IncidentRow.fingerprint == candidate.fingerprint
            )
            row = session.scalar(query)
            if row is not None:
                return read_incidents(session, [row])[0]
            changed = self._apply(session, run_id, {}, changes([], [candidate]))
            [result] = _read(session, changed)
            self._enqueue(session, [result], changed, live=True)
        self._announce([result])
        return result

    def update_missing_data(self, run_id: int, candidate: IncidentCandidate) -> list[Incident]:
        """Open or end the incident that a run's data does not come; returns it if it changed."""
        with Session(self._engine) as session, session.begin():
            _lock_run(session, run_id)
            query = select(IncidentRow).where(
                IncidentRow.run_id == run_id, IncidentRow.kind == Kind.NO_DATA, IncidentRow.end_step.is_(None)
            )
            rows = {row.id: row for row in session.scalars(query.with_for_update())}
            incidents = read_incidents(session, list(rows.values()))
            decided = changes(incidents, [normalize_candidate(candidate)])
            changed = self._apply(session, run_id, rows, decided)
            result = _read(session, changed)
            self._enqueue(session, result, changed, live=True)
        self._announce(result)
        return result

    def update_agents(
        self, detect: Callable[[Sequence[Incident]], Sequence[IncidentCandidate]]
    ) -> list[Incident]:
        """Bring the incidents about agents to what `detect` finds; returns those that changed.

        `detect` receives the incidents that have not ended and returns a candidate for each of them, and
        those for new ones. A first pass without locks decides whether there is anything to write.
        """
        with Session(self._engine) as session:
            if not _agent_changes(session, detect)[1]:
                return []
        with Session(self._engine) as session, session.begin():
            # servers that share the database take turns, and see what the one before wrote
            session.scalars(select(AgentRow.agent).order_by(AgentRow.agent).with_for_update()).all()
            rows, decided = _agent_changes(session, detect)
            changed = self._apply(session, None, rows, decided)
            if any(EventType.OPENED in events for events in changed.values()):
                _delete_old_agent_incidents(session, self._clock() - AGENT_RETENTION)
            result = _read(session, changed)
            self._enqueue(session, result, changed, live=True)
        self._announce(result)
        return result

    def acknowledge(self, incident_id: int, *, by: str | None = None) -> Incident:
        """Record that someone works on it. Raises UnknownIncidentError."""
        return self._change_by_person(incident_id, EventType.ACKNOWLEDGED, by)

    def unacknowledge(self, incident_id: int, *, by: str | None = None) -> Incident:
        """Withdraw an acknowledgement. Raises UnknownIncidentError."""
        return self._change_by_person(incident_id, EventType.UNACKNOWLEDGED, by)

    def close(self, incident_id: int, *, by: str | None = None, text: str = "") -> Incident:
        """Close it; it stays closed unless it gets worse. Raises UnknownIncidentError."""
        return self._change_by_person(incident_id, EventType.CLOSED, by, text)

    def reopen(self, incident_id: int, *, by: str | None = None, text: str = "") -> Incident:
        """Open it again. Raises UnknownIncidentError."""
        return self._change_by_person(incident_id, EventType.REOPENED, by, text)

    def assign(self, incident_id: int, assignee: str | None, *, by: str | None = None) -> Incident:
        """Ask a person to work on it, None: nobody in particular. Raises UnknownIncidentError."""
        text = f"to {assignee}" if assignee else "to nobody"
        return self._change_by_person(incident_id, EventType.ASSIGNED, by, text, {"assignee": assignee})

    def comment(self, incident_id: int, text: str, *, by: str | None = None) -> Incident:
        """Add a person's comment to the history. Raises UnknownIncidentError, ValueError without text."""
        if not text.strip():
            raise ValueError("A comment needs text.")
        return self._change_by_person(incident_id, EventType.COMMENT, by, text)

    def mute(
        self, incident_id: int, *, seconds: float | None, by: str | None = None, comment: str = ""
    ) -> Silence:
        """Mute it for so long, None: until it recovers. See `mute_incident`. Raises UnknownIncidentError."""
        now, silences = self._clock(), list[Silence]()

        def add(session: Session) -> bool:
            silences.append(
                mute_incident(
                    session, incident_id, seconds=seconds, by=by or ANONYMOUS, now=now, comment=comment
                )
            )
            return True

        until = None if seconds is None else now + seconds
        self._change_by_person(incident_id, EventType.MUTED, by, detail={"until": until}, also=add)
        return silences[0]

    def unmute(self, incident_id: int, *, by: str | None = None) -> Incident:
        """End the mutes of this incident alone. Raises UnknownIncidentError."""
        now = self._clock()
        return self._change_by_person(
            incident_id,
            EventType.UNMUTED,
            by,
            also=lambda session: unmute_incident(session, incident_id, now=now),
        )

    def _change_by_person(
        self,
        incident_id: int,
        event: EventType,
        by: str | None,
        text: str = "",
        detail: Mapping[str, Any] | None = None,
        *,
        also: Callable[[Session], bool] = lambda _: True,
    ) -> Incident:
        """Change an incident; `also` makes further changes in the transaction; False: it was so already."""
        now = self._clock()
        person = by or ANONYMOUS
        with Session(self._engine) as session, session.begin():
            query = select(IncidentRow).where(IncidentRow.id == incident_id)
            row = session.scalar(query.with_for_update())
            if row is None:
                raise UnknownIncidentError(f"There is no incident {incident_id}.")
            if _set_by_person(row, event, person, now) and also(session):
                _add_history(
                    session,
                    row,
                    HistoryLine(type=event, text=text.strip(), detail=detail or {}),
                    at=now,
                    by=person,
                )
                row.updated_at = now
                [result] = read_incidents(session, [row])
                self._enqueue(session, [result], {row.id: frozenset({event})}, live=False)
            else:
                [result] = read_incidents(session, [row])
        self._announce([result])
        return result

    def _apply(
        self,
        session: Session,
        run_id: int | None,
        rows: Mapping[int, IncidentRow],
        decided: Sequence[IncidentChange],
    ) -> dict[int, frozenset[EventType]]:
        """Write the changes; returns the events of each changed incident by its number."""
        now = self._clock()
        changed = {}
        for change in decided:
            if change.incident is None:
                row = IncidentRow(run_id=run_id, opened_at=now, state=change.state.value)
            else:
                row = rows[change.incident.id]
            if change.candidate is not None:
                write_candidate(row, change.candidate)
            write_state(row, change.state, now)
            row.updated_at = now
            session.add(row)
            session.flush()
            for line in change.lines:
                _add_history(session, row, line, at=now)
            changed[row.id] = change.events
        return changed

    def _enqueue(
        self,
        session: Session,
        incidents: Sequence[Incident],
        events: Mapping[int, frozenset[EventType]],
        *,
        live: bool,
        arrived_at: float | None = None,
    ) -> None:
        enqueue_notifications(
            session,
            self._policy,
            incidents,
            events,
            live=live,
            now=self._clock(),
            arrived_at=arrived_at,
        )

    def _announce(self, changed: Sequence[Incident]) -> None:
        for incident in changed:
            for listener in self._listeners:
                try:
                    listener(incident)
                except Exception:  # a listener's failure must not fail the change
                    _logger.exception("a listener failed on incident %s", incident.id)


def _lock_run(session: Session, run_id: int) -> None:
    """Let replicas that change incidents of one run at once take turns; SQLite has one writer anyway."""
    session.execute(select(RunRecord.id).where(RunRecord.id == run_id).with_for_update(key_share=True))


def _read(session: Session, numbers: Iterable[int]) -> list[Incident]:
    """Incidents that were just written, whose rows the session has."""
    return read_incidents(session, [session.get_one(IncidentRow, number) for number in numbers])


def _agent_changes(
    session: Session, detect: Callable[[Sequence[Incident]], Sequence[IncidentCandidate]]
) -> tuple[dict[int, IncidentRow], list[IncidentChange]]:
    """The rows of incidents about agents that have not ended, and the changes of these and of new ones."""
    query = select(IncidentRow).where(IncidentRow.run_id.is_(None), IncidentRow.end_step.is_(None))
    rows = {row.id: row for row in session.scalars(query.order_by(IncidentRow.id))}
    incidents = read_incidents(session, list(rows.values()))
    candidates = [normalize_candidate(candidate) for candidate in detect(incidents)]
    return rows, changes(incidents, candidates)


def _delete_old_agent_incidents(session: Session, before: float) -> None:
    ended_at = func.coalesce(IncidentRow.closed_at, IncidentRow.recovered_at)
    query = select(IncidentRow.id).where(IncidentRow.run_id.is_(None), ended_at < before)
    numbers = session.scalars(query).all()
    for table in (NotificationRow, NotificationDecisionRow, IncidentEventRow):
        session.execute(delete(table).where(table.incident_id.in_(numbers)))
    session.execute(delete(IncidentRow).where(IncidentRow.id.in_(numbers)))


def _set_by_person(row: IncidentRow, event: EventType, person: str, now: float) -> bool:
    """Write what a person asked for; False where it is so already: a second click changes nothing."""
    if event is EventType.ACKNOWLEDGED:
        if row.acknowledged_at is not None:
            return False
        row.acknowledged_at, row.acknowledged_by = now, person
    elif event is EventType.UNACKNOWLEDGED:
        if row.acknowledged_at is None:
            return False
        row.acknowledged_at = row.acknowledged_by = None
    elif event is EventType.CLOSED:
        if row.state == IncidentState.CLOSED:
            return False
        write_state(row, IncidentState.CLOSED, now)
    elif event is EventType.REOPENED:
        if row.state == IncidentState.OPEN:
            return False
        write_state(row, IncidentState.OPEN, now)
    return True


def _add_history(
    session: Session, row: IncidentRow, line: HistoryLine, *, at: float, by: str | None = None
) -> None:
    detail = dict(line.detail)
    session.add(
        IncidentEventRow(
            incident_id=row.id, at=at, type=line.type.value, by=by, text=line.text, detail=detail
        )
    )

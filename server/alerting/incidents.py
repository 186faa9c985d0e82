"""Incidents in the database: each change, its history and its notifications in one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.server.alerting.enqueue import enqueue_notifications
from holter.server.alerting.incident_row import known_of, plain_found, write_finding, write_state
from holter.server.alerting.lifecycle import (
    IncidentChange,
    EventType,
    IncidentCandidate,
    HistoryLine,
    IncidentState,
    changes,
)
from holter.server.alerting.queries import UnknownIncidentError, read_incidents
from holter.server.alerting.routing import Route
from holter.server.models.alerting import IncidentRow, IncidentEventRow
from holter.server.models.points import RunRecord
from holter.tuning import Expected
from holter.types import Finding

_logger = logging.getLogger(__name__)
IncidentListener = Callable[[dict[str, Any]], None]
NOBODY_NAMED = "someone"


class IncidentStore:
    """The only writer of incidents. Listeners hear of each changed incident, as JSON, once it is durable."""

    def __init__(
        self, engine: Engine, *, routes: Sequence[Route] = (), clock: Callable[[], float] = time.time
    ) -> None:
        self._engine = engine
        self._routes = tuple(routes)
        self._clock = clock
        self._listeners: list[IncidentListener] = []

    def on_change(self, listener: IncidentListener) -> None:
        """Call `listener` with an incident's JSON after each change, from the thread that made it."""
        self._listeners.append(listener)

    def fold(
        self,
        run_id: int,
        found: Sequence[IncidentCandidate],
        *,
        live: bool = True,
        over: bool = False,
        planned: Sequence[Expected] = (),
        settled: Callable[[Finding], bool] = lambda _: False,
        said: Callable[[Finding], bool] = lambda _: False,
    ) -> list[dict[str, Any]]:
        """Make a run's incidents say what the newest look found; returns those that changed, as JSON.

        `live`: the run's points arrive as they are logged, so that people want to hear of it now.
        `over`: the run is finished. `planned`: why something may no longer be found. `settled`: which
        findings nothing new is said of, so that their incidents stay as they are. `said`: what was said of
        their beginning was said with more points, so that they neither open nor vanish. Folding the same
        findings again changes nothing.
        """
        found = [item for item in found if not settled(item.finding)]
        with Session(self._engine, expire_on_commit=False) as session, session.begin():
            # replicas that look at one run at once, and people, take turns; SQLite has one writer anyway
            session.execute(
                select(RunRecord.id).where(RunRecord.id == run_id).with_for_update(key_share=True)
            )
            rows = {row.id: row for row in _of_run(session, run_id)}
            rows = {number: row for number, row in rows.items() if not settled(known_of(row, None).finding)}
            words = _words(session, rows.values())
            known = [known_of(row, words.get(row.id)) for row in rows.values()]
            changed: list[IncidentRow] = []
            events: dict[int, frozenset[EventType]] = {}
            news = [plain_found(item) for item in found]
            for change in changes(known, news, over=over, planned=planned, said=said):
                row = self._apply(session, run_id, rows, change)
                changed.append(row)
                events[row.id] = change.events
            others = [
                row for row in rows.values() if row.id not in events and row.state == IncidentState.OPEN
            ]
            enqueue_notifications(
                session, self._routes, [*changed, *others], events, live=live, now=self._clock()
            )
            result = read_incidents(session, changed)
        self._announce(result)
        return result

    def acknowledge(self, incident_id: int, *, by: str | None = None) -> dict[str, Any]:
        """Someone has seen it and takes it on. Raises UnknownIncidentError."""
        return self._by_person(incident_id, EventType.ACKNOWLEDGED, by)

    def unacknowledge(self, incident_id: int, *, by: str | None = None) -> dict[str, Any]:
        """Take an acknowledgement back. Raises UnknownIncidentError."""
        return self._by_person(incident_id, EventType.UNACKNOWLEDGED, by)

    def close(self, incident_id: int, *, by: str | None = None, text: str = "") -> dict[str, Any]:
        """Done with it: it stays closed unless it gets worse. Raises UnknownIncidentError."""
        return self._by_person(incident_id, EventType.CLOSED, by, text)

    def reopen(self, incident_id: int, *, by: str | None = None, text: str = "") -> dict[str, Any]:
        """Closed too early. Raises UnknownIncidentError."""
        return self._by_person(incident_id, EventType.REOPENED, by, text)

    def comment(self, incident_id: int, text: str, *, by: str | None = None) -> dict[str, Any]:
        """Add a person's words to the history. Raises UnknownIncidentError, ValueError without words."""
        if not text.strip():
            raise ValueError("A comment needs words.")
        return self._by_person(incident_id, EventType.COMMENT, by, text)

    def _by_person(
        self, incident_id: int, event: EventType, by: str | None, text: str = ""
    ) -> dict[str, Any]:
        now = self._clock()
        who = by or NOBODY_NAMED
        with Session(self._engine, expire_on_commit=False) as session, session.begin():
            row = session.scalar(select(IncidentRow).where(IncidentRow.id == incident_id).with_for_update())
            if row is None:
                raise UnknownIncidentError(f"There is no incident {incident_id}.")
            if _take(row, event, who, now):
                _record(session, row, HistoryLine(type=event, text=text.strip()), at=now, by=who)
                row.updated_at = now
                enqueue_notifications(
                    session, self._routes, [row], {row.id: frozenset({event})}, live=False, now=now
                )
            [result] = read_incidents(session, [row])
        self._announce([result])
        return result

    def _apply(
        self, session: Session, run_id: int, rows: dict[int, IncidentRow], change: IncidentChange
    ) -> IncidentRow:
        now = self._clock()
        if change.known is None:
            row = IncidentRow(run_id=run_id, opened_at=now, state=change.state.value)
        else:
            row = rows[change.known.id]
        if change.found is not None:
            write_finding(row, change.found)
        write_state(row, change.state, now)
        row.updated_at = now
        session.add(row)
        session.flush()
        for line in change.lines:
            _record(session, row, line, at=now)
        return row

    def _announce(self, changed: Sequence[dict[str, Any]]) -> None:
        for incident in changed:
            for listener in self._listeners:
                try:
                    listener(incident)
                except Exception:  # a listener's failure is not the incident's
                    _logger.exception("a listener failed on incident %s", incident["id"])


def _of_run(session: Session, run_id: int) -> Sequence[IncidentRow]:
    query = select(IncidentRow).where(IncidentRow.run_id == run_id).order_by(IncidentRow.id)
    return session.scalars(query.with_for_update()).all()


def _words(session: Session, rows: Iterable[IncidentRow]) -> dict[int, EventType]:
    """Where a person said last that an incident is closed, or is not."""
    ids = [row.id for row in rows]
    about_state = (EventType.CLOSED, EventType.REOPENED, EventType.RECOVERED, EventType.WITHDRAWN)
    query = (
        select(IncidentEventRow.incident_id, IncidentEventRow.type, IncidentEventRow.by)
        .where(
            IncidentEventRow.incident_id.in_(ids),
            IncidentEventRow.type.in_([word.value for word in about_state]),
        )
        .order_by(IncidentEventRow.id)
    )
    last = {incident_id: (EventType(word), by) for incident_id, word, by in session.execute(query)}
    return {incident_id: word for incident_id, (word, by) in last.items() if by is not None}


def _take(row: IncidentRow, event: EventType, who: str, now: float) -> bool:
    """Do what a person asked; False when it was so already, so that a second click changes nothing."""
    if event is EventType.ACKNOWLEDGED:
        if row.acknowledged_at is not None:
            return False
        row.acknowledged_at, row.acknowledged_by = now, who
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


def _record(
    session: Session, row: IncidentRow, line: HistoryLine, *, at: float, by: str | None = None
) -> None:
    event = IncidentEventRow(
        incident_id=row.id, at=at, type=line.type.value, by=by, text=line.text, detail=dict(line.detail)
    )
    session.add(event)

"""Watches for agents that fall silent, and has people told: an outage and its messages in one transaction."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from sqlalchemy import Engine, delete, select
from sqlalchemy.orm import Session

from holter.server.agents.registry import AgentRegistry
from holter.server.alerting.lifecycle import RANK, EventType, IncidentState
from holter.server.alerting.outages import (
    SEVERITY,
    Missing,
    developed,
    fallen_silent,
    missing_of,
    nobody_left,
    over,
)
from holter.server.alerting.routing import Route
from holter.server.models.alerting import AgentRow, NotificationRow, OutageRow

_logger = logging.getLogger(__name__)

EVERY = 10.0
"""Seconds between two looks."""
_GAP = 60.0
"""Seconds without a look after which nothing is known of what agents did meanwhile."""
_KEPT = 30 * 86_400.0
"""Seconds for which outages that are over are kept."""


class Watch:
    """One thread; none where nobody would be told. Servers that share a database tell of an outage once."""

    def __init__(
        self,
        engine: Engine,
        agents: AgentRegistry,
        *,
        routes: Sequence[Route],
        clock: Callable[[], float] = time.time,
        told: Callable[[], object] = lambda: None,
    ) -> None:
        self._engine = engine
        self._agents = agents
        self._channels = [one.channel for one in routes if RANK[one.minimum] <= RANK[SEVERITY]]
        self._clock = clock
        self._told = told
        self._since = self._looked_at = clock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="agents watched", daemon=True)

    def start(self) -> None:
        """Begin. Silence counts from now on: agents could not report while the server was away."""
        self._since = self._looked_at = self._clock()
        if self._channels:
            self._thread.start()

    def close(self) -> None:
        """Stop after the look in progress."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def look(self) -> None:
        """Open, carry on and end outages by what agents have reported."""
        now = self._clock()
        if not 0 <= now - self._looked_at <= _GAP:  # asleep, suspended, or another time of day
            self._since = now
        self._looked_at = now
        if not self._changed(now, lock=False):
            return
        if self._changed(now, lock=True):
            self._told()

    def _changed(self, now: float, *, lock: bool) -> bool:
        """Whether anything is to be changed; with `lock` it is, by one server after the other."""
        with Session(self._engine) as session, session.begin() if lock else session:
            if lock:  # the others then see what this one did
                session.scalars(select(AgentRow.agent).order_by(AgentRow.agent).with_for_update()).all()
            agents = self._agents.all()
            rows = session.scalars(select(OutageRow).where(OutageRow.state == IncidentState.OPEN)).all()
            before = {row.id: [missing_of(one) for one in row.agents] for row in rows}
            known = {one.agent for missing in before.values() for one in missing}
            when = {"now": now, "since": self._since}
            silent = fallen_silent(agents, known, **when)
            after = {key: developed(missing, agents, **when) for key, missing in before.items()}
            ended = {key for key, missing in after.items() if over(missing, agents)}
            moved = [row for row in rows if row.id in ended or after[row.id] != before[row.id]]
            if lock:
                for row in moved:
                    row.agents = [one.as_json() for one in after[row.id]]
                    if row.id in ended:
                        self._end(session, row, after[row.id], now)
                if silent:
                    self._open(session, silent, nobody_left(agents, **when), now)
            return bool(moved or silent)

    def _open(self, session: Session, silent: Sequence[Missing], alone: bool, now: float) -> None:
        _forget(session, now - _KEPT)
        row = OutageRow(
            state=IncidentState.OPEN.value,
            opened_at=now,
            over_at=None,
            alone=alone,
            agents=[one.as_json() for one in silent],
        )
        session.add(row)
        session.flush()
        for channel in self._channels:
            session.add(_notification(row, channel, EventType.OPENED, now))

    def _end(self, session: Session, row: OutageRow, missing: Sequence[Missing], now: float) -> None:
        back = any(one.became != "forgotten" for one in missing)
        row.state, row.over_at = (IncidentState.RECOVERED if back else IncidentState.CLOSED).value, now
        why = EventType.RECOVERED if back else EventType.CLOSED
        told = select(NotificationRow.channel).where(NotificationRow.outage_id == row.id).distinct()
        for channel in session.scalars(told).all():
            session.add(_notification(row, channel, why, now))

    def _work(self) -> None:
        while not self._stop.wait(EVERY):
            try:
                self.look()
            except Exception:  # while the database is away, agents cannot report either
                self._since = self._looked_at = self._clock()
                _logger.exception("agents cannot be watched; the next look is in %.0f s", EVERY)


def _notification(row: OutageRow, channel: str, why: EventType, now: float) -> NotificationRow:
    key = f"outage {row.id}.{why.value}.{channel}"
    return NotificationRow.waiting(channel, key, why.value, now, outage_id=row.id)


def _forget(session: Session, before: float) -> None:
    old = select(OutageRow.id).where(OutageRow.over_at < before)
    session.execute(delete(NotificationRow).where(NotificationRow.outage_id.in_(old)))
    session.execute(delete(OutageRow).where(OutageRow.over_at < before))

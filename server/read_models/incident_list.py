"""Reads pages of incidents, filtered and ordered by the time of their events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Engine, Select, and_, case, func, or_, select
from sqlalchemy.orm import Session

from holter.detectors.findings import CATALOGUE
from holter.server.alerting import read_incidents
from holter.server.models import IncidentRow, Project, RunRecord
from holter.server.schemas.incidents import IncidentCounts, IncidentPage, incident_view
from holter.types import Severity

_BEGAN_AT = func.coalesce(IncidentRow.start_time, IncidentRow.opened_at)
_RANK = case({severity.value: severity.rank for severity in Severity}, value=IncidentRow.severity)
IncidentOrder = Literal["opened", "event", "severity"]
"""The newest first, by when they were opened or began; or the most severe first, of these the newest."""
_ORDERS: Mapping[IncidentOrder, Sequence[ColumnElement[Any]]] = {
    "opened": (IncidentRow.opened_at.desc(),),
    "event": (_BEGAN_AT.desc(),),
    "severity": (_RANK.desc(), IncidentRow.opened_at.desc()),
}
_UNACKNOWLEDGED = and_(IncidentRow.state == "open", IncidentRow.acknowledged_at.is_(None))


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentFilter:
    """Which incidents are listed. `q`: words that occur in texts or names of an incident.

    `since` and `until` (Unix seconds) limit when they began.
    """

    state: str = "all"
    acknowledged: bool | None = None
    severity: Severity | None = None
    run_id: int | None = None
    q: str = ""
    since: float | None = None
    until: float | None = None


class IncidentListReader:
    """Reads pages of incidents."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def page(
        self, wanted: IncidentFilter, *, limit: int, offset: int = 0, order: IncidentOrder = "opened"
    ) -> IncidentPage:
        """One page, in an order."""
        state = _state_condition(wanted)
        query = _filtered(select(IncidentRow), wanted).where(*state)
        query = query.order_by(*_ORDERS[order], IncidentRow.id.desc())
        with Session(self._engine) as session:
            counts = _counts(session, wanted)
            matching = _filtered(select(func.count(IncidentRow.id)), wanted).where(*state)
            total = session.scalar(matching) or 0
            incidents = read_incidents(session, session.scalars(query.limit(limit).offset(offset)).all())
        return {
            "incidents": [incident_view(incident) for incident in incidents],
            "total": total,
            "counts": counts,
        }


def _state_condition(wanted: IncidentFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.state == "unacknowledged":
        conditions.append(_UNACKNOWLEDGED)
    elif wanted.state != "all":
        conditions.append(IncidentRow.state == wanted.state)
    if wanted.acknowledged is not None:
        conditions.append(IncidentRow.acknowledged_at.is_not(None) == wanted.acknowledged)
    return conditions


def _filtered(query: Select[Any], wanted: IncidentFilter) -> Select[Any]:
    """The query with all filters but that of the state."""
    if wanted.severity is not None:
        query = query.where(IncidentRow.severity == wanted.severity)
    if wanted.run_id is not None:
        query = query.where(IncidentRow.run_id == wanted.run_id)
    if wanted.since is not None:
        query = query.where(wanted.since <= _BEGAN_AT)
    if wanted.until is not None:
        query = query.where(wanted.until >= _BEGAN_AT)
    words = wanted.q.replace("\0", " ").lower().split()
    if words:
        query = query.outerjoin(RunRecord, RunRecord.id == IncidentRow.run_id)
        query = query.outerjoin(Project, Project.id == RunRecord.project_id)
        query = query.where(*(_contains(word) for word in words))
    return query


def _contains(word: str) -> ColumnElement[bool]:
    kinds = [name for name, kind in CATALOGUE.items() if word in kind.title.lower()]
    texts = (IncidentRow.summary, IncidentRow.metric, IncidentRow.kind, RunRecord.name, Project.name)
    return or_(IncidentRow.kind.in_(kinds), *(text.icontains(word, autoescape=True) for text in texts))


def _counts(session: Session, wanted: IncidentFilter) -> IncidentCounts:
    def number(condition: ColumnElement[bool]) -> ColumnElement[int]:
        return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)

    columns: Any = select(
        number(_UNACKNOWLEDGED),
        number(IncidentRow.state == "open"),
        number(IncidentRow.state == "recovered"),
        number(IncidentRow.state == "closed"),
        func.count(IncidentRow.id),
    )
    rows = _filtered(columns, wanted)
    unacknowledged, still_open, recovered, closed, total = session.execute(rows).one()
    return {
        "unacknowledged": unacknowledged,
        "open": still_open,
        "recovered": recovered,
        "closed": closed,
        "all": total,
    }

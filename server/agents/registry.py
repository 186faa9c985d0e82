"""The newest report of each agent, and the state that it implies."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine, delete, func, select
from sqlalchemy.orm import Session

from holter.plurals import counted, verb
from holter.server.database import writing
from holter.server.models.alerting import AgentRow
from holter.server.store.write.sql import upsert

AGENT_LIMIT = 10_000
SILENT_RETENTION = 7 * 86_400.0
"""Seconds after which a silent agent is forgotten."""
ENDED_RETENTION = 3_600.0
"""Seconds after which an agent that announced its end is no longer listed."""
LEAST_SILENCE = 120.0
"""Seconds without a report before which no agent counts as silent."""
MISSED_REPORTS = 4.0
"""Reports that must be missing before an agent counts as silent."""
BEHIND_SECONDS = 60.0

AgentState = Literal["well", "behind", "troubled", "silent", "ended"]
_NO_NUL = r"^[^\x00]*$"  # PostgreSQL cannot store it
ReportText = Annotated[str, Field(max_length=500, pattern=_NO_NUL)]
ReportCount = Annotated[int, Field(ge=0, le=2**53)]


class UnknownAgentError(LookupError):
    """No agent with this name has reported."""


class AgentReport(BaseModel):
    """An agent's state. `every`: seconds between reports; `seconds_behind`: age of the oldest unread data."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    agent: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\w.:@-]+$")]
    host: Annotated[str, Field(min_length=1, max_length=200, pattern=_NO_NUL)]
    version: Annotated[str, Field(max_length=100, pattern=_NO_NUL)] = ""
    kind: Literal["files", "pipe"] = "files"
    project: Annotated[str, Field(max_length=200, pattern=_NO_NUL)] = ""
    paths: Annotated[list[ReportText], Field(max_length=20)] = []
    began: Annotated[float, Field(ge=0, le=1e11)] = 0.0
    every: Annotated[float, Field(gt=0, le=86_400)] = 30.0
    files: ReportCount = 0
    files_behind: ReportCount = 0
    bytes_behind: ReportCount = 0
    seconds_behind: Annotated[float, Field(ge=0, le=1e11)] = 0.0
    points: ReportCount = 0
    dropped: ReportCount = 0
    unreadable: ReportCount = 0
    spool_bytes: ReportCount = 0
    last_error: Annotated[str, Field(max_length=1000, pattern=_NO_NUL)] = ""
    ended: bool = False


class AgentRegistry:
    """Stores the newest report of each agent."""

    def __init__(self, engine: Engine, *, clock: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._clock = clock

    def record(self, report: AgentReport) -> dict[str, Any] | None:
        """Store a report; the agent's status now, None where there are `AGENT_LIMIT` others already."""
        now = self._clock()
        row = {"agent": report.agent, "seen_at": now, "report": report.model_dump()}
        with writing(self._engine) as connection:
            known = connection.scalar(select(AgentRow.agent).where(AgentRow.agent == report.agent))
            if known is None:
                connection.execute(delete(AgentRow).where(AgentRow.seen_at < now - SILENT_RETENTION))
                if (connection.scalar(select(func.count()).select_from(AgentRow)) or 0) >= AGENT_LIMIT:
                    return None
            # two of its reports may arrive at once, and a person may press Forget meanwhile
            upsert(connection, AgentRow.__table__, ("agent",), [row])
        return _status(report, now, now)

    def statuses(self) -> list[dict[str, Any]]:
        """Every agent as JSON (docs/rest.md), those in trouble first."""
        now = self._clock()
        rows = _read_rows(self._engine, now)
        statuses = [_status(AgentReport(**row.report), row.seen_at, now) for row in rows]
        return sorted(statuses, key=lambda agent: (not agent["trouble"], agent["host"], agent["agent"]))

    def forget(self, agent: str) -> None:
        """Remove an agent that is gone for good. Raises UnknownAgentError."""
        with Session(self._engine) as session, session.begin():
            query = delete(AgentRow).where(AgentRow.agent == agent).returning(AgentRow.agent)
            if session.execute(query).first() is None:
                raise UnknownAgentError(f"There is no agent {agent}.")


def _read_rows(engine: Engine, now: float) -> Sequence[AgentRow]:
    with Session(engine) as session:
        recent = select(AgentRow).where(AgentRow.seen_at > now - SILENT_RETENTION)
        rows = session.scalars(recent.order_by(AgentRow.agent)).all()
    return [row for row in rows if not row.report["ended"] or row.seen_at > now - ENDED_RETENTION]


def _status(report: AgentReport, seen_at: float, now: float) -> dict[str, Any]:
    silence = max(0.0, now - seen_at)
    state = agent_state(report, silence)
    trouble = "" if state in {"well", "ended"} else describe_trouble(report, silence, state)
    return {**report.model_dump(), "seen_at": seen_at, "state": state, "trouble": trouble}


def agent_state(report: AgentReport, silence: float) -> AgentState:
    """The state of an agent that last reported `silence` seconds ago; one that ended is never silent."""
    if report.ended:
        return "troubled" if report.spool_bytes or report.dropped else "ended"
    if silence > silence_limit(report.every):
        return "silent"
    if report.last_error or report.dropped:
        return "troubled"
    return "behind" if report.seconds_behind > BEHIND_SECONDS else "well"


def silence_limit(every: float) -> float:
    """Seconds without a report after which an agent that reports every so many seconds counts as silent."""
    return max(LEAST_SILENCE, MISSED_REPORTS * every)


def describe_trouble(report: AgentReport, silence: float, state: AgentState) -> str:
    """One sentence on what is wrong."""
    files = counted(report.files_behind, "file")
    parts = [f"agent on {report.host}"]
    if state == "silent":
        parts[0] += f" silent for {format_duration(silence)}"
    elif state == "behind":
        parts[0] += f" is {format_duration(report.seconds_behind)} behind, with {files}"
    elif report.last_error:
        parts[0] += f": {report.last_error}"
    if report.files_behind and state != "behind":
        parts.append(f"{files} behind")
    if report.dropped:
        parts.append(f"{counted(report.dropped, 'point')} lost, its spool was full")
    if report.spool_bytes and state in {"silent", "troubled"}:
        spooled = counted(report.spool_bytes, "byte")
        parts.append(f"{spooled} {verb(report.spool_bytes, 'waits', 'wait')} in its spool")
    return ", ".join(parts)


def format_duration(seconds: float) -> str:
    """A duration for people: "40 s", "5 min", "3 h", "2 days"."""
    for size, word in ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size or (size < 3_600 and seconds >= size):
            return f"{seconds / size:.0f} {word}"
    return f"{seconds:.0f} s"

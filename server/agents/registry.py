"""The agents' own reports: who follows what, how far behind, and who has fallen silent."""

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

MOST = 10_000
FORGET_SECONDS = 7 * 86_400.0  # a silent one; an ended one after an hour
ENDED_SECONDS = 3_600.0
LEAST_SILENCE = 120.0
SILENT_REPORTS = 4.0  # reports that are missing
BEHIND_SECONDS = 60.0

AgentState = Literal["well", "behind", "troubled", "silent", "ended"]
_NO_NUL = r"^[^\x00]*$"  # PostgreSQL has no room for it
Text = Annotated[str, Field(max_length=500, pattern=_NO_NUL)]
Count = Annotated[int, Field(ge=0, le=2**53)]


class UnknownAgentError(LookupError):
    """No agent of this name has reported."""


class AgentReport(BaseModel):
    """How an agent is. `every`: seconds between its reports; `seconds_behind`: the age of what is unread."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    agent: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\w.:@-]+$")]
    host: Annotated[str, Field(min_length=1, max_length=200, pattern=_NO_NUL)]
    version: Annotated[str, Field(max_length=100, pattern=_NO_NUL)] = ""
    kind: Literal["files", "pipe"] = "files"
    project: Annotated[str, Field(max_length=200, pattern=_NO_NUL)] = ""
    paths: Annotated[list[Text], Field(max_length=20)] = []
    began: Annotated[float, Field(ge=0, le=1e11)] = 0.0
    every: Annotated[float, Field(gt=0, le=86_400)] = 30.0
    files: Count = 0
    files_behind: Count = 0
    bytes_behind: Count = 0
    seconds_behind: Annotated[float, Field(ge=0, le=1e11)] = 0.0
    points: Count = 0
    dropped: Count = 0
    unreadable: Count = 0
    spool_bytes: Count = 0
    last_error: Annotated[str, Field(max_length=1000, pattern=_NO_NUL)] = ""
    ended: bool = False


class AgentRegistry:
    """Keeps the last report of each agent."""

    def __init__(self, engine: Engine, *, clock: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._clock = clock

    def take(self, report: AgentReport) -> dict[str, Any] | None:
        """Keep a report; the agent as it is now, None where there are too many already."""
        now = self._clock()
        row = {"agent": report.agent, "seen_at": now, "report": report.model_dump()}
        with writing(self._engine) as connection:
            known = connection.scalar(select(AgentRow.agent).where(AgentRow.agent == report.agent))
            if known is None:
                connection.execute(delete(AgentRow).where(AgentRow.seen_at < now - FORGET_SECONDS))
                if (connection.scalar(select(func.count()).select_from(AgentRow)) or 0) >= MOST:
                    return None
            # two of its reports may arrive at once, and somebody may forget it meanwhile
            upsert(connection, AgentRow.__table__, ("agent",), [row])
        return _json(report, now, now)

    def all(self) -> list[dict[str, Any]]:
        """Every agent as JSON (docs/rest.md), those in trouble first."""
        now = self._clock()
        told = [_json(AgentReport(**row.report), row.seen_at, now) for row in _rows(self._engine, now)]
        return sorted(told, key=lambda one: (not one["trouble"], one["host"], one["agent"]))

    def forget(self, agent: str) -> None:
        """It is gone for good. Raises UnknownAgentError."""
        with Session(self._engine) as session, session.begin():
            gone = session.execute(delete(AgentRow).where(AgentRow.agent == agent).returning(AgentRow.agent))
            if gone.first() is None:
                raise UnknownAgentError(f"There is no agent {agent}.")


def _rows(engine: Engine, now: float) -> Sequence[AgentRow]:
    with Session(engine) as session:
        recent = select(AgentRow).where(AgentRow.seen_at > now - FORGET_SECONDS)
        rows = session.scalars(recent.order_by(AgentRow.agent)).all()
    return [row for row in rows if not row.report["ended"] or row.seen_at > now - ENDED_SECONDS]


def _json(report: AgentReport, seen_at: float, now: float) -> dict[str, Any]:
    silence = max(0.0, now - seen_at)
    state = state_of(report, silence)
    trouble = "" if state in {"well", "ended"} else trouble_of(report, silence, state)
    return {**report.model_dump(), "seen_at": seen_at, "state": state, "trouble": trouble}


def state_of(report: AgentReport, silence: float) -> AgentState:
    """How an agent is that last reported `silence` seconds ago. One that ended has nothing more to say."""
    if report.ended:
        return "troubled" if report.spool_bytes or report.dropped else "ended"
    if silence > silence_limit(report.every):
        return "silent"
    if report.last_error or report.dropped:
        return "troubled"
    return "behind" if report.seconds_behind > BEHIND_SECONDS else "well"


def silence_limit(every: float) -> float:
    """Seconds without a report after which an agent that reports every so many seconds counts as silent."""
    return max(LEAST_SILENCE, SILENT_REPORTS * every)


def trouble_of(report: AgentReport, silence: float, state: AgentState) -> str:
    """One sentence on what is the matter."""
    files = counted(report.files_behind, "file")
    said = [f"agent on {report.host}"]
    if state == "silent":
        said[0] += f" silent for {format_duration(silence)}"
    elif state == "behind":
        said[0] += f" is {format_duration(report.seconds_behind)} behind, with {files}"
    elif report.last_error:
        said[0] += f": {report.last_error}"
    if report.files_behind and state != "behind":
        said.append(f"{files} behind")
    if report.dropped:
        said.append(f"{counted(report.dropped, 'point')} lost, its spool was full")
    if report.spool_bytes and state in {"silent", "troubled"}:
        said.append(
            f"{counted(report.spool_bytes, 'byte')} {verb(report.spool_bytes, 'waits', 'wait')} in its spool"
        )
    return ", ".join(said)


def format_duration(seconds: float) -> str:
    """A stretch of time for people: "40 s", "5 min", "3 h", "2 days"."""
    for size, word in ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size or (size < 3_600 and seconds >= size):
            return f"{seconds / size:.0f} {word}"
    return f"{seconds:.0f} s"

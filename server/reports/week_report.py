"""The weekly page of a project: its runs of a week with strips and goodput, and what happened in them."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

import holter
from holter.detectors.findings import title_of
from holter.server.alerting import Incident, read_incidents
from holter.server.alerting.incident import EventType
from holter.server.models import IncidentRow, Project, RunRecord
from holter.server.read_models.runs import RunReader
from holter.server.reports.mark import health_mark, icon_address
from holter.server.reports.page import markup, render
from holter.server.reports.strip_svg import strip_svg
from holter.server.schemas.runs import RunDetail

SHOWN_RUNS, SHOWN_INCIDENTS = 60, 200
_WEEK = re.compile(r"(\d{4})-W(\d{2})")


class WeekError(ValueError):
    """The text is no week; the message states what was expected."""


def week_bounds(week: str) -> tuple[float, float]:
    """The first second of a week such as 2026-W47 and of the next one, in UTC. Raises WeekError."""
    matched = _WEEK.fullmatch(week)
    try:
        if matched is None:
            raise ValueError
        monday = datetime.fromisocalendar(int(matched[1]), int(matched[2]), 1).replace(tzinfo=UTC)
    except ValueError:
        raise WeekError(f"expected a week such as 2026-W47, not {week!r}") from None
    return monday.timestamp(), (monday + timedelta(days=7)).timestamp()


def week_of(time: float) -> str:
    """The ISO week of a time, in UTC: 2026-W47."""
    year, week, _ = datetime.fromtimestamp(time, tz=UTC).isocalendar()
    return f"{year}-W{week:02}"


class WeekReports:
    """Writes the weekly pages of projects."""

    def __init__(self, engine: Engine, runs: RunReader) -> None:
        self._engine = engine
        self._runs = runs

    def html(self, project: str, week: str, *, now: float) -> str:
        """The page as HTML that loads nothing; without runs it says so. Raises WeekError."""
        begin, end = week_bounds(week)
        runs = [
            run
            for run in self._runs.runs(project=project)
            if (run["last_time"] or run["updated_at"]) >= begin
            and (run["first_time"] or run["created_at"]) < end
        ]
        incidents = self._incidents(project, begin, end)
        of_run = Counter(incident.run.public_id for incident in incidents if incident.run is not None)
        details = [self._runs.run(run["id"]) for run in runs[:SHOWN_RUNS]]
        severities = [each.finding.severity for each in incidents if each.is_open]
        mark = health_mark(severities, is_judged=any(run["unjudged"] is None for run in runs))
        values = {
            "project": project,
            "week": week,
            "title": f"{project}, week {week}",
            "version": holter.__version__,
            "mark": markup(mark),
            "icon": icon_address(mark),
            "now": now,
            "begin": begin,
            "end": end - 1,
            "runs": [_run(run, of_run[run["id"]]) for run in details],
            "more_runs": max(0, len(runs) - SHOWN_RUNS),
            "kinds": Counter(map(_title, incidents)).most_common(),
            "incidents": [_incident(each) for each in incidents[:SHOWN_INCIDENTS]],
            "more_incidents": max(0, len(incidents) - SHOWN_INCIDENTS),
            "lost": _lost(details),
        }
        return render("week.html", values)

    def _incidents(self, project: str, begin: float, end: float) -> list[Incident]:
        """Warnings and critical incidents that began in the week, the most severe first, then the newest."""
        began_at = func.coalesce(IncidentRow.start_time, IncidentRow.opened_at)
        query = (
            select(IncidentRow)
            .join(RunRecord, RunRecord.id == IncidentRow.run_id)
            .join(Project, Project.id == RunRecord.project_id)
            .where(Project.name == project, began_at >= begin, began_at < end, IncidentRow.severity != "info")
        )
        with Session(self._engine) as session:
            incidents = read_incidents(session, session.scalars(query).all())
        return sorted(incidents, key=lambda each: (-each.finding.severity.rank, -each.began_at))


def _run(run: RunDetail, incidents: int) -> dict[str, Any]:
    return {"run": run, "strip": markup(strip_svg(run["strip"])), "incidents": incidents}


def _lost(runs: list[RunDetail]) -> dict[str, float]:
    """Seconds of all runs together by how they were lost, over the runs' entire lives."""
    lost: Counter[str] = Counter()
    for run in runs:
        for use, part in (run["spent"] or {}).items():
            lost[use] += part["seconds"]  # type: ignore[index]
    return dict(lost)


def _title(incident: Incident) -> str:
    return title_of(incident.finding.kind, incident.finding.metric)


def _incident(incident: Incident) -> dict[str, Any]:
    finding = incident.finding
    acted = {EventType.CLOSED, EventType.COMMENT}
    return {
        "title": _title(incident),
        "severity": finding.severity.value,
        "state": incident.state.value,
        "summary": finding.summary,
        "run": incident.run.name if incident.run is not None else "",
        "began_at": incident.began_at,
        "notes": [
            f"{entry.by}: {entry.text}"
            for entry in incident.history
            if entry.by is not None and entry.text and entry.type in acted
        ],
    }

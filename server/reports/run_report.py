"""The report of one run: health strip, figures, events with their curves, changes, main curves, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

import holter
from holter.curve_plot import finding_band, plot_curve
from holter.detectors.findings import title_of
from holter.detectors.findings.evidence import evidence_rows
from holter.detectors.formatting import figure
from holter.metric_units import unit_of_metric
from holter.plurals import counted
from holter.roles import Role
from holter.server.alerting import Incident, read_incidents
from holter.server.models import IncidentRow
from holter.server.read_models.incident_context import IncidentContextReader
from holter.server.read_models.runs import RunReader
from holter.server.rendering.curve_svg import curve_svg
from holter.server.rendering.incident_chart import surroundings
from holter.server.reports.mark import health_mark, icon_address
from holter.server.reports.page import length, markup, render
from holter.server.reports.strip_svg import strip_svg
from holter.server.schemas.events import IncidentEvent, RunChange
from holter.server.schemas.runs import LatestValue, LossTrend, RunDetail
from holter.server.store import Store
from holter.types import SeriesKey, labels_of

CURVES = 6
"""Charts of the entire run."""
SHOWN_EVENTS, SHOWN_SETTINGS = 40, 200
_POINTS, _COLUMNS = 1500, 960
_BODY_WIDTHS = 2.0
"""As in the other reports: a curve shows what is usual, values farther out are counted in a note."""
_USES = {
    "forward": "productive",
    "slow": "slower than best",
    "superseded": "repeated",
    "restarts": "restarts",
    "stalled": "stalled",
    "nonfinite": "NaN or infinite",
}


class RunReports:
    """Writes reports of runs from the database, without changing anything."""

    def __init__(self, engine: Engine, store: Store, runs: RunReader, events: IncidentContextReader) -> None:
        self._engine = engine
        self._store = store
        self._runs = runs
        self._events = events

    def html(self, public_id: str, *, now: float) -> str:
        """The report as one HTML page that loads nothing. Raises UnknownRunError."""
        run = self._runs.run(public_id)
        number = self._runs.run_id(public_id)
        events = self._events.events(number)
        with Session(self._engine) as session:
            rows = session.scalars(select(IncidentRow).where(IncidentRow.run_id == number)).all()
            incidents = {incident.id: incident for incident in read_incidents(session, rows)}
        severities = [each.finding.severity for each in incidents.values() if each.is_open]
        mark = health_mark(severities, is_judged=run["unjudged"] is None)
        values = {
            "run": run,
            "title": f"{run['project']} / {run['name']}",
            "version": holter.__version__,
            "mark": markup(mark),
            "icon": icon_address(mark),
            "now": now,
            "strip": markup(strip_svg(run["strip"])),
            "health": _health(run),
            "tone": "quiet" if run["health"] == "ok" and run["unjudged"] else run["health"],
            "figures": list(_figures(run)),
            "spent": list(_time_parts(run)),
            "events": [
                self._event(number, event, incidents, events["changes"])
                for event in events["events"][:SHOWN_EVENTS]
            ],
            "more_events": max(0, len(events["events"]) - SHOWN_EVENTS),
            "changes": events["changes"],
            "curves": list(self._curves(number, run, list(incidents.values()))),
            "settings": sorted(run["config"].items())[:SHOWN_SETTINGS],
        }
        return render("run.html", values)

    def _event(
        self,
        run_id: int,
        event: IncidentEvent,
        incidents: Mapping[int, Incident],
        changes: Sequence[RunChange],
    ) -> dict[str, Any]:
        members = [incidents[linked["id"]] for linked in event["incidents"] if linked["id"] in incidents]
        first, last = members[0].finding, members[-1].finding
        before = [
            change
            for change in changes
            if change["cause"] > 0
            and change["attempt"] == first.attempt
            and first.start_step - (last.start_step - first.start_step) - 1000
            <= change["step"]
            <= last.start_step
        ]
        return {
            "event": event,
            "incidents": [_incident(incident) for incident in members],
            "picture": markup(self._incident_curve(run_id, members)),
            "caption": str(SeriesKey(first.metric, first.labels)),
            "causes": before,
        }

    def _incident_curve(self, run_id: int, members: Sequence[Incident]) -> str:
        """The curve of the first incident's series around all incidents of the event."""
        first = members[0].finding
        begin, _ = surroundings(first)
        ends = [surroundings(each.finding)[1] for each in members]
        end = None if None in ends else max(end for end in ends if end is not None)
        key = SeriesKey(first.metric, first.labels)
        return self._curve(run_id, key, members, begin=begin, end=end)

    def _curves(
        self, run_id: int, run: RunDetail, incidents: Sequence[Incident]
    ) -> Iterator[tuple[str, Any]]:
        for chart in run["charts"][:CURVES]:
            name = chart["series"][0]
            key = SeriesKey(name["metric"], labels_of(name["labels"]))
            if picture := self._curve(run_id, key, incidents):
                yield f"{chart['title']} · {key}", markup(picture)

    def _curve(
        self,
        run_id: int,
        key: SeriesKey,
        incidents: Sequence[Incident],
        *,
        begin: int | None = None,
        end: int | None = None,
    ) -> str:
        found = self._store.chart(run_id, [key], from_step=begin, to_step=end, points=_POINTS)
        segments = [segment for series in found for segment in series.segments if len(segment.step)]
        nonfinite = [float(step) for series in found for _, step, _ in series.nonfinite]
        if not segments:
            return ""
        steps = [float(segment.step[i]) for segment in segments for i in (0, -1)] + nonfinite
        bands = [
            finding_band(
                incident.finding,
                max(steps),
                own=incident.finding.metric == key.metric,
                label=title_of(incident.finding.kind, incident.finding.metric),
            )
            for incident in incidents
            if min(steps) <= incident.finding.start_step <= max(steps)
        ]
        plot = plot_curve(
            segments,
            first_step=min(steps),
            last_step=max(steps),
            columns=_COLUMNS,
            body_widths=_BODY_WIDTHS,
            bands=bands,
            nonfinite=nonfinite,
        )
        return curve_svg(plot, title=str(key))


def _health(run: RunDetail) -> str:
    if run["health"] == "ok":
        return run["unjudged"] or "No open incidents"
    return counted(run["open_incidents"], "open incident")


def _figures(run: RunDetail) -> Iterator[tuple[str, str, str]]:
    """Name, value and a note of the figures at the top."""
    yield "State", run["state"].capitalize(), ""
    if run["last_step"] is not None:
        yield "Step", f"{run['last_step']:,}", counted(run["attempts"], "attempt")
    latest = run["latest"]
    yield from _progress(run)
    if latest["throughput"] is not None:
        yield "Throughput", _measure(latest["throughput"], Role.THROUGHPUT), latest["throughput"]["metric"]
    elif latest["step_time"] is not None:
        yield "Step time", _measure(latest["step_time"], Role.STEP_TIME), latest["step_time"]["metric"]
    if run["goodput"] is not None:
        yield "Goodput", f"{run['goodput']:.1%}", "of total time"
    yield (
        "Rolled back",
        f"{run['lost_steps']:,} steps",
        length(run["lost_seconds"]) if run["lost_steps"] else "",
    )


def _progress(run: RunDetail) -> Iterator[tuple[str, str, str]]:
    """The reward of a run that trains a policy, and the loss of another one, or where it is broken."""
    reward, loss, loss_trend = run["latest"]["reward"], run["latest"]["loss"], run["loss_trend"]
    if reward is not None:
        yield _progress_name("Reward", reward), _value(reward), _trend_note(run["reward_trend"])
    is_broken = loss_trend is not None and loss_trend["nonfinite_since"] is not None
    if loss is not None and (reward is None or is_broken):
        yield _progress_name("Loss", loss), _value(loss), _trend_note(loss_trend)


def _progress_name(name: str, latest: LatestValue) -> str:
    """The name with its metric, unless that is plainly the same."""
    is_plain = latest["metric"].lower().rsplit("/", 1)[-1] == name.lower()
    return name if is_plain else f"{name}: {latest['metric']}"


def _trend_note(trend: LossTrend | None) -> str:
    if trend is None:
        return ""
    if trend["nonfinite_since"] is not None:
        return f"since step {trend['nonfinite_since']:,}"
    if trend["slope"] is None:
        return ""
    return f"{trend['slope']:+.2g} per 1,000 steps" if trend["slope"] else "flat"


def _value(latest: LatestValue) -> str:
    value = latest["value"]
    return value if isinstance(value, str) else figure(value)


def _measure(latest: LatestValue, role: Role) -> str:
    """A value with its unit."""
    return f"{_value(latest)} {unit_of_metric(role, latest['metric'])}".rstrip()


def _time_parts(run: RunDetail) -> Iterator[tuple[str, str, float, float]]:
    """Class, name, share and seconds of each use of time, without those that took none."""
    for use, share in (run["spent"] or {}).items():
        if share["share"] >= 0.0005:  # type: ignore[index]
            yield use, _USES[use], share["share"], share["seconds"]  # type: ignore[index]


def _incident(incident: Incident) -> dict[str, Any]:
    finding = incident.finding
    notes = [f"{entry.by}: {entry.text}" for entry in incident.history if entry.by is not None and entry.text]
    return {
        "id": incident.id,
        "title": title_of(finding.kind, finding.metric),
        "severity": finding.severity.value,
        "state": incident.state.value,
        "summary": finding.summary,
        "start": finding.start_step,
        "end": finding.end_step,
        "attempt": finding.attempt,
        "began_at": incident.began_at,
        "causes": finding.causes,
        "evidence": evidence_rows(finding.evidence, kind=finding.kind, metric=finding.metric),
        "notes": notes,
    }

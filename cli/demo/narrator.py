"""Output of the demo: each change of an incident, and at the end the incidents next to the known events."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holter.cli.demo.runs import KnownEvent, RecordedRun
from holter.detectors.findings import title_of
from holter.detectors.findings.finding_type import in_sentence
from holter.plurals import counted
from holter.terminal_text import printable

IncidentJson = Mapping[str, Any]
RECOVERY_SECONDS = 5.0
"""Seconds for which a recovery must last before it is printed: minutes of a run, as curves may rise again."""


@dataclass(kw_only=True)
class Narrator:
    """Describes changes of incidents; stores the kind and state of each as last described."""

    described: dict[Any, tuple[str, str]] = field(default_factory=dict)

    def describe_changes(self, incidents: Sequence[IncidentJson], now: float) -> Iterator[str]:
        """The text for each incident that is new, has changed its kind, or has ended."""
        for incident in sorted(incidents, key=lambda incident: incident["opened_at"]):
            status = (incident["kind"], incident["state"])
            before = self.described.get(incident["id"])
            too_early = incident["state"] == "recovered" and now - incident["recovered_at"] < RECOVERY_SECONDS
            if status == before or (before is not None and too_early):
                continue
            self.described[incident["id"]] = status
            yield describe_change(incident, before, now)


def describe_change(incident: IncidentJson, before: tuple[str, str] | None, now: float) -> str:
    """One change of one incident; `before` is its former kind and state, None for a new incident."""
    title = in_sentence(title_of(incident["kind"], provisional=incident["state"] == "open"))
    if before is None:
        change = f"{incident['severity']}: {title}"
    elif before[0] != incident["kind"]:
        change = f"reclassified: {title}"
    else:
        change = f"{incident['state']}: {title}"
    clock = time.strftime("%H:%M:%S", time.localtime(now))
    run, summary = printable(incident["run"] or ""), printable(incident["summary"])
    return f"{clock}  {run:<21} {change}\n          {summary}"


@dataclass(frozen=True, kw_only=True)
class RunComparison:
    """One run: each known event with its incident (None: missed), and all other incidents."""

    run: RecordedRun
    stored: int
    attempts: int
    last_time: float | None
    matches: tuple[tuple[KnownEvent, IncidentJson | None], ...]
    others: tuple[IncidentJson, ...]

    @property
    def complete(self) -> bool:
        """Whether all points are stored, in the right attempts, and every known event was detected."""
        stored = self.stored == self.run.points and self.attempts == len(self.run.attempts)
        return stored and all(incident is not None for _, incident in self.matches)

    @property
    def false_alarms(self) -> int:
        """How many incidents match no known event."""
        return len(self.others)


def compare_run(
    run: RecordedRun, stored: Mapping[str, Any], incidents: Sequence[IncidentJson]
) -> RunComparison:
    """Compare the server's data on a run with the known events; each incident matches one event at most."""
    others = list(incidents)
    matches = []
    for event in run.events:
        match = next((incident for incident in others if event.matches(incident)), None)
        if match is not None:
            others.remove(match)
        matches.append((event, match))
    return RunComparison(
        run=run,
        stored=stored.get("points", 0),
        attempts=stored.get("attempts", 0),
        last_time=stored.get("last_time"),
        matches=tuple(matches),
        others=tuple(others),
    )


def comparison_table(comparisons: Sequence[RunComparison]) -> Iterator[str]:
    """A header, and a line for each known event and each other incident."""
    yield f"{'run':<21} {'points':>7}  {'known':<36} detected"
    for comparison in comparisons:
        run = comparison.run
        rows = [
            (_describe_event(event), _describe_match(event, incident, comparison.last_time))
            for event, incident in comparison.matches
        ]
        rows += [("", f"FALSE ALARM: {_describe_other(incident)}") for incident in comparison.others]
        if not run.events:
            rows.insert(0, ("nothing", "" if comparison.others else "nothing"))
        if comparison.stored != run.points:
            rows.append((f"{run.points} points", f"MISSING: {run.points - comparison.stored} points"))
        if comparison.attempts != len(run.attempts):
            rows.append((f"{len(run.attempts)} attempts", f"WRONG: {comparison.attempts} attempts"))
        for number, (known, detected) in enumerate(rows):
            head = f"{run.name:<21} {comparison.stored:>7}" if number == 0 else " " * 29
            yield f"{head}  {known:<36} {detected}".rstrip()


def _describe_event(event: KnownEvent) -> str:
    return f"{in_sentence(title_of(event.kind))} at step {event.start_step:,}"


def _describe_match(event: KnownEvent, incident: IncidentJson | None, last_time: float | None) -> str:
    if incident is None:
        return "MISSED"
    kind = "" if incident["kind"] == event.kind else f"{in_sentence(title_of(incident['kind']))} "
    delay = incident["detected_step"] - event.start_step
    remaining = (last_time or 0.0) - incident["opened_at"]  # negative if a finished run was analysed
    moment = f", {remaining:.0f} s before the last point" if remaining >= 1 else ""
    return f"{kind}at step {incident['start_step']:,}, after {counted(delay, 'step')}{moment}"


def _describe_other(incident: IncidentJson) -> str:
    title = in_sentence(title_of(incident["kind"]))
    return f"{title} at step {incident['start_step']:,} ({incident['severity']})"

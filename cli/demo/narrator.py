"""What the demo tells: each incident as it changes, and at the end what was found against what is known."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holter.cli.demo.runs import KnownEvent, RecordedRun

Incident = Mapping[str, Any]


CALM = 5.0
"""Seconds that a recovery must have lasted: minutes of the run, and a curve may turn round once more."""


@dataclass(kw_only=True)
class Narrator:
    """Remembers how each incident stood when it was last spoken of."""

    told: dict[Any, tuple[str, str]] = field(default_factory=dict)

    def news(self, incidents: Sequence[Incident], now: float) -> Iterator[str]:
        """A line for each incident that is new, has another kind now, or has ended."""
        for incident in sorted(incidents, key=lambda one: one["opened_at"]):
            standing = (incident["kind"], incident["state"])
            before = self.told.get(incident["id"])
            hasty = incident["state"] == "recovered" and now - incident["recovered_at"] < CALM
            if standing == before or (before is not None and hasty):
                continue
            self.told[incident["id"]] = standing
            yield line(incident, before, now)


def line(incident: Incident, before: tuple[str, str] | None, now: float) -> str:
    """One change of one incident."""
    kind, state = incident["kind"].replace("_", " "), incident["state"]
    if before is None:
        change = f"{incident['severity']}: {kind}"
    elif before[0] != incident["kind"]:
        change = f"now {kind}"
    else:
        change = f"{kind}: {state}"
    clock = time.strftime("%H:%M:%S", time.localtime(now))
    return f"{clock}  {incident['run'] or '':<21} {change}\n          {incident['summary']}"


@dataclass(frozen=True, kw_only=True)
class RunComparison:
    """One run: what is known of it, the incident that means the same (or None), and what else was found."""

    run: RecordedRun
    stored: int
    attempts: int
    matches: tuple[tuple[KnownEvent, Incident | None], ...]
    others: tuple[Incident, ...]

    @property
    def complete(self) -> bool:
        """Whether everything is stored, in the right attempts, and everything known was found."""
        whole = self.stored == self.run.points and self.attempts == len(self.run.launches)
        return whole and all(incident is not None for _, incident in self.matches)


def compare_run(run: RecordedRun, stored: Mapping[str, Any], incidents: Sequence[Incident]) -> RunComparison:
    """Hold what the server says of a run against what is known; each incident counts once."""
    left = list(incidents)
    matches = []
    for event in run.events:
        found = next((one for one in left if event.means(one)), None)
        if found is not None:
            left.remove(found)
        matches.append((event, found))
    return RunComparison(
        run=run,
        stored=stored.get("points", 0),
        attempts=stored.get("attempts", 0),
        matches=tuple(matches),
        others=tuple(left),
    )


def comparison_table(verdicts: Sequence[RunComparison]) -> Iterator[str]:
    """What was found against what is known, a line each."""
    yield f"{'run':<21} {'points':>7}  {'known':<34} found"
    for verdict in verdicts:
        run = verdict.run
        rows = [(known(event), found(event, incident)) for event, incident in verdict.matches]
        rows += [("", f"also {brief(other)}") for other in verdict.others]
        if not run.events:
            rows.insert(0, ("nothing", "nothing" if not verdict.others else ""))
        if verdict.stored != run.points:
            rows.append((f"{run.points} points", f"MISSING: {run.points - verdict.stored} points"))
        if verdict.attempts != len(run.launches):
            rows.append((f"{len(run.launches)} attempts", f"WRONG: {verdict.attempts} attempts"))
        for number, (left, right) in enumerate(rows):
            head = f"{run.name:<21} {verdict.stored:>7}" if number == 0 else " " * 29
            yield f"{head}  {left:<34} {right}".rstrip()


def known(event: KnownEvent) -> str:
    return f"{event.kind} at step {event.start_step}"


def found(event: KnownEvent, incident: Incident | None) -> str:
    if incident is None:
        return "MISSED"
    delay = incident["detected_step"] - event.start_step
    return f"at step {incident['start_step']}, seen after {delay} steps"


def brief(incident: Incident) -> str:
    """An incident that nobody knew of beforehand, in few words."""
    return f"{incident['kind']} at step {incident['start_step']} ({incident['severity']})"

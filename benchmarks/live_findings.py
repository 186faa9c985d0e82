"""Findings while labelled runs grow: critical ones that are taken back, and the ends of spikes.

    python benchmarks/live_findings.py DIR ... [--rows 20] [--details]

Each run folder is analysed after every so many rows of its longest series, as a server would, with one
incremental state. A critical finding is taken back where a later look does not have it or has it with a
lower severity; a spike's end is compared with the label's, in rows of the log.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from holter.detectors import IncrementalState, find, fingerprint
from holter.ingest.offline.read_run import read_run
from holter.types import Finding, IntArray, RunData, Severity

SPIKES = ("spike_fast", "spike_slow")
NEAR_ROWS = 20
"""A finding and a label of a spike belong together where their starts are at most so many rows apart."""


@dataclass
class Tally:
    """Counts over the runs of a folder."""

    runs: int = 0
    critical: int = 0
    taken_back: list[str] = field(default_factory=list)
    ends: int = 0
    far_ends: list[str] = field(default_factory=list)


def main() -> None:
    """Print a row for each folder of labelled runs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--rows", type=int, default=20, help="new rows between two looks")
    parser.add_argument("--details", action="store_true", help="name what was taken back and far ends")
    options = parser.parse_args()
    print("| runs | told as critical | later taken back | ends of spikes | within 2x + 4 rows |")
    print("|---" * 5 + "|")
    for folder in options.folders:
        tally = measure(folder, options.rows)
        back, near = len(tally.taken_back), tally.ends - len(tally.far_ends)
        print(
            f"| `{folder.name}/`, {tally.runs} | {tally.critical} | {back} ({share(back, tally.critical)}) "
            f"| {tally.ends} | {near} ({share(near, tally.ends)}) |",
            flush=True,
        )
        for line in (tally.taken_back + tally.far_ends) if options.details else ():
            print("  " + line)


def share(part: int, whole: int) -> str:
    """As a percentage."""
    return f"{part / whole:.0%}" if whole else "-"


def measure(folder: Path, rows: int) -> Tally:
    """All runs of a folder."""
    tally = Tally()
    for path in sorted(each for each in folder.iterdir() if (each / "truth.json").is_file()):
        run = read_run(path).data
        if not run.series:
            continue
        tally.runs += 1
        count_taken_back(tally, path.name, run, rows)
        count_ends(tally, path.name, run, json.loads((path / "truth.json").read_text())["events"])
    return tally


def count_taken_back(tally: Tally, name: str, run: RunData, rows: int) -> None:
    """Follow the critical findings of one run from look to look."""
    first_look: dict[str, str] = {}
    now: dict[str, Finding] = {}
    for place, seen in looks(run, rows):
        now = {fingerprint(finding): finding for finding in find(seen[0], state=seen[1])}
        for identity, finding in now.items():
            if finding.severity is Severity.CRITICAL:
                first_look.setdefault(
                    identity, f"{name}: {finding.kind.value} at {finding.start_step}, {place}"
                )
    tally.critical += len(first_look)
    for identity, told in first_look.items():
        last = now.get(identity)
        if last is None or last.severity is not Severity.CRITICAL:
            became = "nothing" if last is None else f"{last.kind.value} ({last.severity.value})"
            tally.taken_back.append(f"{told} became {became}")


def looks(run: RunData, rows: int) -> Iterator[tuple[str, tuple[RunData, IncrementalState]]]:
    """The run as it was after each so many rows of its longest series, and at its end."""
    longest = max(run.series.values(), key=len)
    state = IncrementalState()
    for row in [*range(rows - 1, len(longest) - 1, rows), len(longest) - 1]:
        attempt, step = int(longest.attempt[row]), int(longest.step[row])
        yield f"seen at step {step}", (until(run, attempt, step), state)


def until(run: RunData, attempt: int, step: int) -> RunData:
    """The run as it was when `step` of `attempt` was the last that had been logged."""
    parts = {}
    for key, series in run.series.items():
        known = (series.attempt < attempt) | ((series.attempt == attempt) & (series.step <= step))
        if known.any():
            parts[key] = replace(
                series,
                attempt=series.attempt[known],
                step=series.step[known],
                time=series.time[known],
                value=series.value[known],
            )
    return replace(run, series=parts)


def count_ends(tally: Tally, name: str, run: RunData, events: list[dict[str, Any]]) -> None:
    """Compare the ends of spikes with their labels, where both have one."""
    findings = [each for each in find(run) if each.kind.value in SPIKES and each.end_step is not None]
    for event in events:
        end = event.get("recovered_step") or event.get("end_step")
        if event["class"] not in SPIKES or event.get("ambiguous") or end is None:
            continue
        for finding in findings:
            steps = steps_of(run, finding)
            lasted, expected = (
                rows_between(steps, finding.start_step, finding.end_step),
                rows_between(steps, event["start_step"], end),
            )
            apart = abs(rows_between(steps, event["start_step"], finding.start_step))
            if finding.attempt == event.get("attempt", 0) and apart <= NEAR_ROWS:
                tally.ends += 1
                if not (lasted <= 2 * expected + 4 and expected <= 2 * lasted + 4):
                    tally.far_ends.append(
                        f"{name}: {finding.kind.value} at {finding.start_step}: "
                        f"{lasted} rows, label {expected}"
                    )
                break


def steps_of(run: RunData, finding: Finding) -> IntArray:
    """The steps of the rows of a finding's attempt."""
    series = next(each for key, each in run.series.items() if key.metric == finding.metric)
    return series.step[series.attempt == finding.attempt]


def rows_between(steps: IntArray, start: int, end: int | None) -> int:
    """Rows of the log from one step to another."""
    return int(np.searchsorted(steps, end) - np.searchsorted(steps, start))


if __name__ == "__main__":
    main()

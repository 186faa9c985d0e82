"""Measures a detector on laboratory runs, next to the published rules."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from detection import SCORE_COLUMNS, format_scores, format_table, list_contenders
from event_scores import MISSED, NOTHING, SIGNALS, EventScores

from holter.ingest.offline.read_run import read_run

Result = TypeVar("Result")


class DetectorError(Exception):
    """A detector's command failed, or printed something else than findings."""


def score_contenders(folders: Sequence[Path], command: str | None, jobs: int) -> dict[str, EventScores]:
    """The scores of Holter, or of a command, and of the published rules, by name."""
    results = map_in_processes(partial(_find_all, command=command), folders, jobs)
    scores: dict[str, EventScores] = {}
    for folder, found in zip(folders, results, strict=True):
        truth = json.loads((folder / "truth.json").read_text())
        for name, findings in found.items():
            scores.setdefault(name, EventScores()).add(truth, findings, folder.name)
    return scores


def map_in_processes(work: Callable[[Path], Result], folders: Sequence[Path], jobs: int) -> list[Result]:
    """The results of a function for each folder, in so many processes; with one in this process."""
    if jobs == 1:
        return [work(folder) for folder in folders]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(work, folders))


def _find_all(folder: Path, command: str | None) -> dict[str, list[dict[str, Any]]]:
    """The findings of each contender in one run."""
    run = read_run(folder).data
    contenders = {each.name: each for each in list_contenders()}
    found: dict[str, Callable[[], list[dict[str, Any]]]] = {
        name: lambda each=each: each.find(run) for name, each in contenders.items()
    }
    if command is not None:
        found = {f"`{command}`": lambda: run_detector(command, folder), **found}
    return {name: find() for name, find in found.items()}


def run_detector(command: str, folder: Path) -> list[dict[str, Any]]:
    """The findings that a command prints for a run: a line each, or lines with a list `findings`.

    Raises DetectorError, which names the command, the line and what was expected.
    """
    words = [*shlex.split(command), str(folder)]
    process = subprocess.run(words, capture_output=True, text=True)
    if process.returncode:
        raise DetectorError(f"{shlex.join(words)}: exit code {process.returncode}: {process.stderr.strip()}")
    findings: list[dict[str, Any]] = []
    for number, line in enumerate(process.stdout.splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            findings += [_checked(each) for each in value.get("findings", [value])]
        except (ValueError, AttributeError, TypeError) as error:
            raise DetectorError(f"{shlex.join(words)}: line {number} of its output: {error}") from error
    return findings


def _checked(finding: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(finding.get("kind"), str) or not isinstance(finding.get("start_step"), int):
        raise ValueError("expected an object with the text `kind` and the whole number `start_step`")
    return finding


def tables(scores: dict[str, EventScores], heading: str) -> str:
    """The comparison, and for the first contender classes, mechanisms, confusion and delays, in Markdown."""
    first_name, first = next(iter(scores.items()))
    kinds = {each.name: each.distinguishes_kinds for each in list_contenders()}
    comparison = [
        [name, *format_scores(each.summary(), kinds.get(name, True))] for name, each in scores.items()
    ]
    per_class = [
        [row[name] for name in ("kind", "events", "precision", "recall", "f1", "delay_p50", "delay_p90")]
        for row in first.per_class()
    ]
    found_as = [kind for kind in (*SIGNALS, MISSED) if any(row[kind] for row in first.confusion.values())]
    confusion = [
        [kind, *(first.confusion[kind][other] or "" for other in found_as)]
        for kind in (*SIGNALS, NOTHING)
        if sum(first.confusion[kind].values())
    ]
    mechanisms = [[name, *counts] for name, counts in sorted(first.by_mechanism.items())]
    total = first.summary()
    size = (
        f"{first.runs} runs, {total['events']} events, {total['ambiguous_events']} more that are ambiguous, "
        f"{first.points:,} points, {total['clean_points']:,} of them in runs without an event. "
        f"Delay of all events that were found: p50 {_short(total['delay_p50'])}, p90 "
        f"{_short(total['delay_p90'])} points."
    )
    return "\n\n".join(
        [
            heading,
            size,
            format_table(("", *SCORE_COLUMNS), comparison),
            f"By class, {first_name}:",
            format_table(("kind", "events", "precision", "recall", "F1", "delay p50", "p90"), per_class),
            f"Labelled (rows) and found as (columns), {first_name}:",
            format_table(("", *found_as), confusion),
            f"By mechanism, {first_name}:",
            format_table(("mechanism", "events", "found", "of the right kind"), mechanisms),
        ]
    )


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"

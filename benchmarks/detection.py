"""Compares detection with published rules: seconds for a million points, scores on labelled runs.

    python benchmarks/detection.py
    python benchmarks/detection.py --score SCORE.py --labelled DIR --labelled DIR --write

A labelled folder contains run folders with a truth.json each. The scoring script takes the folder, the
findings as `holter analyze --format jsonl` prints them, and `--json`. `--write` puts the tables into
docs/measurements/detection.md, between its markers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from page_sections import DOCS, write_section
from published_rules import CONTROLS, RULES, Rule

from holter.detectors import find, registry
from holter.detectors.detector import DetectorContext
from holter.ingest.offline.read_run import read_run
from holter.json_values import plain
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series, SeriesKey

MILLION = 1_000_000
MAX_EVENT_GAP = 100
"""Alarms of a rule at most so many points apart count as one event. The rules do not define this; it
favours them."""
FindJson = Callable[[RunData], list[dict[str, Any]]]


@dataclass(frozen=True)
class Contender:
    """Holter, a published rule or a control: its findings in a run, and whether it distinguishes kinds."""

    name: str
    find: FindJson
    distinguishes_kinds: bool = False


def main() -> None:
    """Print the requested tables; write them into the documentation with `--write`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--score", type=Path, help="the script that scores findings against labels")
    parser.add_argument("--labelled", type=Path, action="append", default=[], metavar="DIR")
    parser.add_argument(
        "--write", action="store_true", help="write the tables into docs/measurements/detection.md"
    )
    arguments = parser.parse_args()
    if arguments.labelled and not arguments.score:
        parser.error("--labelled needs --score")
    parts = [score_tables(arguments.score, folder) for folder in arguments.labelled]
    parts.append(speed_tables())
    text = "\n\n".join([*parts, list_sources()])
    print(text)
    if arguments.write:
        write_section(DOCS / "measurements" / "detection.md", "scores", text)


def list_contenders() -> list[Contender]:
    """Holter, the published rules and the controls, in the order of the tables."""
    rules = [
        Contender(rule.name, lambda run, rule=rule: find_by_rule(rule, run)) for rule in RULES + CONTROLS
    ]
    return [Contender("**Holter**", find_by_holter, distinguishes_kinds=True), *rules]


def find_by_holter(run: RunData) -> list[dict[str, Any]]:
    """The findings of `holter analyze`, as JSON."""
    return [plain(finding.as_json()) for finding in find(run)]


def find_by_rule(rule_type: type[Rule], run: RunData) -> list[dict[str, Any]]:
    """The alarms of a rule as JSON findings; alarms of one event are merged."""
    attempts = list(read_losses(run))
    points = sum(len(step) for _, step, _, _ in attempts)
    rule = rule_type(points)
    findings: list[dict[str, Any]] = []
    for attempt, step, loss, norm in attempts:
        rule = rule if rule_type.is_state_saved else rule_type(points)
        alarms = [
            index
            for index, value in enumerate(loss)
            if rule.is_alarm(value, None if norm is None else norm[index])
        ]
        onsets = [
            index
            for previous, index in zip([-MILLION, *alarms], alarms, strict=False)
            if index - previous > MAX_EVENT_GAP
        ]
        findings += [alarm_as_json(attempt, step[index], bool(np.isfinite(loss[index]))) for index in onsets]
    return findings


def alarm_as_json(attempt: int, step: int, finite: bool) -> dict[str, Any]:
    """An alarm as a finding in JSON; its kind only states whether the value is finite."""
    kind = "spike_fast" if finite else "nonfinite"
    position = {"attempt": attempt, "start_step": step, "detected_step": step}
    return {"kind": kind, "metric": "loss", "labels": {}, **position}


def read_losses(run: RunData) -> Iterator[tuple[int, list[int], list[float], list[float] | None]]:
    """The number, steps and training losses of every attempt, and its gradient norms if it has all."""
    first = {
        role: next((run.series[key] for key in sorted(run.series) if role_of(key) is role), None)
        for role in (Role.LOSS, Role.GRAD_NORM)
    }
    loss, norm = first[Role.LOSS], first[Role.GRAD_NORM]
    for attempt in [] if loss is None else np.unique(loss.attempt).tolist():
        selected = loss.attempt == attempt
        gradient_norm = None
        if norm is not None and np.array_equal(norm.step[norm.attempt == attempt], loss.step[selected]):
            gradient_norm = norm.value[norm.attempt == attempt].tolist()
        yield attempt, loss.step[selected].tolist(), loss.value[selected].tolist(), gradient_norm


def score_tables(script: Path, folder: Path) -> str:
    """All contenders on one labelled set, then Holter's scores by kind and its confusions of kinds."""
    runs = [(path, read_run(path).data) for path in sorted(folder.iterdir()) if path.is_dir()]
    results = {
        contender.name: (contender, score(script, folder, {path: contender.find(run) for path, run in runs}))
        for contender in list_contenders()
    }
    rows = [
        [name, *format_scores(result["summary"], contender.distinguishes_kinds)]
        for name, (contender, result) in results.items()
    ]
    holter = results["**Holter**"][1]
    kinds = [
        [kind[name] for name in ("kind", "events", "precision", "recall", "f1", "delay_p50", "delay_p90")]
        for kind in holter["per_class"]
    ]
    confusion = [
        [kind, ", ".join(f"{other} {count}" for other, count in counts.items())]
        for kind, counts in holter["confusion"].items()
    ]
    summary = holter["summary"]
    size = (
        f"{len(runs)} runs, {summary['events']} events, {summary['clean_points']:,} points without an event."
    )
    return "\n\n".join(
        [
            f"### `{folder.name}/`\n\n{size}",
            format_table(("", *SCORE_COLUMNS), rows),
            format_table(("kind", "events", "precision", "recall", "F1", "delay p50", "p90"), kinds),
            format_table(("labelled", "found as"), confusion),
        ]
    )


def score(script: Path, folder: Path, results: dict[Path, list[dict[str, Any]]]) -> dict[str, Any]:
    """The answer of the scoring script to findings in the runs of a folder."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
        for path, findings in results.items():
            print(json.dumps({"path": str(path), "findings": findings}), file=lines)
        lines.flush()
        command = [sys.executable, str(script), str(folder), lines.name, "--json"]
        process = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(process.stdout)
    return result


SCORE_COLUMNS = (
    "found",
    "precision",
    "recall",
    "F1",
    "kind right",
    "macro-F1",
    "alarms / 10k",
    "of clean runs",
)
"""What `format_scores` returns, in its order."""


def format_scores(summary: dict[str, Any], distinguishes_kinds: bool) -> list[str]:
    """A row of the comparison; without kinds, their scores are left out."""
    shares = [summary[f"detection_{name}"] for name in ("precision", "recall", "f1")]
    kinds = [
        f"{summary[name]:.3f}" if distinguishes_kinds else "-" for name in ("class_accuracy", "macro_f1")
    ]
    alarms = [summary[f"false_alarms_per_10k_{where}"] for where in ("points", "clean_points")]
    return [
        str(summary["detected"]),
        *(f"{share:.3f}" for share in shares),
        *kinds,
        *("-" if rate is None else f"{rate:.2f}" for rate in alarms),
    ]


def speed_tables() -> str:
    """Seconds for a million points of each series: each detector, all together, and the published rules."""
    run = million_points()
    detectors = [
        [name, *measure(lambda detector=detector: list(detector.detect(run, DetectorContext())))]
        for name, detector in registry().items()
    ]
    combined = ["all, one incident per event", *measure(lambda: find(run))]
    rules = [[rule.name, *measure(lambda rule=rule: find_by_rule(rule, run))] for rule in RULES]
    metrics = len({key.metric for key in run.series})
    return "\n\n".join(
        [
            "### Seconds for a million points",
            f"A healthy run of two attempts: a million points each of {metrics} metrics (loss, gradient "
            "norm, learning rate, tokens/s, and two timings, each divided among 64 ranks); CPU seconds. The "
            "rules read the loss and the gradient norm, point by point.",
            format_table(("detector", "s", "findings"), [*detectors, combined]),
            format_table(("published rule", "s", "alarms"), rules),
        ]
    )


def measure(work: Callable[[], Sequence[object]]) -> list[str]:
    """CPU seconds of a call, and the number of items it returns."""
    start = time.process_time()
    items = work()
    return [f"{time.process_time() - start:.2f}", str(len(items))]


def list_sources() -> str:
    """The sources of the published rules, as a list in Markdown."""
    lines = [f"- {rule.name}: {rule.source}" for rule in RULES]
    controls = (
        "Controls: `random` raises an alarm at one point in a thousand, `always` at every hundredth point."
    )
    return "\n".join(["The published rules were reimplemented from their sources:", "", *lines, "", controls])


def format_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [" | ".join("-" if cell is None else str(cell) for cell in row) for row in (head, *rows)]
    return "\n".join([f"| {lines[0]} |", "|" + "---|" * len(head), *(f"| {line} |" for line in lines[1:])])


def million_points() -> RunData:
    """A healthy run: a million points of each quantity, those of the ranks divided among 64 of them."""
    rng = np.random.default_rng(0)
    step, attempt = np.arange(MILLION), np.repeat([0, 1], MILLION // 2)
    columns = {
        "loss": (2 + 6 * (step + 20.0) ** -0.35) * np.exp(rng.normal(0, 0.03, MILLION)),
        "grad_norm": (0.5 + 2 * (step + 20.0) ** -0.3) * np.exp(rng.normal(0, 0.1, MILLION)),
        "lr": 3e-4 * np.minimum(1, (step + 1) / 2000) * (1 - 0.9 * step / MILLION),
        "tokens_per_s": 1e5 * np.exp(rng.normal(0, 0.02, MILLION)),
    }
    series = [build_series(metric, step, attempt, values) for metric, values in columns.items()]
    rows = MILLION // 64
    for rank in range(64):
        times = np.exp(rng.normal(0, 0.01, rows))
        labels = (("rank", str(rank)),)
        for metric in ("compute_time", "collective_time"):
            series.append(build_series(metric, step[:rows] * 20, np.zeros(rows), times, labels))
    return RunData(series={each.key: each for each in series})


def build_series(
    metric: str, step: IntArray, attempt: Any, value: FloatArray, labels: tuple[tuple[str, str], ...] = ()
) -> Series:
    """A series with one second between its points."""
    times = 1.7e9 + np.arange(len(step), dtype=np.float64)
    attempts = np.asarray(attempt, dtype=np.int64)
    return Series(key=SeriesKey(metric, labels), attempt=attempts, step=step, time=times, value=value)


if __name__ == "__main__":
    main()

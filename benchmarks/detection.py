"""Detection measured, beside the published rules: seconds for a million points, scores on labelled runs.

    python benchmarks/detection.py
    python benchmarks/detection.py --score SCORE.py --labelled DIR --labelled DIR --write

A labelled folder holds run folders with a truth.json each; the script that scores takes the folder and the
findings as `holter analyze --format jsonl` prints them, and `--json`. `--write` puts the tables into
docs/detection.md, between the marks that it has for them.
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
from published import RULES, Rule

from holter.cli.report import json as jsonable
from holter.detectors import find, registry
from holter.detectors.detector import DetectorContext
from holter.ingest.offline.read_run import read_run
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series, SeriesKey

MILLION = 1_000_000
PAGE = Path(__file__).parents[1] / "docs" / "detection.md"
MARKS = ("<!-- benchmarks/detection.py writes from here -->", "<!-- to here -->")
ONE_EVENT = 100
"""Alarms within so many points are one event, which the rules themselves do not say; it favours them."""
Find = Callable[[RunData], list[dict[str, Any]]]


@dataclass(frozen=True)
class Contender:
    """Holter, a published rule or a control: what it finds in a run, and whether it knows kinds."""

    name: str
    find: Find
    knows_kinds: bool = False


def main() -> None:
    """Print the tables asked for, and write them where wanted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--score", type=Path, help="the script that scores findings against labels")
    parser.add_argument("--labelled", type=Path, action="append", default=[], metavar="DIR")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/detection.md")
    asked = parser.parse_args()
    if asked.labelled and not asked.score:
        parser.error("--labelled needs --score")
    parts = [score_tables(asked.score, folder) for folder in asked.labelled]
    parts.append(speed_tables())
    text = "\n\n".join([*parts, sources()])
    print(text)
    if asked.write:
        write(text)


def write(text: str) -> None:
    """Put the tables between the marks of the page, which stand there once."""
    before, _, rest = PAGE.read_text().partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    if not after:
        sys.exit(f"{PAGE}: the marks {' and '.join(MARKS)} expected")
    PAGE.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")


def contenders() -> list[Contender]:
    """Holter first."""
    others = [Contender(rule.name, lambda run, rule=rule: by_rule(rule, run)) for rule in RULES]
    return [Contender("**Holter**", holter, knows_kinds=True), *others]


def holter(run: RunData) -> list[dict[str, Any]]:
    """What `holter analyze` finds."""
    return [jsonable.plain(finding.as_json()) for finding in find(run)]


def by_rule(kind: type[Rule], run: RunData) -> list[dict[str, Any]]:
    """The alarms of a rule as findings, which it calls nothing but an alarm."""
    attempts = list(losses(run))
    points = sum(len(step) for _, step, _, _ in attempts)
    rule = kind(points)
    found: list[dict[str, Any]] = []
    for number, step, loss, norm in attempts:
        rule = rule if kind.saved else kind(points)
        alarms = [
            at for at, value in enumerate(loss) if rule.alarm(value, None if norm is None else norm[at])
        ]
        begins = [
            at for before, at in zip([-MILLION, *alarms], alarms, strict=False) if at - before > ONE_EVENT
        ]
        found += [alarm(number, step[at], np.isfinite(loss[at])) for at in begins]
    return found


def alarm(attempt: int, step: int, finite: bool) -> dict[str, Any]:
    """One alarm in the words of the findings contract."""
    kind = "spike_fast" if finite else "nonfinite"
    place = {"attempt": attempt, "start_step": step, "detected_step": step}
    return {"kind": kind, "metric": "loss", "labels": {}, **place}


def losses(run: RunData) -> Iterator[tuple[int, list[int], list[float], list[float] | None]]:
    """The training loss of every attempt, with the gradient norm where all of its steps have one."""
    first = {
        role: next((run.series[key] for key in sorted(run.series) if role_of(key) is role), None)
        for role in (Role.LOSS, Role.GRAD_NORM)
    }
    loss, norm = first[Role.LOSS], first[Role.GRAD_NORM]
    for attempt in [] if loss is None else np.unique(loss.attempt).tolist():
        mine = loss.attempt == attempt
        beside = None
        if norm is not None and np.array_equal(norm.step[norm.attempt == attempt], loss.step[mine]):
            beside = norm.value[norm.attempt == attempt].tolist()
        yield attempt, loss.step[mine].tolist(), loss.value[mine].tolist(), beside


def score_tables(script: Path, folder: Path) -> str:
    """The contenders side by side on one labelled set, then the kinds as Holter tells them apart."""
    runs = [(path, read_run(path).data) for path in sorted(folder.iterdir()) if path.is_dir()]
    results = {
        one.name: (one, score(script, folder, {path: one.find(run) for path, run in runs}))
        for one in contenders()
    }
    columns = (
        "found",
        "precision",
        "recall",
        "F1",
        "kind right",
        "macro-F1",
        "alarms / 10k",
        "of clean runs",
    )
    rows = [[name, *numbers(result["summary"], one.knows_kinds)] for name, (one, result) in results.items()]
    ours = results["**Holter**"][1]
    kinds = [
        [one[name] for name in ("kind", "events", "precision", "recall", "f1", "delay_p50", "delay_p90")]
        for one in ours["per_class"]
    ]
    taken = [
        [kind, ", ".join(f"{other} {count}" for other, count in found.items())]
        for kind, found in ours["confusion"].items()
    ]
    summary = ours["summary"]
    size = f"{len(runs)} runs, {summary['events']} events, {summary['clean_points']:,} points without any."
    return "\n\n".join(
        [
            f"### `{folder.name}/`\n\n{size}",
            table(("", *columns), rows),
            table(("kind", "events", "precision", "recall", "F1", "delay p50", "p90"), kinds),
            table(("labelled", "found as"), taken),
        ]
    )


def score(script: Path, folder: Path, found: dict[Path, list[dict[str, Any]]]) -> dict[str, Any]:
    """What the scoring script says of findings in the runs of a folder."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
        for path, findings in found.items():
            print(json.dumps({"path": str(path), "findings": findings}), file=lines)
        lines.flush()
        command = [sys.executable, str(script), str(folder), lines.name, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def numbers(summary: dict[str, Any], knows_kinds: bool) -> list[str]:
    """A row of the comparison; who knows no kinds has none right."""
    shares = [summary[f"detection_{name}"] for name in ("precision", "recall", "f1")]
    kinds = [f"{summary[name]:.3f}" if knows_kinds else "-" for name in ("class_accuracy", "macro_f1")]
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
        [name, *timed(lambda one=one: list(one.detect(run, DetectorContext())))]
        for name, one in registry().items()
    ]
    together = ["all, as one incident an event", *timed(lambda: find(run))]
    rules = [[kind.name, *timed(lambda kind=kind: by_rule(kind, run))] for kind in RULES[:-3]]
    metrics = len({key.metric for key in run.series})
    return "\n\n".join(
        [
            "### Seconds for a million points",
            f"A healthy run of two attempts: a million points each of {metrics} metrics (loss, gradient "
            "norm, learning rate, tokens/s, and two times of 64 ranks together); CPU seconds. The rules "
            "look at the loss and the gradient norm, a point at a time.",
            table(("detector", "s", "findings"), [*detectors, together]),
            table(("published rule", "s", "alarms"), rules),
        ]
    )


def timed(work: Callable[[], Sequence[object]]) -> list[str]:
    """CPU seconds that something takes, and how many things it gives."""
    begin = time.process_time()
    found = work()
    return [f"{time.process_time() - begin:.2f}", str(len(found))]


def sources() -> str:
    """Where the published rules are from."""
    lines = [f"- {kind.name}: {kind.source}" for kind in RULES[:-3]]
    controls = "Controls: `random` alarms at one point in a thousand, `always` every hundred points."
    return "\n".join(["The published rules were written anew after their sources:", "", *lines, "", controls])


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [" | ".join("-" if cell is None else str(cell) for cell in row) for row in (head, *rows)]
    return "\n".join([f"| {lines[0]} |", "|" + "---|" * len(head), *(f"| {line} |" for line in lines[1:])])


def million_points() -> RunData:
    """A healthy run: a million points of each quantity, those of the ranks shared by 64 of them."""
    rng = np.random.default_rng(0)
    step, attempt = np.arange(MILLION), np.repeat([0, 1], MILLION // 2)
    columns = {
        "loss": (2 + 6 * (step + 20.0) ** -0.35) * np.exp(rng.normal(0, 0.03, MILLION)),
        "grad_norm": (0.5 + 2 * (step + 20.0) ** -0.3) * np.exp(rng.normal(0, 0.1, MILLION)),
        "lr": 3e-4 * np.minimum(1, (step + 1) / 2000) * (1 - 0.9 * step / MILLION),
        "tokens_per_s": 1e5 * np.exp(rng.normal(0, 0.02, MILLION)),
    }
    series = [one_series(metric, step, attempt, values) for metric, values in columns.items()]
    rows = MILLION // 64
    for rank in range(64):
        times = np.exp(rng.normal(0, 0.01, rows))
        labels = (("rank", str(rank)),)
        for metric in ("compute_time", "collective_time"):
            series.append(one_series(metric, step[:rows] * 20, np.zeros(rows), times, labels))
    return RunData(series={one.key: one for one in series})


def one_series(
    metric: str, step: IntArray, attempt: Any, value: FloatArray, labels: tuple[tuple[str, str], ...] = ()
) -> Series:
    """A series with a second between its points."""
    time_of = 1.7e9 + np.arange(len(step), dtype=np.float64)
    attempts = np.asarray(attempt, dtype=np.int64)
    return Series(key=SeriesKey(metric, labels), attempt=attempts, step=step, time=time_of, value=value)


if __name__ == "__main__":
    main()

"""Detection measured: score tables on labelled sets, beside published rules; seconds per million points.

    python benchmarks/detection.py
    python benchmarks/detection.py --score SCORE.py --lab DIR --real DIR

A labelled set is a folder of run folders with a truth.json each; the script that scores takes the folder
and the findings as `holter analyze --format jsonl` prints them, and `--json`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from holter.detectors import find, registry
from holter.ingest.gather import gather
from holter.metrics import Role, role_of
from holter.report import jsonable
from holter.types import FloatArray, IntArray, RunData, Series, SeriesKey

MILLION = 1_000_000
Rule = Callable[[RunData], list[dict[str, Any]]]


def main() -> None:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--score", type=Path, help="the script that scores findings against labels")
    parser.add_argument("--lab", type=Path, help="labelled runs of a laboratory")
    parser.add_argument("--real", type=Path, help="labelled public logs")
    asked = parser.parse_args()
    sets = {name: folder for name, folder in (("lab", asked.lab), ("real", asked.real)) if folder}
    if sets and not asked.score:
        parser.error("--lab and --real need --score")
    for name, folder in sets.items():
        print_scores(name, {rule: score(asked.score, folder, RULES[rule]) for rule in RULES})
    print_speed()


def ours(run: RunData) -> list[dict[str, Any]]:
    """What `holter analyze` finds."""
    return [jsonable.plain(finding.as_json()) for finding in find(run)]


def kill_loss_spike(run: RunData) -> list[dict[str, Any]]:
    """llm-foundry's KillLossSpike: more than four losses in a row at twice the mean of the last hundred."""
    findings = []
    for attempt, step, loss in losses(run):
        mean = before(loss, 100, np.mean)
        high = loss >= 2 * mean
        run_length = np.zeros(len(high), dtype=np.int64)
        for i in np.flatnonzero(high).tolist():
            run_length[i] = run_length[i - 1] + 1 if i else 1
        findings += events(attempt, step, np.flatnonzero(run_length > 4))
    return findings


def spike_score(run: RunData) -> list[dict[str, Any]]:
    """OLMo 2's spike score as a rule: at least seven deviations above the mean of the last thousand."""
    findings = []
    for attempt, step, loss in losses(run):
        high = loss >= before(loss, 1000, np.mean) + 7 * before(loss, 1000, np.std)
        high |= ~np.isfinite(loss)
        findings += events(attempt, step, np.flatnonzero(high), kind_at=loss)
    return findings


RULES: dict[str, Rule] = {"Holter": ours, "KillLossSpike": kill_loss_spike, "OLMo spike score": spike_score}


def losses(run: RunData) -> Iterator[tuple[int, IntArray, FloatArray]]:
    """The training loss of every attempt."""
    keys = [key for key in sorted(run.series) if role_of(key) is Role.LOSS]
    for key in keys[:1]:
        series = run.series[key]
        for attempt in np.unique(series.attempt).tolist():
            mine = series.attempt == attempt
            yield attempt, series.step[mine], series.value[mine]


def before(values: FloatArray, window: int, what: Callable[..., Any]) -> FloatArray:
    """A statistic of the finite values among the last `window` before each; infinite for the first 64."""
    known = np.where(np.isfinite(values), values, 0.0)
    count = np.concatenate([[0], np.cumsum(np.isfinite(values))])
    first = np.concatenate([[0.0], np.cumsum(known)])
    second = np.concatenate([[0.0], np.cumsum(known**2)])
    end = np.arange(len(values))
    start = np.maximum(end - window, 0)
    number = np.maximum(count[end] - count[start], 1)
    mean = (first[end] - first[start]) / number
    if what is np.std:
        result = np.sqrt(np.maximum((second[end] - second[start]) / number - mean**2, 0.0))
    else:
        result = mean
    return np.where(end < 64, np.inf, result)


def events(
    attempt: int, step: IntArray, flagged: IntArray, kind_at: FloatArray | None = None
) -> list[dict[str, Any]]:
    """Flagged points as findings: those within a hundred points of each other are one."""
    starts = flagged[np.diff(flagged, prepend=-1000) > 100] if len(flagged) else flagged
    return [
        {
            "kind": "nonfinite" if kind_at is not None and not np.isfinite(kind_at[i]) else "spike_fast",
            "metric": "loss",
            "labels": {},
            "attempt": attempt,
            "start_step": int(step[i]),
            "detected_step": int(step[i]),
        }
        for i in starts.tolist()
    ]


def score(script: Path, folder: Path, rule: Rule) -> dict[str, Any]:
    """The scores of one rule on one set, with the seconds it took."""
    begin = time.perf_counter()
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
        for path in sorted(folder.iterdir()):
            record = {"path": str(path), "findings": rule(gather(path).data)}
            print(json.dumps(record), file=lines)
        lines.flush()
        seconds = time.perf_counter() - begin
        command = [sys.executable, str(script), str(folder), lines.name, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return {**result, "seconds": seconds}


def print_scores(name: str, results: dict[str, dict[str, Any]]) -> None:
    """One table a set: the rules side by side, then the classes of ours, then what was taken for what."""
    rows = ("detection_f1", "detection_recall", "detection_precision", "class_accuracy", "macro_f1")
    rows += ("false_alarms_per_10k_clean_points", "fragments")
    print(f"\n## {name}\n\n| | {' | '.join(results)} |\n|---|{'---|' * len(results)}")
    for row in rows:
        cells = " | ".join(f"{result['summary'][row]}" for result in results.values())
        print(f"| {row.replace('_', ' ')} | {cells} |")
    ours_only = results["Holter"]
    print("\n| kind | events | precision | recall | F1 | delay p50 | p90 |\n|---|---|---|---|---|---|---|")
    for one in ours_only["per_class"]:
        numbers = (
            one[column] for column in ("events", "precision", "recall", "f1", "delay_p50", "delay_p90")
        )
        print(f"| {one['kind']} | {' | '.join(map(str, numbers))} |")
    print("\n| labelled | found as |\n|---|---|")
    for kind, found in ours_only["confusion"].items():
        print(f"| {kind} | {', '.join(f'{other} {count}' for other, count in found.items())} |")
    print(f"\nReading and analysing took {ours_only['seconds']:.0f} s.")


def print_speed() -> None:
    """Seconds that each detector takes for a million points of the series it looks at."""
    run = million_points()
    print("\n## Seconds per million points\n\n| detector | s | findings |\n|---|---|---|")
    for name, detector in registry().items():
        begin = time.perf_counter()
        found = len(list(detector.detect(run)))
        print(f"| {name} | {time.perf_counter() - begin:.2f} | {found} |")


def million_points() -> RunData:
    """A healthy run: a million points of the loss, of the speed, and of 64 ranks together; two attempts."""
    rng = np.random.default_rng(0)
    step, attempt = np.arange(MILLION), np.repeat([0, 1], MILLION // 2)
    loss = (2 + 6 * (step + 20.0) ** -0.35) * np.exp(rng.normal(0, 0.03, MILLION))
    speed = 1e5 * np.exp(rng.normal(0, 0.02, MILLION))
    series = [one_series("loss", step, attempt, loss), one_series("tokens_per_s", step, attempt, speed)]
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

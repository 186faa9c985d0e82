"""Writes a run as a folder: its logs in one of the layouts, ranks.csv, and truth.json."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from laboratory.labels import label, noise_of
from laboratory.lists import LogHabit, MetricNames
from laboratory.plan import RunPlan
from laboratory.recording import Recording, Values, logged
from laboratory.timings import AttemptTimes, simulate_times

START_TIME = 1.75e9
"""Unix seconds of the first step."""
RESTART_SECONDS = 900.0
Rows = Mapping[str, Values]
"""Logged columns of one attempt by their name in the log; NaN and infinities are values."""


def write_run(recording: Recording, folder: Path) -> None:
    """Write the logs and the truth of a run into a new folder."""
    folder.mkdir(parents=True)
    plan = recording.plan
    times = simulate_times(plan, [each["step"] for each in recording.attempts])
    attempts = logged_attempts(recording, times)
    names = write_logs(folder, attempts, plan.layout, plan.names, plan.habit)
    if plan.ranks:
        _write_ranks(folder / "ranks.csv", times)
    (folder / "truth.json").write_text(json.dumps(truth_of(recording, attempts, names), indent=1) + "\n")


def logged_attempts(recording: Recording, times: Sequence[AttemptTimes]) -> list[Rows]:
    """The rows of each attempt under the names of a framework, with wall times."""
    plan, names, rows = recording.plan, recording.plan.names, []
    clock = START_TIME
    for columns, timed in zip(recording.attempts, times, strict=True):
        wall = clock + np.cumsum(timed.step_time)
        clock = float(wall[-1]) + RESTART_SECONDS
        speed = timed.step_time if names.is_step_time else columns["batch_size"] / timed.step_time
        unit = 1000 if "(ms)" in names.speed else 1
        step_name = "step_time" if names.is_step_time else "tokens_per_s"
        row = logged({**columns, "wall": wall, step_name: speed * unit}, plan.habit)
        written = {
            names.step: row["step"],
            "wall_time": row["wall"],
            names.loss: row["loss"],
            names.grad_norm: row["grad_norm"],
            names.rate: row["rate"],
            names.speed: row[step_name],
        }
        written |= {names.dataset.format(each): row[f"loss/{each}"] for each in plan.datasets}
        if plan.mechanism.name == "batch_growth":
            written["batch_size"] = row["batch_size"]
        rows.append(written)
    return rows


def write_logs(
    folder: Path, attempts: Sequence[Rows], layout: str, names: MetricNames, habit: LogHabit
) -> list[str]:
    """Write the attempts in a layout of `lists.py`; the names of their files."""
    texts = [list(_cells(rows, names.step, habit)) for rows in attempts]
    if layout == "console":
        return [_write_text(folder / "train.log", [_console(line) for lines in texts for line in lines])]
    if layout.startswith("jsonl"):
        lines = [
            ["{" + ", ".join(f'"{n}": {_json(v)}' for n, v in line.items()) + "}" for line in each]
            for each in texts
        ]
        if layout == "jsonl, one file":
            return [_write_text(folder / "metrics.jsonl", [line for each in lines for line in each])]
        return [_write_text(folder / f"attempt-{number}.jsonl", each) for number, each in enumerate(lines)]
    if layout == "csv, one file with a column attempt":
        header = ",".join(["attempt", *attempts[0]])
        body = [f"{number}," + ",".join(line.values()) for number, each in enumerate(texts) for line in each]
        return [_write_text(folder / "metrics.csv", [header, *body])]
    files = []
    for number, (rows, each) in enumerate(zip(attempts, texts, strict=True)):
        text = "\n".join([",".join(rows), *(",".join(line.values()) for line in each)]) + "\n"
        name = f"attempt-{number}.csv.gz"
        (folder / name).write_bytes(gzip.compress(text.encode(), mtime=0))
        files.append(name)
    return files


def _cells(rows: Rows, step: str, habit: LogHabit) -> Iterator[dict[str, str]]:
    """Each row as texts by column; only the loss and the gradient norm are rounded by the habit."""
    names = list(rows)
    for values in zip(*rows.values(), strict=True):
        yield {name: _number(name, value, step, habit) for name, value in zip(names, values, strict=True)}


def _number(name: str, value: float, step: str, habit: LogHabit) -> str:
    if name in (step, "batch_size"):
        return str(int(value))
    if name == "wall_time":
        return f"{value:.3f}"
    if habit.decimals is not None and "loss" in name and math.isfinite(value):
        return f"{value:.{habit.decimals}f}"
    return f"{value:.{habit.digits}g}"


def _json(text: str) -> str:
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)


def _console(cells: dict[str, str]) -> str:
    """A line as scripts print it; the step is the first number after the date."""
    (_, step), (_, time), *metrics = cells.items()
    return f"{log_time(float(time))} step {step} | " + " | ".join(
        f"{name}: {value}" for name, value in metrics
    )


def log_time(seconds: float) -> str:
    """A moment as Python's logging prints it."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03}"


def _write_text(path: Path, lines: Sequence[str]) -> str:
    path.write_text("\n".join(lines) + "\n")
    return path.name


def _write_ranks(path: Path, times: Sequence[AttemptTimes]) -> None:
    lines = ["step,attempt,rank,compute_time,collective_time"]
    for attempt, timed in enumerate(times):
        for row, step in enumerate(timed.rank_steps):
            for rank, (compute, collective) in enumerate(
                zip(timed.compute[row], timed.collective[row], strict=True)
            ):
                lines.append(f"{int(step)},{attempt},{rank},{compute:.6g},{collective:.6g}")
    _write_text(path, lines)


def truth_of(recording: Recording, attempts: Sequence[Rows], files: Sequence[str]) -> dict[str, Any]:
    """The labels of a run, with what a scorer needs, and the plan that it was drawn from."""
    plan = recording.plan
    events = label(recording)
    classes = [event["class"] for event in events if not event["ambiguous"]]
    step = plan.names.step
    twin = logged(recording.twin, plan.habit)
    return {
        "run_id": plan.name,
        "primary_class": classes[0] if classes else ("ambiguous" if events else "clean"),
        "mechanism": plan.mechanism.name,
        "family": plan.mechanism.family,
        "log_schedule": [[0, plan.habit.every]],
        "log_agg": "mean" if plan.habit.mean else "last",
        "attempts": [
            {
                "file": files[min(number, len(files) - 1)],
                "first_step": int(rows[step][0]),
                "last_step": int(rows[step][-1]),
            }
            for number, rows in enumerate(attempts)
        ],
        "n_rows": sum(len(rows[step]) for rows in attempts),
        "n_steps": sum(len(each["step"]) for each in recording.attempts),
        "sigma_step": round(noise_of(twin["loss"], int(np.searchsorted(twin["step"], plan.fault_step))), 6),
        "dataset_metrics": [plan.names.dataset.format(name) for name in plan.datasets],
        "simulated": ["wall_time", plan.names.speed, *(["ranks.csv"] if plan.ranks else [])],
        "events": events,
        "plan": _plain_plan(plan),
    }


def _plain_plan(plan: RunPlan) -> dict[str, Any]:
    fields = asdict(plan)
    fields["mechanism"] = plan.mechanism.name
    return {name: value for name, value in fields.items() if name not in ("names",)}

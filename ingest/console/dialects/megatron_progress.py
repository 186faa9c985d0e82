"""Megatron's `progress.txt` next to its checkpoints: a line per launch and per checkpoint.

Source: NVIDIA/Megatron-LM, megatron/training/utils/log_utils.py and training.py.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineSettings, LineValues
from holter.ingest.console.text.values import parse_number, parse_time

_UNITS = re.compile(r"(?<!\s)\s*+TFLOP/s/GPU$")
_NAMES = {
    "Job throughput": "job throughput (TFLOP/s/GPU)",
    "Cumulative throughput": "cumulative throughput (TFLOP/s/GPU)",
    "Floating-point operations": "floating-point operations",
    "Tokens (in billions)": "tokens (in billions)",
}
_EVENTS = {
    "Saved checkpoint": "checkpoint saved",
    "Saving async checkpoint": "checkpoint saving",
    "Saved async checkpoint": "checkpoint saved",
    "Saved async local checkpoint": "local checkpoint saved",
    "Deleted checkpoint": "checkpoint deleted",
}


def _checkpoint(line: str, state: DialectState) -> LineValues | None:
    """`TIME⇥Job ID: 12⇥# GPUs: 64⇥Saved checkpoint⇥Iteration: 500⇥Job throughput: 301.2 TFLOP/s/GPU⇥…`."""
    fields = _fields(line)
    event = next((_EVENTS[part] for part in line.split("\t") if part in _EVENTS), None)
    iteration = fields.get("Iteration", "").strip()
    if event is None or not iteration.isdecimal() or len(iteration) > 18:
        return None
    step = int(iteration)
    values = {event: float(step)}
    for name, metric in _NAMES.items():
        value = parse_number(_UNITS.sub("", fields.get(name, "")))
        if value is not None:
            values[metric] = value
    return LineValues(step, values, parse_time(line))


def _launch(line: str, state: DialectState) -> LineSettings:
    """`TIME⇥Job ID: 12⇥# GPUs: 64⇥Starting job`."""
    fields = _fields(line)
    config: dict[str, str | int] = {}
    if job := fields.get("Job ID", "").strip():
        config["slurm.job_id"] = job
    gpus = fields.get("# GPUs", "").strip()
    if gpus.isdecimal() and len(gpus) < 10:
        config["world_size"] = int(gpus)
    return LineSettings(config)


def _fields(line: str) -> dict[str, str]:
    pairs = (part.partition(": ") for part in line.split("\t"))
    return {name: text for name, colon, text in pairs if colon}


DIALECT = ConsoleDialect(
    name="megatron-progress",
    is_supplement=True,
    signature=re.compile(rb"\tJob ID: [^\t\n]*\t# GPUs: \d+\t"),
    kinds=(
        LineKind(pattern=re.compile(rb"\tStarting job"), parse=_launch, yields_settings=True),
        LineKind(pattern=re.compile(rb"\tIteration: \d"), parse=_checkpoint),
    ),
)

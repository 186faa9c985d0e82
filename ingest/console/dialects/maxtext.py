"""MaxText: `completed step: 9, seconds: 5.667, TFLOP/s/device: 134.924, …, loss: 10.374`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.values import parse_number, parse_time

_STEP = re.compile(r"completed step: (\d+), (.*)")
_EVALUATION = re.compile(r"eval metrics after step: (\d+), (.*)")
_WARM_UP = 2
"""Steps that compile, and that are timed before they are done: their speed is not one."""


def _step(line: str, memory: DialectState) -> LineValues | None:
    found = _STEP.search(line)
    if found is None:
        return None
    step = int(found[1])
    first = memory.setdefault("first", step)
    values = {}
    for pair in found[2].split(", "):
        name, _, text = pair.partition(": ")
        value = parse_number(text)
        if value is not None and (name == "loss" or step - first >= _WARM_UP):
            values["step_time (s)" if name == "seconds" else name] = value
    return LineValues(step, values, parse_time(line[: found.start()]))


def _evaluation(line: str, memory: DialectState) -> LineValues | None:
    """`eval metrics after step: 9, loss=9.420, total_weights=75264.0`."""
    found = _EVALUATION.search(line)
    if found is None:
        return None
    texts = dict(pair.partition("=")[::2] for pair in found[2].split(", "))
    values = {
        f"eval/{name}": value for name, text in texts.items() if (value := parse_number(text)) is not None
    }
    return LineValues(int(found[1]), values, parse_time(line[: found.start()]))


DIALECT = ConsoleDialect(
    name="maxtext",
    tell=re.compile(rb"completed step: \d+, seconds: "),
    kinds=(
        LineKind(mark=re.compile(rb"completed step: \d+, "), read=_step),
        LineKind(mark=re.compile(rb"eval metrics after step: \d"), read=_evaluation),
    ),
)

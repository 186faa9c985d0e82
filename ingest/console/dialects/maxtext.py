"""MaxText: `completed step: 9, seconds: 5.667, TFLOP/s/device: 134.924, …, loss: 10.374`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_number, parse_time

_STEP = re.compile(r"completed step: (\d+), (.*)")
_EVALUATION = re.compile(r"eval metrics after step: (\d+), (.*)")
_WARM_UP = 2
"""Steps that are compiled, and timed before they are done: their speed is meaningless."""


def _step(line: str, state: DialectState) -> LineValues | None:
    match = _STEP.search(line)
    if match is None:
        return None
    step = int(match[1])
    first = state.setdefault("first", step)
    values = {}
    for pair in match[2].split(", "):
        name, _, text = pair.partition(": ")
        value = parse_number(text)
        if value is not None and (name == "loss" or step - first >= _WARM_UP):
            values["step_time (s)" if name == "seconds" else name] = value
    return LineValues(step, values, parse_time(line[: match.start()]))


def _evaluation(line: str, state: DialectState) -> LineValues | None:
    """`eval metrics after step: 9, loss=9.420, total_weights=75264.0`."""
    match = _EVALUATION.search(line)
    if match is None:
        return None
    texts = dict(pair.partition("=")[::2] for pair in match[2].split(", "))
    values = {
        f"eval/{name}": value for name, text in texts.items() if (value := parse_number(text)) is not None
    }
    return LineValues(int(match[1]), values, parse_time(line[: match.start()]))


DIALECT = ConsoleDialect(
    name="maxtext",
    signature=re.compile(rb"completed step: \d+, seconds: "),
    kinds=(
        LineKind(pattern=re.compile(rb"completed step: \d+, "), parse=_step),
        LineKind(pattern=re.compile(rb"eval metrics after step: \d"), parse=_evaluation),
    ),
)

"""litgpt: `Epoch 34 | iter 3050700 step 610140 | loss train: 2.846, val: 2.861 | iter time: 112.20 ms`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_number, parse_numbers

_LINE = re.compile(
    r"iter (?P<iter>\d+) (?:\| )?step (?P<step>\d+)(?: \| |: )loss (?:train: )?(?P<loss>[^\s,|]+)"
    r"(?:, val: (?P<val>\S+))?(?: \||,) iter time: (?P<time>[\d.]+) ms"
)
_VALIDATION = re.compile(r"iter \d+: val loss ([^\s,]+)")


def _iteration(line: str, state: DialectState) -> LineValues | None:
    """A micro-batch, of which a step may have several. `val` repeats the last evaluation."""
    match = _LINE.search(line)
    if match is None:
        return None
    values = parse_numbers({"train_loss": match["loss"], "iter_time (ms)": match["time"]}.items())
    val = parse_number(match["val"] or "")
    if val is not None and val not in (state.get("val"), round(state.get("val", val + 1), 3)):
        state["val"] = val
        values["val_loss"] = val
    state["step"] = int(match["step"])
    return LineValues(state["step"], values)


def _evaluation(line: str, state: DialectState) -> LineValues | None:
    """`iter 4800: val loss 1.7258, val time: 3778.02 ms`, at the last step that was printed."""
    match = _VALIDATION.search(line)
    value = parse_number(match[1]) if match else None
    if value is None or "step" not in state or value == state.get("val"):
        return None
    state["val"] = value
    return LineValues(int(state["step"]), {"val_loss": value})


DIALECT = ConsoleDialect(
    name="litgpt",
    signature=re.compile(rb"iter \d+ (?:\| )?step \d+(?: \| |: )loss "),
    kinds=(
        LineKind(pattern=re.compile(rb"iter \d+ (?:\| )?step \d"), parse=_iteration),
        LineKind(pattern=re.compile(rb"iter \d+: val loss "), parse=_evaluation),
    ),
)

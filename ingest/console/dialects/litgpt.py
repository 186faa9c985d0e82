"""litgpt: `Epoch 34 | iter 3050700 step 610140 | loss train: 2.846, val: 2.861 | iter time: 112.20 ms`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.values import parse_number, parse_numbers

_LINE = re.compile(
    r"iter (?P<iter>\d+) (?:\| )?step (?P<step>\d+)(?: \| |: )loss (?:train: )?(?P<loss>[^\s,|]+)"
    r"(?:, val: (?P<val>\S+))?(?: \||,) iter time: (?P<time>[\d.]+) ms"
)
_VALIDATION = re.compile(r"iter \d+: val loss ([^\s,]+)")


def _iteration(line: str, memory: DialectState) -> LineValues | None:
    """A micro-batch, of which a step may have several. `val` repeats the last evaluation until the next."""
    found = _LINE.search(line)
    if found is None:
        return None
    values = parse_numbers({"train_loss": found["loss"], "iter_time (ms)": found["time"]}.items())
    val = parse_number(found["val"] or "")
    if val is not None and val not in (memory.get("val"), round(memory.get("val", val + 1), 3)):
        memory["val"] = val
        values["val_loss"] = val
    memory["step"] = int(found["step"])
    return LineValues(memory["step"], values)


def _evaluation(line: str, memory: DialectState) -> LineValues | None:
    """`iter 4800: val loss 1.7258, val time: 3778.02 ms`, at the step that was told last."""
    found = _VALIDATION.search(line)
    value = parse_number(found[1]) if found else None
    if value is None or "step" not in memory or value == memory.get("val"):
        return None
    memory["val"] = value
    return LineValues(int(memory["step"]), {"val_loss": value})


DIALECT = ConsoleDialect(
    name="litgpt",
    tell=re.compile(rb"iter \d+ (?:\| )?step \d+(?: \| |: )loss "),
    kinds=(
        LineKind(mark=re.compile(rb"iter \d+ (?:\| )?step \d"), read=_iteration),
        LineKind(mark=re.compile(rb"iter \d+: val loss "), read=_evaluation),
    ),
)

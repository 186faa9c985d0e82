"""litgpt: `Epoch 34 | iter 3050700 step 610140 | loss train: 2.846, val: 2.861 | iter time: 112.20 ms`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import Dialect, LineKind, Memory, Said
from holter.ingest.console.numbers import number, numbers

_LINE = re.compile(
    r"iter (?P<iter>\d+) (?:\| )?step (?P<step>\d+)(?: \| |: )loss (?:train: )?(?P<loss>[^\s,|]+)"
    r"(?:, val: (?P<val>\S+))?(?: \||,) iter time: (?P<time>[\d.]+) ms"
)


def _iteration(line: str, memory: Memory) -> Said | None:
    """A micro-batch, of which a step may have several. `val` repeats the last evaluation until the next."""
    found = _LINE.search(line)
    if found is None:
        return None
    values = numbers({"train_loss": found["loss"], "iter_time (ms)": found["time"]}.items())
    val = number(found["val"] or "")
    if val is not None and val != memory.get("val"):
        memory["val"] = val
        values["val_loss"] = val
    return Said(int(found["step"]), values)


DIALECT = Dialect(
    name="litgpt",
    tell=re.compile(rb"iter \d+ (?:\| )?step \d+(?: \| |: )loss "),
    kinds=(LineKind(mark=re.compile(rb"iter \d+ (?:\| )?step \d"), read=_iteration),),
)

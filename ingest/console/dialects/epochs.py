"""Small programs with a line per epoch: `Epoch 3/10, Train Loss: 1.00, Val Loss: 1.05`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.dialects.key_value import named_numbers
from holter.ingest.console.values import parse_time

_EPOCH = re.compile(r"\bepoch\s*+(?:[=:#]\s*+)?(?:\[\s*+)?(\d+)(?:\s*/\s*\d+)?\]?", re.I)
_BATCH = re.compile(r"\bbatch\s*+(?:[=:#]\s*+)?(?:\[\s*+)?(\d+)\s*/\s*(\d+)", re.I)


def _epoch(line: str, state: DialectState) -> LineValues | None:
    """The epoch is the step, since there is no other; if batches are printed as well, they are the steps."""
    match = _EPOCH.search(line)
    if match is None:
        return None
    step, batch = int(match[1]), _BATCH.search(line)
    from_one = state.setdefault("from one", step > 0)
    if batch is not None:
        state["batches"] = int(batch[2])
        step = (step - from_one) * int(batch[2]) + int(batch[1])
    elif "batches" in state:
        step = (step - from_one + 1) * int(state["batches"])
    numbers = named_numbers(line).items()
    values = {name: value for name, value in numbers if name.lower() not in ("epoch", "batch")}
    return LineValues(step, values, parse_time(line))


DIALECT = ConsoleDialect(
    name="epochs",
    signature=re.compile(
        rb"(?i)\bepoch\s*(?:[=:#]\s*)?(?:\[\s*)?\d[^\n]{0,200}?loss\w*(?:\s*[=:]\s*|\s+)[-+]?(?:\d|nan|inf)"
    ),
    min_matches=2,
    kinds=(LineKind(pattern=re.compile(rb"(?i)\bepoch\s*(?:[=:#]\s*)?(?:\[\s*)?\d"), parse=_epoch),),
)

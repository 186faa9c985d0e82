"""fairseq and metaseq: `| INFO | train_inner | {"epoch": 1, "loss": "16.446", "num_updates": "2", …}`."""

from __future__ import annotations

import re
from math import log

import msgspec

from holter.ingest.console.dialect import Dialect, LineKind, Memory, Said
from holter.ingest.console.moments import moment
from holter.ingest.console.numbers import numbers

_LINE = re.compile(r"\| (train_inner|valid\w*) \| (\{.*\})")
_OVERFLOW = re.compile(r"setting loss scale to: ([\d.]+)")
_STEP = "num_updates"
_decode = msgspec.json.Decoder().decode


def _stats(line: str, memory: Memory) -> Said | None:
    """Losses are in bits: they are told in nats, as everybody else's."""
    found = _LINE.search(line)
    try:
        stats = _decode(found[2]) if found else None
    except msgspec.DecodeError:
        return None
    if found is None or not isinstance(stats, dict):
        return None
    told = numbers((name, str(text)) for name, text in stats.items())
    step = next((int(value) for name, value in told.items() if name.endswith(_STEP)), None)
    if step is None:
        return None
    memory["step"] = step
    values = {
        name: value * log(2) if name.endswith("loss") else value
        for name, value in told.items()
        if not name.endswith(_STEP)
    }
    return Said(step, values, moment(line[: found.start()]))


def _overflow(line: str, memory: Memory) -> Said | None:
    found = _OVERFLOW.search(line)
    return Said(int(memory.get("step", 0)), {"loss_scale": float(found[1])}, moment(line)) if found else None


DIALECT = Dialect(
    name="fairseq",
    tell=re.compile(rb"\| (?:train_inner|train|valid) \| \{\""),
    kinds=(
        LineKind(mark=re.compile(rb"\| (?:train_inner|valid\w*) \| \{"), read=_stats),
        LineKind(mark=re.compile(rb"setting loss scale to: "), read=_overflow),
    ),
)

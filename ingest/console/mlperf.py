"""MLPerf's `:::MLLOG {json}` lines, whatever stands before them."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from holter.ingest.console.dialect import Dialect, LineKind, Memory, Said

_RECORD = re.compile(r":::MLLOG (\{.*\})")
_decode = msgspec.json.Decoder().decode


def _event(line: str, memory: Memory) -> Said | None:
    """Training statistics and evaluations. A step is a number of steps with some vendors, of samples with
    others: `global_batch_size`, which comes before, tells."""
    found = _RECORD.search(line)
    try:
        event = _decode(found[1]) if found else None
    except msgspec.DecodeError:
        return None
    if not isinstance(event, dict) or not isinstance(metadata := event.get("metadata"), dict):
        return None
    key, value = event.get("key"), event.get("value")
    if key == "global_batch_size" and isinstance(value, int | float) and value > 0:
        memory["batch"] = value
    values = _values(key, value)
    step = _step(metadata, memory)
    if "train_loss" in values or "reduced_train_loss" in values:
        memory["train"] = step
    else:  # evaluations and summaries count steps of their own
        step = memory.get("train", step)
    if not values or step is None:
        return None
    time = event.get("time_ms")
    return Said(step, values, time / 1e3 if isinstance(time, int | float) else float("nan"))


def _values(key: Any, value: Any) -> dict[str, float]:
    if key == "tracked_stats" and isinstance(value, dict):
        return {str(name): float(number) for name, number in value.items() if _is_number(number)}
    return {key: float(value)} if key in ("train_loss", "eval_accuracy") and _is_number(value) else {}


def _step(metadata: dict[str, Any], memory: Memory) -> int | None:
    batch: float = memory.get("batch", 0)
    samples, step = metadata.get("samples_count"), metadata.get("step")
    if isinstance(step, int | float):
        are_samples = not _is_number(samples) and batch and step % batch == 0
        return int(step // batch) if are_samples else int(step)
    return int(samples // batch) if batch and isinstance(samples, int | float) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


DIALECT = Dialect(
    name="mlperf",
    tell=re.compile(rb":::MLLOG \{"),
    kinds=(LineKind(mark=re.compile(rb":::MLLOG \{"), read=_event),),
)

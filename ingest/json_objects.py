"""Objects that logs hold as JSON: read leniently, as loggers write them, and as numbers by name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from holter.ingest import step_columns
from holter.ingest.names import storable_label
from holter.ingest.rows import LogRow
from holter.types import labels_of

_DEEPEST = 8
_NONFINITE = {
    "nan": float("nan"),
    "infinity": float("inf"),
    "inf": float("inf"),
    "-infinity": float("-inf"),
    "-inf": float("-inf"),
}
_decode = msgspec.json.Decoder().decode


def read_object(line: bytes) -> dict[str, Any]:
    """The object in a line. Raises ValueError."""
    try:
        try:
            found = _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):  # stricter than loggers: NaN, Infinity
            found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected a JSON object: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"expected a JSON object, found {type(found).__name__}")
    return found


def flatten_object(found: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """An object's fields, those of objects in it by their keys joined with slashes."""
    for key, value in found.items():
        if isinstance(value, dict):
            if depth < _DEEPEST:
                yield from flatten_object(value, f"{prefix}{key}/", depth + 1)
        else:
            yield prefix + key, value


def row_from_fields(fields: dict[str, Any], step_name: str) -> LogRow:
    """The row that an object's fields make; its keys name the step, the clock, the launch and labels.

    Raises ValueError.
    """
    step = step_columns.read_step(fields.pop(step_name))
    time = float("nan")
    clock = step_columns.find_clock(list(fields))
    if clock is not None and fields[clock] is not None:
        moment = step_columns.read_clock(fields[clock], name=clock)
        if moment is not None:
            time = moment
            del fields[clock]
    attempt = fields.pop(step_columns.ATTEMPT_NAME, None)
    labels = {
        name: _label(fields.pop(name)) for name in step_columns.LABEL_NAMES if _is_label(fields.get(name))
    }
    values = {}
    for name, value in fields.items():
        found = json_number(value)
        if found is not None:
            values[name] = found
    return LogRow(step, time, values, labels_of(labels), None if attempt is None else _label(attempt))


def _is_label(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _label(value: object) -> str:
    return storable_label(str(int(value)) if isinstance(value, float) and value.is_integer() else str(value))


def json_number(value: object) -> float | None:
    """The number that a JSON value is, None for everything else."""
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < 2**1023 else float("inf") if value > 0 else float("-inf")
    if isinstance(value, str) and len(value) <= 9:
        return _NONFINITE.get(value.lower())
    return None

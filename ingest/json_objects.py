"""JSON objects in logs, parsed as leniently as loggers write them, and converted to rows of numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from holter.ingest import step_columns
from holter.ingest.metric_names import is_metric_name
from holter.ingest.names import storable_label
from holter.ingest.rows import LogRow
from holter.types import labels_of

_DEEPEST = 8
_MOST_OF_LIST = 32
_NONFINITE = {
    "nan": float("nan"),
    "infinity": float("inf"),
    "inf": float("inf"),
    "-infinity": float("-inf"),
    "-inf": float("-inf"),
}
_DECIMAL = re.compile(
    r"[-+]?(?:(?:[0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,4})(?:\.[0-9]{0,20})?|\.[0-9]{1,20})"
    r"(?:[eE][-+]?[0-9]{1,3})?%?"
)
_decode = msgspec.json.Decoder().decode


def read_object(line: bytes) -> dict[str, Any]:
    """The object in a line. Raises ValueError if there is none."""
    try:
        try:
            value = _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):  # stricter than loggers: NaN, Infinity
            value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected a JSON object: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, found {type(value).__name__}")
    return value


def flatten_object(nested: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """The fields of an object; those of nested objects have their keys joined with slashes.

    Several measured numbers under one name are `name`, `name 2` and so on, as in lines of text. Those of a
    list of names and values (`[{"name": "loss", "value": 0.5}]`, `[["loss", 0.5]]`) have these names.
    """
    for key, value in nested.items():
        if isinstance(value, dict):
            if depth < _DEEPEST:
                yield from flatten_object(value, f"{prefix}{key}/", depth + 1)
        elif isinstance(value, list) and _are_measured(value):
            for number, item in enumerate(value, 1):
                yield f"{prefix}{key} {number}" if number > 1 else prefix + key, item
        elif isinstance(value, list) and (named := _named_values(value)):
            yield from ((f"{prefix}{key}/{name}", item) for name, item in named.items())
        else:
            yield prefix + key, value


def _named_values(values: list[Any]) -> dict[str, Any]:
    """The values of a list of names and numbers in pairs or objects; nothing of other lists."""
    if not 0 < len(values) <= _MOST_OF_LIST or not all(isinstance(item, dict | list) for item in values):
        return {}
    pairs = [
        (item.get("name", item.get("metric")), item.get("value")) if isinstance(item, dict) else item
        for item in values
    ]
    if not all(len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
        return {}
    return {str(name): value for name, value in pairs if json_number(value) is not None}


def _are_measured(values: list[Any]) -> bool:
    """Whether a list has a few numbers, not all of them whole, which may be a shape or identifiers."""
    return (
        0 < len(values) <= _MOST_OF_LIST
        and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        and any(isinstance(value, float) and not value.is_integer() for value in values)
    )


def step_name(fields: Mapping[str, Any]) -> str | None:
    """The name of the step among the fields of an object: the batch where epochs have these."""
    names = [*fields]
    name = step_columns.find_step(names)
    if name is not None and name.lower() in step_columns.AMOUNT_NAMES:  # `{"epochs": 300, "loss": "ce"}`
        name = step_columns.find_step([each for each in fields if json_number(fields[each]) is not None])
    if name is not None and name.lower() in step_columns.EPOCH_NAMES:
        within = step_columns.find_epoch_and_batch(names)
        if within is not None and type(fields[name]) is int and type(fields[within[1]]) is int:
            return within[1]
    return name


def row_from_fields(fields: dict[str, Any], step_name: str) -> LogRow:
    """The row that the fields of an object make: step, wall time, attempt and labels by their keys.

    Raises ValueError if the step or the time is none.
    """
    step = step_columns.read_step(fields.pop(step_name))
    time = float("nan")
    clock = step_columns.find_clock(list(fields))
    if clock is not None and fields[clock] is not None and not _is_time_of_day(fields[clock]):
        wall_time = step_columns.read_clock(fields[clock], name=clock)
        if wall_time is not None:
            time = wall_time
            del fields[clock]
    attempt = fields.pop(step_columns.ATTEMPT_NAME, None)
    labels = {
        name: _label(fields.pop(name)) for name in step_columns.LABEL_NAMES if _is_label(fields.get(name))
    }
    values = {}
    for name, value in fields.items():
        converted = json_number(value)
        if converted is None and isinstance(value, str):
            converted = _number_in_text(name, value)
        if converted is not None:
            values[name] = converted
    return LogRow(step, time, values, labels_of(labels), None if attempt is None else _label(attempt))


def _is_time_of_day(value: object) -> bool:
    return isinstance(value, str) and step_columns.is_time_of_day(value)


def _number_in_text(name: str, text: str) -> float | None:
    """The number of a metric in a string, which some loggers format: `"loss": "3.097"`, `"71.5%"`."""
    # most strings are no numbers: the cheaper question comes first
    if _DECIMAL.fullmatch(text) is None or not is_metric_name(name):
        return None
    return float(text.rstrip("%").replace(",", ""))


def _is_label(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _label(value: object) -> str:
    return storable_label(str(int(value)) if isinstance(value, float) and value.is_integer() else str(value))


def json_number(value: object) -> float | None:
    """A JSON value as a number, None if it is none; the strings NaN and Infinity are numbers."""
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < 2**1023 else float("inf") if value > 0 else float("-inf")
    if isinstance(value, str) and len(value) <= 9:
        return _NONFINITE.get(value.lower())
    return None

"""Validates the metadata of a file before it is written to the database: a file may come from anybody."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import JSON, Column, String, Table

from holter.attempts import Attempts
from holter.server.alerting.incident import EventType, IncidentState
from holter.server.models import (
    Attempt,
    Base,
    ConfigRow,
    DownsamplingRow,
    IncidentEventRow,
    IncidentRow,
    PlannedEventRow,
    RunAttributeRow,
    RunDetailRow,
)
from holter.server.store.keys import storable_text
from holter.tuning import PlannedEvent
from holter.types import Cause, Kind, Severity

DATABASE_COLUMNS = frozenset({"id", "run_id", "incident_id", "project_id"})
"""Columns with ids that are valid in one database only."""

RunMetadata = Mapping[str, Any]
_A_CAUSE = Cause(code="", title="", sentence="", advice="", score=0.5, attempt=0, step=0)
_JSON_ATTRIBUTES = frozenset({"wandb.state", "wandb.config"})
_INTEGER_LIMITS = {"INTEGER": 2**31, "BIGINT": 2**63}


def validate_metadata(metadata: RunMetadata) -> dict[str, Any]:
    """Return a file's metadata with defaults. Raises ValueError naming the field and what was expected."""
    result = dict(metadata)
    for name in ("project", "name"):
        _expect(isinstance(result.get(name), str), f"run.{name}", "text", result.get(name))
    result["finished_at"] = _number("run.finished_at", result.get("finished_at"))
    result["attempt_state"] = _attempt_state(result.get("attempt_state"))
    result["attempts"] = _rows(Attempt, "attempts", result.get("attempts"))
    result["config"] = [_setting(row) for row in _rows(ConfigRow, "config", result.get("config", []))]
    result["expected"] = [
        _planned_event(row) for row in _rows(PlannedEventRow, "expected", result.get("expected", []))
    ]
    downsampling = result.get("thinning")
    result["thinning"] = None if downsampling is None else _row(DownsamplingRow, "thinning", downsampling)
    result["thinned_series"] = [
        _downsampled_series(item) for item in _list("thinned_series", result.get("thinned_series", []))
    ]
    details = result.get("details")  # files of before have neither these nor attributes
    result["details"] = None if details is None else _details(details)
    result["attributes"] = [
        _attribute(row) for row in _rows(RunAttributeRow, "attributes", result.get("attributes", []))
    ]
    result["incidents"] = [_incident(item) for item in _list("incidents", result.get("incidents", []))]
    result["analyzed"], result["partial"] = result.get("analyzed") is True, result.get("partial") is True
    return result


def _expect(condition: bool, path: str, expected: str, value: object) -> None:
    if not condition:
        raise ValueError(f"{path}: expected {expected}, found {str(value)[:60]!r}")


def _list(path: str, value: object) -> Sequence[Any]:
    _expect(isinstance(value, list), path, "a list", value)
    assert isinstance(value, list)
    return value


def _number(path: str, value: object) -> float | None:
    is_number = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    _expect(is_number, path, "a number or null", value)
    return None if value is None else _as_float(path, value)


def _as_float(path: str, value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{path}: expected a number of 64 bits, found a larger one") from None


def _rows(model: type[Base], path: str, value: object) -> list[dict[str, Any]]:
    return [_row(model, f"{path}[{index}]", item) for index, item in enumerate(_list(path, value))]


def _row(model: type[Base], path: str, value: object, *optional: str) -> dict[str, Any]:
    """Validate a row of a table, without ids of the database it comes from."""
    table = model.__table__
    assert isinstance(table, Table)
    _expect(isinstance(value, dict), path, "an object", value)
    assert isinstance(value, dict)
    columns = {column.name: column for column in table.columns if column.name not in DATABASE_COLUMNS}
    if unknown := value.keys() - columns.keys() - set(optional):
        raise ValueError(f"{path}: {', '.join(sorted(unknown))} is unknown: update Holter first")
    row = {name: value[name] for name in columns if name in value}
    for name, column in columns.items():
        if name in row:
            row[name] = _cell(f"{path}.{name}", column, row[name])
        elif not column.nullable and column.default is None:
            raise ValueError(f"{path}.{name}: missing")
    return row


def _json_type(column: Column[Any]) -> type:
    return list if column.name in ("causes", "tags") else dict


def _cell(path: str, column: Column[Any], value: Any) -> Any:
    if value is None:
        _expect(bool(column.nullable), path, "a value", value)
        return None
    value_type = _json_type(column) if isinstance(column.type, JSON) else column.type.python_type
    if value_type is float and isinstance(value, int) and not isinstance(value, bool):
        value = _as_float(path, value)
    _expect(type(value) is value_type, path, f"a {value_type.__name__}", value)
    if value_type is int:
        limit = _INTEGER_LIMITS.get(str(column.type), 2**31)
        _expect(-limit <= value < limit, path, f"a number of {limit.bit_length()} bits", value)
    elif value_type is str:
        max_length = column.type.length if isinstance(column.type, String) else None
        _expect(
            max_length is None or len(value) <= max_length, path, f"at most {max_length} characters", value
        )
        _expect(storable_text(value) == value, path, "text", value)
    return value


def _attempt_state(value: object) -> Any:
    try:
        Attempts.from_json(value)  # type: ignore[arg-type]
    except Exception as error:
        raise ValueError(f"run.attempt_state is unreadable ({type(error).__name__}: {error})") from error
    return value


def _setting(row: dict[str, Any]) -> dict[str, Any]:
    try:
        labels = json.loads(row.get("labels", "[]"))
        json.loads(row["value"])
        is_valid = all(isinstance(text, str) for name, value in labels for text in (name, value))
    except (ValueError, TypeError):
        is_valid = False
    _expect(is_valid, f"config {row['name']!r}", "labels and value as JSON", row)
    return row


def _details(value: object) -> dict[str, Any]:
    row = _row(RunDetailRow, "details", value)
    for tag in row.get("tags", []):
        _expect(isinstance(tag, str) and storable_text(tag) == tag, "details.tags", "a list of texts", tag)
    return row


def _attribute(row: dict[str, Any]) -> dict[str, Any]:
    """A named text; those that the server itself reads are JSON objects."""
    if row["name"] in _JSON_ATTRIBUTES:
        try:
            is_object = isinstance(json.loads(row["value"]), dict)
        except (ValueError, RecursionError):
            is_object = False
        _expect(is_object, f"attributes {row['name']!r}", "a JSON object", row["value"])
    return row


def _planned_event(row: dict[str, Any]) -> dict[str, Any]:
    try:
        PlannedEvent(**row["said"])
    except TypeError as error:
        raise ValueError(f"expected: {error}") from error
    return row


def _downsampled_series(value: Any) -> dict[str, Any]:
    is_valid = isinstance(value, dict) and value.keys() == {"metric", "labels", "gone"}
    _expect(is_valid and type(value["gone"]) is int, "thinned_series", "metric, labels and gone", value)
    return dict(value)


def _is_cause(value: Any) -> bool:
    """Whether a cause has all fields, with values of their types."""
    try:
        read = Cause.from_json(value).as_json()
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    types = {name: type(each) for name, each in _A_CAUSE.as_json().items() if each is not None}
    return read == value and all(type(value[name]) is expected for name, expected in types.items())


def _incident(value: Any) -> dict[str, Any]:
    row = _row(IncidentRow, "incidents", value, "events")
    for name, values in (("kind", Kind), ("severity", Severity), ("state", IncidentState)):
        _expect(row[name] in set(values), f"incidents.{name}", f"one of {', '.join(values)}", row[name])
    for cause in row.get("causes") or ():
        _expect(_is_cause(cause), "incidents.causes", "causes as docs/findings.md describes them", cause)
    row["events"] = _rows(IncidentEventRow, "incidents.events", value.get("events", []))
    for event in row["events"]:
        _expect(
            event["type"] in set(EventType),
            "incidents.events.type",
            f"one of {', '.join(EventType)}",
            event["type"],
        )
    return row

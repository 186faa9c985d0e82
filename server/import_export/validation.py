"""Checks what a file says of its run before the database is told: a file may come from anybody."""

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
)
from holter.server.store.keys import storable_text
from holter.tuning import PlannedEvent
from holter.types import Kind, Severity

NOT_OURS = frozenset({"id", "run_id", "incident_id", "project_id"})
"""Columns whose numbers mean something in one database only."""

Head = Mapping[str, Any]
_LARGEST = {"INTEGER": 2**31, "BIGINT": 2**63}


def checked(about: Head) -> dict[str, Any]:
    """What a file says of its run, complete. Raises ValueError naming the field and what was expected."""
    said = dict(about)
    for name in ("project", "name"):
        _expect(isinstance(said.get(name), str), f"run.{name}", "text", said.get(name))
    said["finished_at"] = _number("run.finished_at", said.get("finished_at"))
    said["attempt_state"] = _attempt_state(said.get("attempt_state"))
    said["attempts"] = _rows(Attempt, "attempts", said.get("attempts"))
    said["config"] = [_setting(row) for row in _rows(ConfigRow, "config", said.get("config", []))]
    said["expected"] = [_planned(row) for row in _rows(PlannedEventRow, "expected", said.get("expected", []))]
    thinning = said.get("thinning")
    said["thinning"] = None if thinning is None else _row(DownsamplingRow, "thinning", thinning)
    said["thinned_series"] = [
        _thinned(one) for one in _list("thinned_series", said.get("thinned_series", []))
    ]
    said["incidents"] = [_incident(one) for one in _list("incidents", said.get("incidents", []))]
    said["analyzed"], said["partial"] = said.get("analyzed") is True, said.get("partial") is True
    return said


def _expect(right: bool, place: str, expected: str, found: object) -> None:
    if not right:
        raise ValueError(f"{place}: expected {expected}, found {str(found)[:60]!r}")


def _list(place: str, found: object) -> Sequence[Any]:
    _expect(isinstance(found, list), place, "a list", found)
    assert isinstance(found, list)
    return found


def _number(place: str, found: object) -> float | None:
    right = found is None or (isinstance(found, int | float) and not isinstance(found, bool))
    _expect(right, place, "a number or null", found)
    return None if found is None else float(found)  # type: ignore[arg-type]


def _rows(model: type[Base], place: str, found: object) -> list[dict[str, Any]]:
    return [_row(model, f"{place}[{number}]", one) for number, one in enumerate(_list(place, found))]


def _row(model: type[Base], place: str, found: object, *more: str) -> dict[str, Any]:
    """A row of a table, without the numbers of the database that it comes from."""
    table = model.__table__
    assert isinstance(table, Table)
    _expect(isinstance(found, dict), place, "an object", found)
    assert isinstance(found, dict)
    columns = {one.name: one for one in table.columns if one.name not in NOT_OURS}
    if unknown := found.keys() - columns.keys() - set(more):
        raise ValueError(f"{place}: {', '.join(sorted(unknown))} is not known here: update Holter first")
    row = {name: found[name] for name in columns if name in found}
    for name, column in columns.items():
        if name in row:
            row[name] = _cell(f"{place}.{name}", column, row[name])
        elif not column.nullable and column.default is None:
            raise ValueError(f"{place}.{name}: expected, and not there")
    return row


def _cell(place: str, column: Column[Any], found: Any) -> Any:
    if found is None:
        _expect(bool(column.nullable), place, "a value", found)
        return None
    kind = dict if isinstance(column.type, JSON) else column.type.python_type
    if kind is float and isinstance(found, int) and not isinstance(found, bool):
        found = float(found)
    _expect(type(found) is kind, place, f"a {kind.__name__}", found)
    if kind is int:
        largest = _LARGEST.get(str(column.type), 2**31)
        _expect(-largest <= found < largest, place, f"a number of {largest.bit_length()} bits", found)
    elif kind is str:
        longest = column.type.length if isinstance(column.type, String) else None
        _expect(longest is None or len(found) <= longest, place, f"at most {longest} characters", found)
        _expect(storable_text(found) == found, place, "text", found)
    return found


def _attempt_state(found: object) -> Any:
    try:
        Attempts.from_json(found)  # type: ignore[arg-type]
    except Exception as error:
        raise ValueError(f"run.attempt_state cannot be read ({type(error).__name__}: {error})") from error
    return found


def _setting(row: dict[str, Any]) -> dict[str, Any]:
    try:
        labels = json.loads(row.get("labels", "[]"))
        json.loads(row["value"])
        right = all(isinstance(text, str) for name, value in labels for text in (name, value))
    except (ValueError, TypeError):
        right = False
    _expect(right, f"config {row['name']!r}", "labels and value as JSON", row)
    return row


def _planned(row: dict[str, Any]) -> dict[str, Any]:
    try:
        PlannedEvent(**row["said"])
    except TypeError as error:
        raise ValueError(f"expected: {error}") from error
    return row


def _thinned(found: Any) -> dict[str, Any]:
    right = isinstance(found, dict) and found.keys() == {"metric", "labels", "gone"}
    _expect(
        right and type(found["gone"]) is int, "thinned_series", "metric, labels, and how many are gone", found
    )
    return dict(found)


def _incident(found: Any) -> dict[str, Any]:
    row = _row(IncidentRow, "incidents", found, "events")
    for name, words in (("kind", Kind), ("severity", Severity), ("state", IncidentState)):
        _expect(row[name] in set(words), f"incidents.{name}", f"one of {', '.join(words)}", row[name])
    row["events"] = _rows(IncidentEventRow, "incidents.events", found.get("events", []))
    for event in row["events"]:
        _expect(
            event["type"] in set(EventType), "incidents.events.type", f"one of {', '.join(EventType)}", event["type"]
        )
    return row

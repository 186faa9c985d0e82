"""Lines of a run's history and system metrics, as the client sends them, converted to rows of logs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any, NamedTuple

import msgspec

from holter.ingest.rows import LogRow
from holter.ingest.step_columns import LARGEST_STEP
from holter.ingest.wandb.step_metrics import COUNTER, TrainingStep
from holter.server.ingest_http.validate import MAX_LONG_NAME_LENGTH, MAX_TIME
from holter.server.store.keys import storable_text

OWN_FIELDS = frozenset({"_step", "_timestamp", "_runtime", "_wandb"})
_MAX_DEPTH = 20


class HistoryRow(NamedTuple):
    """One line: the client's counter, Unix seconds (NaN: none), seconds since the start, the numbers."""

    step: int
    time: float
    runtime: float
    values: dict[str, float]


@dataclass(slots=True)
class HistoryLines:
    """Rows of some lines; names and kinds of media among them; what could not be read, by line."""

    rows: list[HistoryRow] = field(default_factory=list)
    media: dict[str, str] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)


def parse_lines(lines: Sequence[object], offset: int) -> HistoryLines:
    """Parse lines, the first of which has the number `offset`. Each is a JSON object that may have NaN."""
    parsed = HistoryLines()
    for number, line in enumerate(lines, offset):
        record = decode_object(line)
        if record is None:
            parsed.problems.append((number, "expected a JSON object"))
            continue
        step = record.get("_step", number)
        if not isinstance(step, int) or isinstance(step, bool) or abs(step) > LARGEST_STEP:
            parsed.problems.append((number, f"expected a whole number as _step, found {str(step)[:40]!r}"))
            continue
        values: dict[str, float] = {}
        for name, value in _numbers("", record, parsed.media, 0):
            if 0 < len(name) <= MAX_LONG_NAME_LENGTH:
                values[name] = value
            else:
                parsed.problems.append((number, f"expected names of 1 to {MAX_LONG_NAME_LENGTH} characters"))
        for name in OWN_FIELDS:
            values.pop(name, None)
        runtime = _number(record.get("_runtime"))
        row = HistoryRow(step, _time(record), nan if runtime is None else runtime, values)
        parsed.rows.append(row)
    return parsed


def history_rows(rows: Iterable[HistoryRow], training_step: TrainingStep, attempt: str) -> Iterator[LogRow]:
    """The rows of one attempt by training step; the client's counter is a metric where the two differ."""
    for row in rows:
        step = training_step.of(row.step, row.values)
        if row.values:
            values = row.values if step == row.step else row.values | {COUNTER: float(row.step)}
            yield LogRow(step, row.time, values, attempt=attempt)


def decode_object(line: object) -> dict[str, Any] | None:
    """A JSON object in a line, None for anything else. NaN and Infinity are allowed, unlike in JSON."""
    if not isinstance(line, str):
        return None
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _numbers(
    prefix: str, record: Mapping[str, Any], media: dict[str, str], depth: int
) -> Iterator[tuple[str, float]]:
    for key, value in record.items():
        if isinstance(value, dict):
            kind = value.get("_type")
            if isinstance(kind, str):
                media[storable_text(prefix + key)[:100]] = storable_text(kind)[:40]
            elif depth < _MAX_DEPTH:
                yield from _numbers(f"{prefix}{key}/", value, media, depth + 1)
        elif (number := _number(value)) is not None:
            yield storable_text(prefix + key), number


def _number(value: object) -> float | None:
    """The number, None for texts, lists and truth values."""
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return None
    return None


def _time(record: Mapping[str, Any]) -> float:
    time = _number(record.get("_timestamp"))
    return nan if time is None or isnan(time) or not 0 <= time < MAX_TIME else time

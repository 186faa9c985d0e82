"""LLaMA-Factory's `trainer_log.jsonl`: an object per log call, with the step in `current_steps`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, ClassVar

from holter.ingest.format import FormatRole
from holter.ingest.json_objects import flatten_object, json_number, read_object
from holter.ingest.jsonl import JsonLinesReader
from holter.ingest.rows import LogRow
from holter.ingest.step_columns import read_step

_STEP, _LAST = "current_steps", "total_steps"
_DURATION = re.compile(r"(?:(\d+) days?, )?(\d+):(\d\d):(\d\d)")
_TIMES = {"elapsed_time": "elapsed_time (s)", "remaining_time": "remaining_time (s)"}


class LlamaFactoryLog:
    """Numbers by their names; elapsed times in seconds. A restart continues in the same file."""

    name: ClassVar[str] = "llama-factory"
    role: ClassVar[FormatRole] = FormatRole()

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A first line that is an object with the current and the last step."""
        line, end, _ = head.partition(b"\n")
        if (
            not end
            or not line.startswith(b"{")
            or path.suffix.lower() not in {".jsonl", ".json", ".log", ".txt"}
        ):
            return False
        try:
            return {_STEP, _LAST} <= read_object(line).keys()
        except ValueError:
            return False

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> JsonLinesReader:
        """A reader that resumes from `state`."""
        return JsonLinesReader({} if "rewritten" in state else state, row_of)


def row_of(logged: Mapping[str, Any]) -> LogRow | None:
    """The row of an object; None if it has no step. Raises ValueError for an invalid step."""
    if _STEP not in logged:
        return None
    values = {}
    for name, value in flatten_object(logged):
        number_value = _duration(value) if name in _TIMES else _number(value)
        if number_value is not None and name not in (_STEP, _LAST):
            values[_TIMES.get(name, name)] = number_value
    return LogRow(read_step(logged[_STEP]), float("nan"), values)


def _number(value: object) -> float | None:
    """A number; old versions write the throughput in quotes."""
    try:
        return float(value) if isinstance(value, str) and len(value) < 40 else json_number(value)
    except ValueError:
        return None


def _duration(value: object) -> float | None:
    """`4 days, 5:06:09` in seconds."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) and len(value) < 40 else None
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)

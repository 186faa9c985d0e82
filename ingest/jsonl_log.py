"""JSON Lines: an object per line with a step; every number in it is a metric, nested keys joined by "/"."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

import msgspec

from holter.ingest import axes
from holter.ingest.lines import Lines
from holter.ingest.names import as_label
from holter.ingest.problems import Problems
from holter.ingest.rows import Row, batch_of
from holter.types import Batch, Unreadable, labels_of

_DEEPEST = 8
_NONFINITE = {
    "nan": float("nan"),
    "infinity": float("inf"),
    "inf": float("inf"),
    "-infinity": float("-inf"),
    "-inf": float("-inf"),
}
_decode = msgspec.json.Decoder().decode


class JsonLines:
    """`{"step": 7, "loss": 2.31, "train": {"lr": 3e-4}}`; the strings "NaN" and "Infinity" are numbers.

    Keys `attempt`, `rank`, `host`, `node` and `dataset` name the launch and label the series.
    """

    name: ClassVar[str] = "jsonl"

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A name that ends in .jsonl or .ndjson, or a first line that is an object with a step."""
        suffix = path.suffix.lower()
        named = suffix in {".jsonl", ".ndjson"}
        if not (named or (suffix in {".json", ".log", ".txt", ""} and head.startswith(b"{"))):
            return False
        line, end, _ = head.partition(b"\n")
        try:
            names = [name for name, _ in _flat(_object(line))] if end else []
        except ValueError:
            names = []
        if named:
            return head.lstrip()[:1] in {b"{", b""} and not axes.is_long(names)
        return axes.find_step(names) is not None and not axes.is_long(names)

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> JsonLinesReader:
        """A reader that goes on from `state`."""
        return JsonLinesReader(state)


class JsonLinesReader:
    """Reads one file of JSON Lines as it grows."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._lines = Lines(state, expected="an object")
        self._stepless: bool = state.get("stepless", False)
        self._problems = Problems(state)

    def state(self) -> Mapping[str, Any]:
        """The line number, and what has been told."""
        return {
            **self._lines.state(),
            **({"stepless": True} if self._stepless else {}),
            **self._problems.state(),
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the objects of every complete line; see `Reader`."""
        yield from self._problems.tell()
        while (block := self._lines.next(stream, self._problems)) is not None:
            rows: list[Row] = []
            before = self._lines.number
            for at, line in enumerate(block.lines):
                row = self._row(line, before + at + 1)
                if row is None:
                    continue
                if rows and row.attempt != rows[-1].attempt:
                    self._lines.number = before + at
                    stream.seek(block.offsets[at])
                    yield batch_of(rows)
                    rows = []
                rows.append(row)
            self._lines.number = before + len(block.lines)
            stream.seek(block.offsets[-1])
            if rows:
                yield batch_of(rows)
            yield from self._problems.tell()

    def _row(self, line: bytes, number: int) -> Row | None:
        if not line or line.isspace():
            return None
        try:
            flat = dict(_flat(_object(line)))
            name = axes.find_step(list(flat))
            if name is None:
                if not self._stepless:
                    self._problems.add(
                        f"line {number}", "expected a key named step; more such lines are not told"
                    )
                self._stepless = True
                return None
            return _row(flat, name)
        except ValueError as error:
            self._problems.add(f"line {number}", str(error))
            return None


def _object(line: bytes) -> dict[str, Any]:
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


def _flat(found: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    for key, value in found.items():
        if isinstance(value, dict):
            if depth < _DEEPEST:
                yield from _flat(value, f"{prefix}{key}/", depth + 1)
        else:
            yield prefix + key, value


def _row(flat: dict[str, Any], step_name: str) -> Row:
    step = axes.read_step(flat.pop(step_name))
    time = float("nan")
    clock = axes.find_clock(list(flat))
    if clock is not None and flat[clock] is not None:
        found = axes.read_clock(flat[clock], name=clock)
        if found is not None:
            time = found
            del flat[clock]
    attempt = flat.pop(axes.ATTEMPT_NAME, None)
    labels = {name: _label(flat.pop(name)) for name in axes.LABEL_NAMES if _is_label(flat.get(name))}
    values = {}
    for name, value in flat.items():
        number = _number(value)
        if number is not None:
            values[name] = number
    return Row(step, time, values, labels_of(labels), None if attempt is None else _label(attempt))


def _is_label(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _label(value: object) -> str:
    return as_label(str(int(value)) if isinstance(value, float) and value.is_integer() else str(value))


def _number(value: object) -> float | None:
    """The number that a JSON value is, None for everything else."""
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < 2**1023 else float("inf") if value > 0 else float("-inf")
    if isinstance(value, str) and len(value) <= 9:
        return _NONFINITE.get(value.lower())
    return None

"""Rows in memory become the JSON bodies of POST /api/v1/ingest."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

MAX_VALUES = 20_000  # in one body: about 400 KB before compression
RESERVED = ("step", "time")  # names of columns that are no metrics


class Row(NamedTuple):
    """What one call of `log` said: `values[i]` is that of `names[i]`."""

    names: tuple[str, ...]
    step: int
    time: float
    values: array[float]


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """What all bodies of one process have in common."""

    project: str
    run: str
    writer: str
    nonce: str
    attempt: str | None
    labels: Mapping[str, str]
    config: Mapping[str, Any]

    def wrap(self, number: int, content: str) -> bytes:
        """The body with this number, as one line. Number 0 brings the configuration along."""
        head: dict[str, Any] = {"project": self.project, "run": self.run, "writer": self.writer}
        head["batch_id"] = f"{self.nonce}-{number}"
        if self.attempt is not None:
            head["attempt"] = self.attempt
        if self.labels:
            head["labels"] = dict(self.labels)
        if self.config and number == 0:
            head["config"] = dict(self.config)
        return f"{json.dumps(head)[:-1]}, {content}}}\n".encode()


def contents(rows: Iterable[Row]) -> Iterator[tuple[str, int]]:
    """The rows as pieces of JSON, each `"columns": ...` or `"points": ...`, with the points in it."""
    piece: list[Row] = []
    size = 0
    for row in rows:
        if piece and size + len(row.values) > MAX_VALUES:
            yield content(piece), size
            piece, size = [], 0
        piece.append(row)
        size += len(row.values)
    if piece:
        yield content(piece), size


def content(rows: Sequence[Row]) -> str:
    """Columns, or points where columns would be mostly empty (metrics logged one by one)."""
    names = list(dict.fromkeys(name for row in rows for name in row.names))
    filled = sum(len(row.names) for row in rows)
    if any(name in RESERVED for name in names) or 2 * filled < len(names) * len(rows):
        return f'"points": [{", ".join(point(row) for row in rows)}]'
    columns = {"step": json.dumps([row.step for row in rows]), "time": json.dumps([row.time for row in rows])}
    if all(row.names == rows[0].names for row in rows):
        values = array("d", b"".join(row.values.tobytes() for row in rows))
        columns |= {name: numbers(values[i :: len(names)].tolist()) for i, name in enumerate(names)}
    else:
        cells = [dict(zip(row.names, row.values, strict=True)) for row in rows]
        columns |= {name: numbers([cell.get(name) for cell in cells]) for name in names}
    return f'"columns": {{{", ".join(f"{json.dumps(name)}: {column}" for name, column in columns.items())}}}'


def point(row: Row) -> str:
    values = ", ".join(
        f"{json.dumps(name)}: {number(value)}" for name, value in zip(row.names, row.values, strict=True)
    )
    return f'{{"step": {row.step}, "time": {row.time!r}, "values": {{{values}}}}}'


def numbers(column: Sequence[float | None]) -> str:
    """A column as JSON. One column at a time, so that the interpreter is never held for long."""
    try:
        return json.dumps(column, allow_nan=False)
    except ValueError:
        return f"[{', '.join(map(number, column))}]"


def number(value: float | None) -> str:
    """A value as JSON, which has no word for NaN and the infinities: they go as strings."""
    if value is None:
        return "null"
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return repr(value)

"""Rows in memory become the bodies of POST /api/v1/ingest, in the binary form (docs/rest.md)."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from holter.client.msgpack import encode

MAX_VALUES = 100_000  # in one body: 800 KB before compression
Fields = dict[str, Any]


class Row(NamedTuple):
    """What one call of `log` said: `values` holds a double for each name, as this machine keeps them.

    Bytes, for the collector of garbage does not look at them, and they are made three times as fast.
    """

    names: tuple[str, ...]
    step: int
    time: float
    values: bytes


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

    def wrap(self, number: int, fields: Fields, *, finished: bool = False) -> bytes:
        """The body with this number. Number 0 brings the configuration along."""
        head: Fields = {"project": self.project, "run": self.run, "writer": self.writer}
        head["batch_id"] = f"{self.nonce}-{number}"
        if self.attempt is not None:
            head["attempt"] = self.attempt
        if self.labels:
            head["labels"] = self.labels
        if self.config and number == 0:
            head["config"] = self.config
        if finished:
            head["finished"] = True
        return encode(head | fields)


def contents(rows: Iterable[Row]) -> Iterator[tuple[Fields, int]]:
    """The rows in pieces, each as fields of a body with the points in it."""
    piece: list[Row] = []
    size = 0
    for row in rows:
        if piece and size + len(row.names) > MAX_VALUES:
            yield content(piece), size
            piece, size = [], 0
        piece.append(row)
        size += len(row.names)
    if piece:
        yield content(piece), size


def content(rows: Sequence[Row]) -> Fields:
    """A table where every row has the same names, else each metric with the rows that have it."""
    fields: Fields = {
        "steps": little(array("q", [row.step for row in rows])),
        "times": little(array("d", [row.time for row in rows])),
    }
    names = rows[0].names
    if all(row.names is names or row.names == names for row in rows):
        return fields | {"metrics": names, "values": joined(rows)}
    return fields | {"columns": columns(rows)}


def columns(rows: Sequence[Row]) -> list[Fields]:
    """Each metric's values, and the rows they stand at."""
    found: dict[str, tuple[array[int], array[float]]] = {}
    for number, row in enumerate(rows):
        for name, value in zip(row.names, array("d", row.values), strict=True):
            at, values = found.setdefault(name, (array("q"), array("d")))
            at.append(number)
            values.append(value)
    return [
        {"metric": name, "values": little(values)} | ({"rows": little(at)} if len(at) < len(rows) else {})
        for name, (at, values) in found.items()
    ]


def joined(rows: Sequence[Row]) -> bytes:
    """The values of all rows, one row after the other."""
    values = b"".join([row.values for row in rows])
    return values if sys.byteorder == "little" else little(array("d", values))


def little(numbers: array[Any]) -> bytes:
    """The numbers as little-endian bytes."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()

"""Rows in memory become the bodies of POST /api/v1/ingest, in the binary form (docs/rest.md)."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from holter.client.msgpack import Encoded, encode

MAX_VALUES = 100_000  # in one body: 800 KB before compression
Fields = dict[str, Any]


Row = tuple[tuple[str, ...], int, float, bytes]
"""What one call of `log` said: names, step, wall time, and a double for each name as this machine has them.

A bare tuple and bytes: made several times as fast as anything with names, and nothing for the collector
of garbage to look at.
"""


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
        if piece and size + len(row[0]) > MAX_VALUES:
            yield content(piece), size
            piece, size = [], 0
        piece.append(row)
        size += len(row[0])
    if piece:
        yield content(piece), size


def content(rows: Sequence[Row]) -> Fields:
    """A table where every row has the same names, else each metric with the rows that have it."""
    fields: Fields = {
        "steps": little(array("q", [step for _, step, _, _ in rows])),
        "times": little(array("d", [time for _, _, time, _ in rows])),
    }
    names = rows[0][0]
    if all(held is names or held == names for held, _, _, _ in rows):
        return fields | {"metrics": encoded(names), "values": joined(rows)}
    return fields | {"columns": columns(rows)}


@lru_cache(maxsize=32)
def encoded(names: tuple[str, ...]) -> Encoded:
    """Names as a body has them: to encode ten thousand takes longer than all of their values."""
    return Encoded(encode(names))


def columns(rows: Sequence[Row]) -> list[Fields]:
    """Each metric's values, and the rows they stand at."""
    found: dict[str, tuple[array[int], array[float]]] = {}
    for number, (names, _, _, packed) in enumerate(rows):
        for name, value in zip(names, array("d", packed), strict=True):
            at, values = found.setdefault(name, (array("q"), array("d")))
            at.append(number)
            values.append(value)
    return [
        {"metric": name, "values": little(values)} | ({"rows": little(at)} if len(at) < len(rows) else {})
        for name, (at, values) in found.items()
    ]


def joined(rows: Sequence[Row]) -> bytes:
    """The values of all rows, one row after the other."""
    values = b"".join([values for _, _, _, values in rows])
    return values if sys.byteorder == "little" else little(array("d", values))


def little(numbers: array[Any]) -> bytes:
    """The numbers as little-endian bytes."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()

"""Rows in memory become the bodies of POST /api/v1/ingest, in the binary form (docs/rest.md)."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

from holter.client.msgpack import Encoded, encode

MAX_VALUES = 100_000  # in one body: 800 KB before compression
Fields = dict[str, Any]
NAMES = itemgetter(0)


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


def contents(rows: Sequence[Row]) -> Iterator[tuple[Fields, int]]:
    """The rows in pieces, each as fields of a body with the points in it."""
    for piece, size in pieces(rows):
        yield content(piece), size


def pieces(rows: Sequence[Row]) -> Iterator[tuple[Sequence[Row], int]]:
    """The rows, as many at a time as a body holds, with the points in them."""
    if 0 < (size := sum(map(len, map(NAMES, rows)))) <= MAX_VALUES:  # as most are
        yield rows, size
        return
    piece: list[Row] = []
    size = 0
    for row in rows:
        if piece and size + len(row[0]) > MAX_VALUES:
            yield piece, size
            piece, size = [], 0
        piece.append(row)
        size += len(row[0])
    if piece:
        yield piece, size


def content(rows: Sequence[Row]) -> Fields:
    """A table where every row has the same names, else each metric with the rows that have it."""
    each, steps, times, values = zip(
        *rows, strict=True
    )  # a loop over the rows would take three times as long
    fields: Fields = {"steps": little(array("q", steps)), "times": little(array("d", times))}
    names = each[0]
    if each.count(names) == len(rows):
        return fields | {"metrics": encoded(names), "values": joined(values)}
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


def joined(rows: Iterable[bytes]) -> bytes:
    """The values of all rows, one row after the other."""
    values = b"".join(rows)
    return values if sys.byteorder == "little" else little(array("d", values))


def little(numbers: array[Any]) -> bytes:
    """The numbers as little-endian bytes."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()

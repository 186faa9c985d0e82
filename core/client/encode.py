"""Encodes logged rows as request bodies of POST /api/v1/ingest in the binary form (docs/rest.md)."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import Any

from holter.client.msgpack import Encoded, encode

MAX_VALUES = 100_000  # in one body: 800 KB before compression
Fields = dict[str, Any]
row_names = itemgetter(0)


Row = tuple[tuple[str, ...], int, float, bytes]
"""One call of `log`: metric names, step, wall time, and one double per name in native byte order.

A plain tuple with bytes is created several times as fast as a named type and is not tracked by the
garbage collector.
"""


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """Fields that all bodies of one process share."""

    project: str
    run: str
    writer: str
    nonce: str
    attempt: str | None
    labels: Mapping[str, str]
    config: Mapping[str, Any]
    setting_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of settings that this process states beside the configuration, empty for those of the job."""

    def wrap(self, number: int, fields: Fields, *, finished: bool = False) -> bytes:
        """Return the body with this number; number 0 includes the configuration."""
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


def split_into_bodies(rows: Sequence[Row]) -> Iterator[tuple[Fields, int]]:
    """Yield the fields of each body for these rows, with its number of points."""
    for piece, size in split_rows(rows):
        yield body_fields(piece), size


def split_rows(rows: Sequence[Row]) -> Iterator[tuple[Sequence[Row], int]]:
    """Yield as many rows at a time as one body may hold, with their number of points."""
    if 0 < (size := sum(map(len, map(row_names, rows)))) <= MAX_VALUES:  # the common case
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


def body_fields(rows: Sequence[Row]) -> Fields:
    """Return a table if every row has the same names, else each metric with the rows that have it."""
    each, steps, times, values = zip(
        *rows, strict=True
    )  # a loop over the rows would take three times as long
    fields: Fields = {"steps": little_endian(array("q", steps)), "times": little_endian(array("d", times))}
    names = each[0]
    if each.count(names) == len(rows):
        return fields | {"metrics": encode_names(names), "values": join_values(values)}
    return fields | {"columns": column_fields(rows)}


@lru_cache(maxsize=32)
def encode_names(names: tuple[str, ...]) -> Encoded:
    """Encode metric names; cached, since encoding many names takes longer than encoding their values."""
    return Encoded(encode(names))


def column_fields(rows: Sequence[Row]) -> list[Fields]:
    """Return each metric's values and the row numbers they belong to."""
    by_name: dict[str, tuple[array[int], array[float]]] = {}
    for number, (names, _, _, packed) in enumerate(rows):
        for name, value in zip(names, array("d", packed), strict=True):
            at, values = by_name.setdefault(name, (array("q"), array("d")))
            at.append(number)
            values.append(value)
    return [
        {"metric": name, "values": little_endian(values)}
        | ({"rows": little_endian(at)} if len(at) < len(rows) else {})
        for name, (at, values) in by_name.items()
    ]


def join_values(rows: Iterable[bytes]) -> bytes:
    """Concatenate the values of all rows."""
    values = b"".join(rows)
    return values if sys.byteorder == "little" else little_endian(array("d", values))


def little_endian(numbers: array[Any]) -> bytes:
    """Return the numbers as little-endian bytes."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()

"""Points as text: CSV, JSON lines, and one JSON document."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from holter.server.exchange.pieces import Piece
from holter.strict_json import number, time_or_none

FIELDS = ("metric", "labels", "attempt", "step", "time", "value", "superseded")
Point = tuple[int, int, float | None, float | str | None, bool]


def csv_bytes(_: Mapping[str, Any], portions: Iterable[list[Piece]]) -> Iterator[bytes]:
    """A header, and a line a point: labels as a JSON object, empty without any."""
    yield (",".join(FIELDS) + "\n").encode()
    for portion in portions:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for piece in portion:
            key = piece.series.key
            labels = json.dumps(dict(key.labels), ensure_ascii=False) if key.labels else ""
            writer.writerows(
                (key.metric, labels, attempt, step, time, value, int(gone))
                for attempt, step, time, value, gone in _points(piece)
            )
        yield text.getvalue().encode()


def jsonl_bytes(_: Mapping[str, Any], portions: Iterable[list[Piece]]) -> Iterator[bytes]:
    """An object a line, a line a point; values that are no numbers as strings."""
    encode = msgspec.json.Encoder().encode_lines
    for portion in portions:
        for piece in portion:
            names = (piece.series.key.metric, dict(piece.series.key.labels))
            yield encode([dict(zip(FIELDS, names + point, strict=True)) for point in _points(piece)])


def json_bytes(head: Mapping[str, Any], portions: Iterable[list[Piece]]) -> Iterator[bytes]:
    """One document: the head, then `series`, a piece of one series a line, its points as columns."""
    yield json.dumps(head, ensure_ascii=False)[:-1].encode() + b', "series": [\n'
    comma = b""
    for portion in portions:
        for piece in portion:
            columns = zip(*_points(piece), strict=True)
            key = piece.series.key
            said = {"metric": key.metric, "labels": dict(key.labels)}
            yield comma + msgspec.json.encode(said | dict(zip(FIELDS[2:], columns, strict=True)))
            comma = b",\n"
    yield b"\n]}\n"


def _points(piece: Piece) -> Iterator[Point]:
    series = piece.series
    columns = (series.attempt, series.step, series.time, series.value, piece.superseded)
    for attempt, step, time, value, gone in zip(*(column.tolist() for column in columns), strict=True):
        yield attempt, step, time_or_none(time), number(value), gone

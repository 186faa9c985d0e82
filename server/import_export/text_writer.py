"""Points as text: CSV, JSON lines, and one JSON document."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from holter.json_values import number
from holter.server.import_export.long_table import Piece
from holter.types import SeriesKey

FIELDS = ("metric", "labels", "attempt", "step", "time", "value", "superseded")
_POINT = FIELDS[2:]


def csv_bytes(_: Mapping[str, Any], portions: Iterable[list[Piece]]) -> Iterator[bytes]:
    """A header, and a line a point: labels as a JSON object, empty without any."""
    yield (",".join(FIELDS) + "\n").encode()
    for portion in portions:
        for piece in portion:
            columns = _columns(piece)
            columns["superseded"] = piece.superseded.astype(np.int8).tolist()
            begin, words = _csv_names(piece.series.key), [_words(columns[name]) for name in _POINT]
            words[2] = [b"" if one == b"null" else one for one in words[2]]
            words[3] = [one.strip(b'"') for one in words[3]]
            yield b"".join([b"%b,%b,%b,%b,%b,%b\n" % (begin, *one) for one in zip(*words, strict=True)])


def _csv_names(key: SeriesKey) -> bytes:
    text = io.StringIO()
    labels = json.dumps(dict(key.labels), ensure_ascii=False) if key.labels else ""
    csv.writer(text, lineterminator="").writerow((key.metric, labels))
    return text.getvalue().encode()


def jsonl_bytes(_: Mapping[str, Any], portions: Iterable[list[Piece]]) -> Iterator[bytes]:
    """An object a line, a line a point; values that are no numbers as strings."""
    for portion in portions:
        for piece in portion:
            columns = _columns(piece)
            names = msgspec.json.encode({name: columns[name] for name in FIELDS[:2]})[:-1]
            # formatted by hand: a dictionary for each point would cost three times as much
            line = b"%b" + b"".join(b',"%b":%%b' % name.encode() for name in _POINT) + b"}\n"
            words = (_words(columns[name]) for name in _POINT)
            yield b"".join([line % (names, *one) for one in zip(*words, strict=True)])


def _words(column: Sequence[Any]) -> list[bytes]:
    """Numbers as JSON has them, one by one."""
    return msgspec.json.encode(column)[1:-1].split(b",")


def json_bytes(head: Mapping[str, Any], portions: Iterable[list[Piece]]) -> Iterator[bytes]:
    """One document: the head, then `series`, a piece of one series a line, its points as columns."""
    yield json.dumps(head, ensure_ascii=False)[:-1].encode() + b', "series": [\n'
    comma = b""
    for portion in portions:
        for piece in portion:
            yield comma + msgspec.json.encode(_columns(piece))
            comma = b",\n"
    yield b"\n]}\n"


def _columns(piece: Piece) -> dict[str, Any]:
    """A piece as JSON has it: NaN and infinities as words, null without a clock."""
    series = piece.series
    time, value = series.time.tolist(), series.value.tolist()
    for place in np.flatnonzero(~np.isfinite(series.time)).tolist():
        time[place] = None
    for place in np.flatnonzero(~np.isfinite(series.value)).tolist():
        value[place] = number(value[place])
    columns = (series.attempt.tolist(), series.step.tolist(), time, value, piece.superseded.tolist())
    names = (series.key.metric, dict(series.key.labels))
    return dict(zip(FIELDS, (*names, *columns), strict=True))

"""Points as text: CSV, and a JSON document."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from holter.json_values import number
from holter.server.import_export.point_rows import SeriesPiece
from holter.types import SeriesKey

FIELDS = ("metric", "labels", "attempt", "step", "time", "value", "superseded")
_POINT_FIELDS = FIELDS[2:]
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""The beginning of a cell that spreadsheets may calculate, also in full width, after any apostrophes."""


def spreadsheet_cell(text: str) -> str:
    """The text as a cell that spreadsheets show and do not calculate: a formula gets an apostrophe in front.

    See "CSV Injection" by OWASP. `text_of_cell` is the inverse.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def text_of_cell(cell: str) -> str:
    """The text of a cell written by `spreadsheet_cell`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_bytes(_: Mapping[str, Any], portions: Iterable[list[SeriesPiece]]) -> Iterator[bytes]:
    """Yield a CSV file: a header, and a line per point; labels as a JSON object, empty without any."""
    yield (",".join(FIELDS) + "\n").encode()
    for portion in portions:
        for piece in portion:
            columns = _json_columns(piece)
            columns["superseded"] = piece.superseded.astype(np.int8).tolist()
            prefix = _csv_prefix(piece.series.key)
            cells = [_json_numbers(columns[name]) for name in _POINT_FIELDS]
            cells[2] = [b"" if cell == b"null" else cell for cell in cells[2]]
            cells[3] = [cell.strip(b'"') for cell in cells[3]]
            yield b"".join([b"%b,%b,%b,%b,%b,%b\n" % (prefix, *row) for row in zip(*cells, strict=True)])


def _csv_prefix(key: SeriesKey) -> bytes:
    text = io.StringIO()
    labels = json.dumps(dict(key.labels), ensure_ascii=False) if key.labels else ""
    cells = (spreadsheet_cell(key.metric), spreadsheet_cell(labels))
    csv.writer(text, lineterminator="\r\n").writerow(cells)  # quotes cells with either of these characters
    return text.getvalue().removesuffix("\r\n").encode()


def _json_numbers(column: Sequence[Any]) -> list[bytes]:
    """Format numbers as JSON, one by one; encoding the column at once is three times as fast."""
    return msgspec.json.encode(column)[1:-1].split(b",")


def json_bytes(head: Mapping[str, Any], portions: Iterable[list[SeriesPiece]]) -> Iterator[bytes]:
    """Yield one document: the head, then `series`, one piece of a series per line, its points as columns."""
    yield json.dumps(head, ensure_ascii=False)[:-1].encode() + b', "series": [\n'
    comma = b""
    for portion in portions:
        for piece in portion:
            yield comma + msgspec.json.encode(_json_columns(piece))
            comma = b",\n"
    yield b"\n]}\n"


def _json_columns(piece: SeriesPiece) -> dict[str, Any]:
    """Return a piece as JSON values: NaN and infinities as strings, null without a clock."""
    series = piece.series
    time, value = series.time.tolist(), series.value.tolist()
    for index in np.flatnonzero(~np.isfinite(series.time)).tolist():
        time[index] = None
    for index in np.flatnonzero(~np.isfinite(series.value)).tolist():
        value[index] = number(value[index])
    columns = (series.attempt.tolist(), series.step.tolist(), time, value, piece.superseded.tolist())
    names = (series.key.metric, dict(series.key.labels))
    return dict(zip(FIELDS, (*names, *columns), strict=True))

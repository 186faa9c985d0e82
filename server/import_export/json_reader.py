"""Reads the JSON document that `holter export` writes, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import msgspec
import numpy as np

from holter.server.import_export.point_rows import PointRows
from holter.types import FloatArray, IntArray, SeriesKey, labels_of

POINTS_PER_READ = 32_768
"""Points that are parsed together: as Python objects they are large."""

MAX_LINE_BYTES = 256 * 2**20
"""Maximum size of a line, and of a document that must be read at once."""


MAX_ITEMS = 2**24
"""Maximum number of values that are parsed at once: each may take a hundred bytes of memory."""


def read_lines(file: BinaryIO, max_bytes: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    """Yield lines. Raises ValueError where one is longer than any that an export has."""
    number = 0
    while line := file.readline(max_bytes):
        number += 1
        if len(line) == max_bytes:
            raise ValueError(f"line {number} has more than {max_bytes // 2**20} MiB")
        yield line


def check_items(what: str, text: bytes) -> None:
    """Raise ValueError where JSON text has too many values, before it is parsed. Counts characters."""
    items = text.count(b",") + text.count(b"[") + text.count(b"{") if len(text) > MAX_ITEMS else 0
    if items > MAX_ITEMS:
        raise ValueError(f"{what}: expected at most {MAX_ITEMS:,} values, found about {items:,}")


@contextmanager
def error_location(what: str, number: int) -> Iterator[None]:
    """Raise the errors of the block as ValueError that names the location, a line for example."""
    try:
        yield
    except KeyError as error:
        raise ValueError(f"{what} {number}: {error} is missing") from error
    except (msgspec.DecodeError, ValueError, TypeError, OverflowError, AttributeError) as error:
        raise ValueError(f"{what} {number}: {error}") from error


def read_json(file: BinaryIO) -> tuple[dict[str, Any], Iterator[PointRows]]:
    """Return the head of a document, and its points in portions.

    Raises ValueError, also while the points are read.
    """
    first = next(read_lines(file))
    if b'"holter_export"' in first and first.rstrip().endswith(b"["):
        head = msgspec.json.decode(first.rstrip() + b"]}", type=dict[str, Any])
        return head, _merge_short(_parse_lines(file))
    if _is_point(first):
        raise ValueError(
            "JSON lines are not imported: convert them to CSV with the same columns, for example "
            'pandas.read_json("a.jsonl", lines=True).to_csv("a.csv", index=False)'
        )
    # another program has reformatted the document: it must be read at once
    file.seek(0)
    text = file.read(MAX_LINE_BYTES)
    if file.read(1):
        raise ValueError(f"a reformatted document may have {MAX_LINE_BYTES // 2**20} MiB at most")
    check_items("a reformatted document", text)
    document = msgspec.json.decode(text, type=dict[str, Any])
    if not isinstance(document.get("series"), list):
        raise ValueError("no list 'series': this is not a file of holter export")
    pieces = (_parse_piece("series", index, piece) for index, piece in enumerate(document["series"]))
    return document, _merge_short(pieces)


def _is_point(line: bytes) -> bool:
    try:
        return "metric" in msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        return False


def _parse_lines(file: BinaryIO) -> Iterator[PointRows]:
    """Parse the lines after the head, one piece of a series each."""
    for number, line in enumerate(read_lines(file), start=2):
        if line.startswith(b"]}"):
            return
        if text := line.rstrip(b",\n"):
            check_items(f"line {number}", text)
            yield _parse_piece("line", number, text)
    raise ValueError("the file is truncated")


def _parse_piece(what: str, number: int, piece: bytes | Mapping[str, Any]) -> PointRows:
    """Parse a piece of one series; an error names it as `what` `number`."""
    with error_location(what, number):
        fields = msgspec.json.decode(piece, type=dict[str, Any]) if isinstance(piece, bytes) else piece
        key = SeriesKey(_parse_metric(fields["metric"]), labels_of(fields["labels"]))
        columns = {name: fields[name] for name in ("attempt", "step", "time", "value")}
        if len({len(column) for column in columns.values()}) > 1:
            raise ValueError("attempt, step, time and value: expected equal lengths")
        return PointRows(
            keys=[key],
            key_index=np.zeros(len(columns["step"]), dtype=np.int64),
            attempt=_parse_integers("attempt", columns["attempt"]),
            step=_parse_integers("step", columns["step"]),
            # numpy converts None to NaN, and the strings for NaN and infinities to these values
            time=_parse_floats("time", columns["time"]),
            value=_parse_floats("value", columns["value"]),
        )


def _parse_metric(metric: Any) -> str:
    if not isinstance(metric, str):
        raise ValueError(f"metric: expected text, got {metric!r}")
    return metric


def _parse_integers(name: str, column: Sequence[int]) -> IntArray:
    integers = np.array(column if len(column) else np.zeros(0, dtype=np.int64))
    if integers.dtype != np.int64 or integers.ndim != 1:
        raise ValueError(f"{name}: expected whole numbers of 64 bits")
    return integers


def _parse_floats(name: str, column: Sequence[float | str | None]) -> FloatArray:
    try:
        numbers = np.array(column, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: expected numbers ({error})") from error
    if numbers.ndim != 1:
        raise ValueError(f"{name}: expected numbers, found lists")
    return numbers


def _merge_short(pieces: Iterable[PointRows]) -> Iterator[PointRows]:
    """Merge short pieces, so that each portion is large enough for a batch."""
    portion: list[PointRows] = []
    for piece in pieces:
        if portion and sum(len(rows.step) for rows in portion) + len(piece.step) > POINTS_PER_READ:
            yield _concatenate_rows(portion)
            portion = []
        if len(piece.step):
            portion.append(piece)
    if portion:
        yield _concatenate_rows(portion)


def _concatenate_rows(parts: Sequence[PointRows]) -> PointRows:
    if len(parts) == 1:
        return parts[0]
    index_of = {
        key: index for index, key in enumerate(dict.fromkeys(key for part in parts for key in part.keys))
    }
    key_index = [np.array([index_of[key] for key in part.keys])[part.key_index] for part in parts]
    return PointRows(
        keys=list(index_of),
        key_index=np.concatenate(key_index),
        attempt=np.concatenate([part.attempt for part in parts]),
        step=np.concatenate([part.step for part in parts]),
        time=np.concatenate([part.time for part in parts]),
        value=np.concatenate([part.value for part in parts]),
    )

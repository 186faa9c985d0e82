"""Reads JSON as `holter export` writes it: one document, or a line a point.

Lines of exported files, in bounded memory, and where in them something is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO

import msgspec
import numpy as np

from holter.server.import_export.long_table import Rows
from holter.types import FloatArray, IntArray, SeriesKey, labels_of

AT_ONCE = 32_768
"""Points that are read together: as Python's objects they are large."""

LONGEST = 256 * 2**20
"""Bytes of a line, and of a document that must be read as a whole."""


def lines(file: BinaryIO) -> Iterator[bytes]:
    """Line by line. Raises ValueError where one is longer than any that an export has."""
    number = 0
    while line := file.readline(LONGEST):
        number += 1
        if len(line) == LONGEST:
            raise ValueError(f"line {number} has more than {LONGEST // 2**20} MiB")
        yield line


@contextmanager
def at(what: str, number: int) -> Iterator[None]:
    """Says where something was wrong, e.g. in which line: raises ValueError."""
    try:
        yield
    except KeyError as error:
        raise ValueError(f"{what} {number}: there is no {error}") from error
    except (msgspec.DecodeError, ValueError, TypeError, OverflowError, AttributeError) as error:
        raise ValueError(f"{what} {number}: {error}") from error


def read_json(file: BinaryIO) -> tuple[dict[str, Any] | None, Iterator[Rows]]:
    """The head of a document (None where it is lines, a point each), and its points in portions.

    Raises ValueError, also while the points are read.
    """
    first = next(lines(file))
    if b'"holter_export"' in first and first.rstrip().endswith(b"["):
        head = msgspec.json.decode(first.rstrip() + b"]}", type=dict[str, Any])
        return head, _gathered(_of_document(file))
    file.seek(0)
    if _is_line(first):
        return None, _gathered(_of_lines(file))
    # somebody has laid it out anew: it must be read as a whole
    whole = file.read(LONGEST)
    if file.read(1):
        raise ValueError(f"a document that is laid out anew may have {LONGEST // 2**20} MiB at most")
    document = msgspec.json.decode(whole, type=dict[str, Any])
    if not isinstance(document.get("series"), list):
        raise ValueError("no list 'series': it is no file of holter export")
    return document, _gathered(_piece_at("series", at, one) for at, one in enumerate(document["series"]))


def _is_line(text: bytes) -> bool:
    try:
        return "metric" in msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return False


def _of_document(file: BinaryIO) -> Iterator[Rows]:
    for number, line in enumerate(lines(file), start=2):
        if line.startswith(b"]}"):
            return
        if text := line.rstrip(b",\n"):
            yield _piece_at("line", number, text)
    raise ValueError("it ends too early")


def _piece_at(what: str, number: int, piece: bytes | Mapping[str, Any]) -> Rows:
    """A piece of one series."""
    with at(what, number):
        said = msgspec.json.decode(piece, type=dict[str, Any]) if isinstance(piece, bytes) else piece
        key = SeriesKey(_name(said["metric"]), labels_of(said["labels"]))
        columns = {name: said[name] for name in ("attempt", "step", "time", "value")}
        if len({len(column) for column in columns.values()}) > 1:
            raise ValueError("attempt, step, time and value: expected as many of each")
        return _rows([key], np.zeros(len(columns["step"]), dtype=np.int64), **columns)


class _Point(msgspec.Struct, gc=False):
    """A line of JSON lines."""

    metric: str
    step: int
    value: float | str | None
    labels: dict[str, str | int | float] = {}
    attempt: int = 0
    time: float | None = None


_POINT = msgspec.json.Decoder(_Point)


def _of_lines(file: BinaryIO) -> Iterator[Rows]:
    """A line a point."""
    held, first = lines(file), 1
    while portion := list(islice(held, AT_ONCE)):
        try:
            yield _of_points(portion)
        except ValueError:
            for number, line in enumerate(portion, start=first):  # which one it was
                with at("line", number):
                    _of_points([line])
            raise
        first += len(portion)


def _of_points(portion: Sequence[bytes]) -> Rows:
    said = [_POINT.decode(line) for line in portion]
    keys = [SeriesKey(one.metric, labels_of(one.labels) if one.labels else ()) for one in said]
    places: dict[SeriesKey, int] = {}
    return _rows(
        places,
        np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64),
        attempt=[one.attempt for one in said],
        step=[one.step for one in said],
        time=[one.time for one in said],
        value=[one.value for one in said],
    )


def _rows(
    keys: Iterable[SeriesKey],
    which: IntArray,
    attempt: Sequence[int],
    step: Sequence[int],
    time: Sequence[float | None],
    value: Sequence[float | str | None],
) -> Rows:
    """Columns as JSON has them. Raises ValueError."""
    return Rows(
        keys=list(keys),
        which=which,
        attempt=_integers("attempt", attempt),
        step=_integers("step", step),
        # numpy reads None as NaN, and the words for NaN and infinities as the values they stand for
        time=_floats("time", time),
        value=_floats("value", value),
    )


def _name(metric: Any) -> str:
    if not isinstance(metric, str):
        raise ValueError(f"metric: expected text, got {metric!r}")
    return metric


def _integers(name: str, column: Sequence[int]) -> IntArray:
    found = np.array(column if len(column) else np.zeros(0, dtype=np.int64))
    if found.dtype != np.int64:
        raise ValueError(f"{name}: expected whole numbers of 64 bits")
    return found


def _floats(name: str, column: Sequence[float | str | None]) -> FloatArray:
    try:
        return np.array(column, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: expected numbers ({error})") from error


def _gathered(pieces: Iterable[Rows]) -> Iterator[Rows]:
    """Short pieces together, so that each portion is worth a batch."""
    held: list[Rows] = []
    for piece in pieces:
        if held and sum(len(one.step) for one in held) + len(piece.step) > AT_ONCE:
            yield _joined(held)
            held = []
        if len(piece.step):
            held.append(piece)
    if held:
        yield _joined(held)


def _joined(parts: Sequence[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    places = {key: at for at, key in enumerate(dict.fromkeys(key for one in parts for key in one.keys))}
    return Rows(
        keys=list(places),
        which=np.concatenate([np.array([places[key] for key in one.keys])[one.which] for one in parts]),
        attempt=np.concatenate([one.attempt for one in parts]),
        step=np.concatenate([one.step for one in parts]),
        time=np.concatenate([one.time for one in parts]),
        value=np.concatenate([one.value for one in parts]),
    )

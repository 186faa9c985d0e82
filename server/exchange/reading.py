"""Reads exported files, told apart by their first bytes, in portions."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

import msgspec
import numpy as np

from holter.server.exchange.export import FORMAT, need_pyarrow
from holter.server.exchange.rows import Rows, key_from
from holter.types import SeriesKey, labels_of

_MAGIC = {b"PAR1": "parquet", b"ARRO": "arrow"}
_LINES = 32_768  # at once: as Python's objects they are large
Head = Mapping[str, Any]
Said = tuple[SeriesKey, int, int, float | None, float | str | None]


def read_file(path: Path) -> tuple[Head | None, Iterator[Rows]]:
    """What the file says of its run (None where it holds points alone), and its points.

    Raises ValueError, also while the points are read, saying where the file is not what it should be;
    MissingPyarrowError; OSError.
    """
    with path.open("rb") as file:
        first = file.read(4)
    if first in _MAGIC:
        need_pyarrow(_MAGIC[first])
        head, rows = import_module("holter.server.exchange.tables").read_table(path)
    elif first[:1] == b"{":
        head, rows = _read_json(path)
    else:
        head, rows = None, _read_csv(path)
    if head is not None and head.get("holter_export") != FORMAT:
        raise ValueError("it is not of this version or an earlier one")
    return (None if head is None else head["run"]), rows


def _read_csv(path: Path) -> Iterator[Rows]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file)
        names = next(lines, [])
        if missing := {"metric", "step", "value"} - set(names):
            lacking = ", ".join(sorted(missing))
            raise ValueError(f"line 1: no column {lacking} (logs are not imported: holter watch reads them)")
        first = 2
        while portion := list(islice(lines, _LINES)):
            try:
                yield _of_lines(names, portion)
            except (ValueError, OverflowError):
                for number, line in enumerate(portion, start=first):  # which one it was
                    _tried(number, names, line)
                raise
            first += len(portion)


def _tried(number: int, names: Sequence[str], line: list[str]) -> None:
    try:
        _of_lines(names, [line])
    except (ValueError, OverflowError) as error:
        raise ValueError(f"line {number}: {error}") from error


def _of_lines(names: Sequence[str], lines: Sequence[list[str]]) -> Rows:
    size = len(lines)
    if any(len(line) != len(names) for line in lines):
        raise ValueError(f"expected {len(names)} cells")
    given = dict(zip(names, zip(*lines, strict=True), strict=True))
    series = list(zip(given["metric"], given.get("labels", [""] * size), strict=True))
    places = {pair: at for at, pair in enumerate(dict.fromkeys(series))}
    times = (float(one) if one else np.nan for one in given.get("time", [""] * size))
    return Rows(
        keys=[key_from(*pair) for pair in places],
        which=np.fromiter((places[pair] for pair in series), dtype=np.int64, count=size),
        attempt=np.fromiter(map(int, given.get("attempt", "0" * size)), dtype=np.int64, count=size),
        step=np.fromiter(map(int, given["step"]), dtype=np.int64, count=size),
        time=np.fromiter(times, dtype=np.float64, count=size),
        value=np.fromiter(map(float, given["value"]), dtype=np.float64, count=size),
    )


def _read_json(path: Path) -> tuple[Head | None, Iterator[Rows]]:
    with path.open(encoding="utf-8") as file:
        first = file.readline()
        if '"holter_export"' not in first:
            document = None if _is_line(first) else msgspec.json.decode(path.read_bytes())
            if document is None:
                return None, _read_lines(path)
            # somebody has laid it out anew: it must be read as a whole
            return document, _portions(chain.from_iterable(map(_of_piece, document["series"])))
    return msgspec.json.decode(first.rstrip() + "]}"), _portions(_of_document(path))


def _is_line(text: str) -> bool:
    try:
        return "metric" in msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return False


def _read_lines(path: Path) -> Iterator[Rows]:
    def said(file: TextIO) -> Iterator[Said]:
        for number, line in enumerate(file, start=1):
            try:
                point = msgspec.json.decode(line, type=dict[str, Any])
                key = SeriesKey(point["metric"], labels_of(point.get("labels", {})))
                yield key, point.get("attempt", 0), point["step"], point.get("time"), point["value"]
            except (msgspec.DecodeError, KeyError, AttributeError) as error:
                raise ValueError(f"line {number}: {error}") from error

    with path.open(encoding="utf-8") as file:
        yield from _portions(said(file))


def _of_document(path: Path) -> Iterator[Said]:
    with path.open(encoding="utf-8") as file:
        file.readline()
        for number, line in enumerate(file, start=2):
            if line.startswith("]}"):
                return
            if text := line.rstrip(",\n"):
                try:
                    yield from _of_piece(msgspec.json.decode(text, type=dict[str, Any]))
                except (msgspec.DecodeError, KeyError) as error:
                    raise ValueError(f"line {number}: {error}") from error
    raise ValueError("it ends too early")


def _of_piece(piece: Mapping[str, Any]) -> Iterator[Said]:
    key = SeriesKey(piece["metric"], labels_of(piece["labels"]))
    columns = (piece[name] for name in ("attempt", "step", "time", "value"))
    for attempt, step, time, value in zip(*columns, strict=True):
        yield key, attempt, step, time, value


def _portions(points: Iterable[Said]) -> Iterator[Rows]:
    held = iter(points)
    while portion := list(islice(held, _LINES)):
        keys, attempt, step, time, value = zip(*portion, strict=True)
        places = {key: at for at, key in enumerate(dict.fromkeys(keys))}
        yield Rows(
            keys=list(places),
            which=np.array([places[key] for key in keys], dtype=np.int64),
            attempt=np.array(attempt, dtype=np.int64),
            step=np.array(step, dtype=np.int64),
            time=np.array([np.nan if one is None else one for one in time], dtype=np.float64),
            value=np.array([float(one) for one in value], dtype=np.float64),
        )

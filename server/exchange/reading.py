"""Reads exported files, told apart by their first bytes, in portions."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holter.server.exchange.documents import read_json
from holter.server.exchange.export import FORMAT, need_pyarrow
from holter.server.exchange.lines import AT_ONCE, at, lines
from holter.server.exchange.rows import Rows, key_from

_MAGIC = {b"PAR1": "parquet", b"ARRO": "arrow"}
Head = Mapping[str, Any]


class Content(NamedTuple):
    """What a file holds: what it says of its `run`, exported or `kept` by another tracker (None where it has
    points alone), and its points."""

    run: Head | None
    kept: Head | None
    rows: Iterator[Rows]


def read_file(file: BinaryIO) -> Content:
    """What a file holds, from its beginning; it must stay open while the points are read.

    Raises ValueError, also while the points are read, saying where the file is not what it should be;
    MissingPyarrowError; OSError.
    """
    file.seek(0)
    first = file.read(4)
    file.seek(0)
    if first in _MAGIC:
        need_pyarrow(_MAGIC[first])
        head, rows = import_module("holter.server.exchange.tables").read_table(file)
    elif first[:1] == b"{":
        head, rows = read_json(file)
    else:
        head, rows = None, _read_csv(file)
    if head is None:
        return Content(None, None, rows)
    if not isinstance(head, dict) or head.get("holter_export") != FORMAT:
        raise ValueError(f"it is not of this version or an earlier one: expected holter_export {FORMAT}")
    run, kept = head.get("run"), head.get("kept")
    if not isinstance(run if kept is None else kept, dict):
        raise ValueError("its head says nothing of the run: expected an object 'run'")
    return Content(run, kept, rows)


def _read_csv(file: BinaryIO) -> Iterator[Rows]:
    cells = csv.reader(
        line.decode("utf-8" if number else "utf-8-sig") for number, line in enumerate(lines(file))
    )
    names = next(cells, [])
    if missing := {"metric", "step", "value"} - set(names):
        lacking = ", ".join(sorted(missing))
        raise ValueError(f"line 1: no column {lacking} (logs are not imported: holter watch reads them)")
    first = 2
    while portion := _some(cells, first):
        try:
            yield _of_lines(names, portion)
        except ValueError:
            for number, line in enumerate(portion, start=first):  # which one it was
                with at("line", number):
                    _of_lines(names, [line])
            raise
        first += len(portion)


def _some(cells: Iterator[list[str]], first: int) -> list[list[str]]:
    try:
        return list(islice(cells, AT_ONCE))
    except csv.Error as error:
        raise ValueError(f"after line {first - 1}: {error}") from error


def _of_lines(names: Sequence[str], portion: Sequence[list[str]]) -> Rows:
    size = len(portion)
    if any(len(line) != len(names) for line in portion):
        raise ValueError(f"expected {len(names)} cells")
    given = dict(zip(names, zip(*portion, strict=True), strict=True))
    series = list(zip(given["metric"], given.get("labels", [""] * size), strict=True))
    places = {pair: place for place, pair in enumerate(dict.fromkeys(series))}
    return Rows(
        keys=[key_from(*pair) for pair in places],
        which=np.fromiter((places[pair] for pair in series), dtype=np.int64, count=size),
        attempt=_integers("attempt", given.get("attempt", "0" * size)),
        step=_integers("step", given["step"]),
        time=_floats("time", [one or "nan" for one in given.get("time", [""] * size)]),
        value=_floats("value", given["value"]),
    )


def _integers(name: str, cells: Sequence[str]) -> NDArray[np.int64]:
    try:
        return np.fromiter(map(int, cells), dtype=np.int64, count=len(cells))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name}: expected a whole number of 64 bits ({error})") from error


def _floats(name: str, cells: Sequence[str]) -> NDArray[np.float64]:
    try:
        return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError as error:
        raise ValueError(f"{name}: expected a number ({error})") from error

"""Reads exported files, told apart by their first bytes, in portions."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holter.server.import_export.export import FORMAT, need_pyarrow
from holter.server.import_export.json_reader import AT_ONCE, at, lines, read_json
from holter.server.import_export.long_table import Rows, key_from
from holter.types import SeriesKey

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
        head, rows = import_module("holter.server.import_export.arrow").read_table(file)
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
    while (table := _table(names, cells, first)).size:
        yield table.rows()
        first += table.size


@dataclass(frozen=True, slots=True)
class _Table:
    """Some lines as columns of text; `first` is the number of the first of them."""

    columns: Mapping[str, list[str]]
    first: int

    @property
    def size(self) -> int:
        return len(self.columns["step"])

    def rows(self) -> Rows:
        """The points. Raises ValueError naming the line."""
        names = zip(self.columns["metric"], self._text("labels"), strict=True)
        places: dict[tuple[str, str], int] = {}
        which = np.fromiter(
            (places.setdefault(one, len(places)) for one in names), dtype=np.int64, count=self.size
        )
        return Rows(
            keys=[self._key(which, place, *pair) for pair, place in places.items()],
            which=which,
            attempt=self._numbers("attempt", int, "0"),
            step=self._numbers("step", int),
            time=self._numbers("time", float, "nan"),
            value=self._numbers("value", float),
        )

    def _text(self, name: str) -> list[str]:
        return self.columns[name] if name in self.columns else [""] * self.size

    def _key(self, which: NDArray[np.int64], place: int, metric: str, labels: str) -> SeriesKey:
        with at("line", self.first + int(np.argmax(which == place))):
            return key_from(metric, labels)

    def _numbers(self, name: str, kind: type[int] | type[float], absent: str = "") -> NDArray[Any]:
        cells = [cell or absent for cell in self._text(name)] if absent else self._text(name)
        try:
            return np.fromiter(map(kind, cells), dtype=np.dtype(kind), count=self.size)
        except (ValueError, OverflowError):
            number = next(place for place, cell in enumerate(cells) if not _is(kind, cell))
            expected = "a whole number of 64 bits" if kind is int else "a number"
            line = f"line {self.first + number}"
            raise ValueError(f"{line}: {name}: expected {expected}, found {cells[number]!r}") from None


def _table(names: Sequence[str], cells: Iterator[list[str]], first: int) -> _Table:
    """The next lines. What is made for each of them is gone with it: else it would be looked through for
    garbage again and again."""
    columns: list[list[str]] = [[] for _ in names]
    try:
        for line in islice(cells, AT_ONCE):
            if len(line) != len(columns):
                number = first + len(columns[0])
                raise ValueError(f"line {number}: expected {len(columns)} cells, found {len(line)}")
            for column, cell in zip(columns, line, strict=True):
                column.append(cell)
    except csv.Error as error:
        raise ValueError(f"line {first + len(columns[0])}: {error}") from error
    return _Table(dict(zip(names, columns, strict=True)), first)


def _is(kind: type[int] | type[float], cell: str) -> bool:
    try:
        np.fromiter([kind(cell)], dtype=np.dtype(kind))
    except (ValueError, OverflowError):
        return False
    return True

"""Reads exported files in portions, recognising the format by its first bytes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from holter.ingest.errors import describe_error
from holter.server.import_export.file_formats import FORMAT, require_pyarrow
from holter.server.import_export.json_reader import POINTS_PER_READ, error_location, read_json, read_lines
from holter.server.import_export.point_rows import PointRows, parse_key
from holter.server.import_export.text_writer import text_of_cell
from holter.types import SeriesKey

_MAX_CSV_LINE = 2**20
_PARQUET, _ARROW = b"PAR1", b"ARRO"
RunMetadata = Mapping[str, Any]


class FileContent(NamedTuple):
    """The content of a file: metadata of an exported `run` or of a `tracker_run` (None in a file of points
    only).
    """

    run: RunMetadata | None
    tracker_run: RunMetadata | None
    rows: Iterator[PointRows]


def read_file(file: BinaryIO) -> FileContent:
    """Read a file from its beginning; it must stay open while the points are read.

    Raises ValueError, also while the points are read, naming the location of an error; MissingPyarrowError;
    OSError.
    """
    with damage_as_value_error():
        content = _read_head(file)
    return content._replace(rows=_guarded(content.rows))


@contextmanager
def damage_as_value_error() -> Iterator[None]:
    """Raise what parsers of Python raise for damaged or hostile content as ValueError."""
    try:
        yield
    except RecursionError as error:
        raise ValueError("expected values nested a hundred times at most, found deeper ones") from error
    except (csv.Error, msgspec.MsgspecError, OverflowError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(describe_error(error)) from error


def _guarded(rows: Iterator[PointRows]) -> Iterator[PointRows]:
    while True:
        with damage_as_value_error():
            portion = next(rows, None)
        if portion is None:
            return
        yield portion


def _read_head(file: BinaryIO) -> FileContent:
    file.seek(0)
    first = file.read(4)
    file.seek(0)
    if first == _PARQUET:
        require_pyarrow("parquet")
        head, rows = import_module("holter.server.import_export.parquet_file").read_parquet(file)
    elif first == _ARROW:
        raise ValueError(
            "Arrow files are not imported: convert it to Parquet, which keeps everything, with "
            'pyarrow.parquet.write_table(pyarrow.feather.read_table("a.arrow"), "a.parquet")'
        )
    elif first[:1] == b"{":
        head, rows = read_json(file)
    else:
        head, rows = None, _read_csv(file)
    if head is None:
        return FileContent(None, None, rows)
    if not isinstance(head, dict) or head.get("holter_export") != FORMAT:
        raise ValueError(f"not written by this version or an earlier one: expected holter_export {FORMAT}")
    run, tracker_run = head.get("run"), head.get("kept")
    if not isinstance(run if tracker_run is None else tracker_run, dict):
        raise ValueError("its head does not describe the run: expected an object 'run'")
    return FileContent(run, tracker_run, rows)


def _read_csv(file: BinaryIO) -> Iterator[PointRows]:
    cells = csv.reader(
        line.decode("utf-8" if number else "utf-8-sig")
        for number, line in enumerate(read_lines(file, _MAX_CSV_LINE))
    )
    try:
        names = next(cells, [])
    except csv.Error as error:
        raise ValueError(f"line 1: {error}") from error
    if missing := {"metric", "step", "value"} - set(names):
        lacking = ", ".join(sorted(missing))
        raise ValueError(f"line 1: no column {lacking} (logs are not imported: use holter watch)")
    first = 2
    while (table := _read_table(names, cells, first)).size:
        yield table.rows()
        first += table.size


@dataclass(frozen=True, slots=True)
class _CsvTable:
    """Some lines as text columns; `first` is the line number of the first one."""

    columns: Mapping[str, list[str]]
    first: int

    @property
    def size(self) -> int:
        return len(self.columns["step"])

    def rows(self) -> PointRows:
        """Convert to points. Raises ValueError naming the line."""
        names = zip(self.columns["metric"], self._text_column("labels"), strict=True)
        index_of: dict[tuple[str, str], int] = {}
        key_index = np.fromiter(
            (index_of.setdefault(name, len(index_of)) for name in names), dtype=np.int64, count=self.size
        )
        return PointRows(
            keys=[self._parse_key(key_index, index, *pair) for pair, index in index_of.items()],
            key_index=key_index,
            attempt=self._number_column("attempt", int, "0"),
            step=self._number_column("step", int),
            time=self._number_column("time", float, "nan"),
            value=self._number_column("value", float),
        )

    def _text_column(self, name: str) -> list[str]:
        return self.columns[name] if name in self.columns else [""] * self.size

    def _parse_key(self, key_index: NDArray[np.int64], index: int, metric: str, labels: str) -> SeriesKey:
        with error_location("line", self.first + int(np.argmax(key_index == index))):
            return parse_key(text_of_cell(metric), text_of_cell(labels))

    def _number_column(
        self, name: str, number_type: type[int] | type[float], default: str = ""
    ) -> NDArray[Any]:
        cells = [cell or default for cell in self._text_column(name)] if default else self._text_column(name)
        try:
            return np.fromiter(map(number_type, cells), dtype=np.dtype(number_type), count=self.size)
        except (ValueError, OverflowError):
            row_number = next(row for row, cell in enumerate(cells) if not _is_number(number_type, cell))
            expected = "a whole number of 64 bits" if number_type is int else "a number"
            line = f"line {self.first + row_number}"
            raise ValueError(f"{line}: {name}: expected {expected}, found {cells[row_number]!r}") from None


def _read_table(names: Sequence[str], cells: Iterator[list[str]], first: int) -> _CsvTable:
    """Read the next lines as columns; row objects are freed at once, so that garbage collection stays
    fast.
    """
    columns: list[list[str]] = [[] for _ in names]
    try:
        for line in islice(cells, POINTS_PER_READ):
            if len(line) != len(columns):
                number = first + len(columns[0])
                raise ValueError(f"line {number}: expected {len(columns)} cells, found {len(line)}")
            for column, cell in zip(columns, line, strict=True):
                column.append(cell)
    except csv.Error as error:
        raise ValueError(f"line {first + len(columns[0])}: {error}") from error
    return _CsvTable(dict(zip(names, columns, strict=True)), first)


def _is_number(number_type: type[int] | type[float], cell: str) -> bool:
    try:
        np.fromiter([number_type(cell)], dtype=np.dtype(number_type))
    except (ValueError, OverflowError):
        return False
    return True

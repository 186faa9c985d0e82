"""Histories that pandas printed, as data frames or single columns: their first numbers are the steps.

A frame has its names above its columns, which end where these do, and may be printed in parts below one
another; a column has its name below (`Name: loss, dtype: float64`). Rows in the middle may be left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import PurePath
from typing import ClassVar

from holter.ingest import step_columns
from holter.ingest.console.text.values import parse_number
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import Batch, Unreadable

_NAMES = re.compile(r"[^\W\d]\S{0,80}(?: \S{1,80}){0,4}|\.\.\.")
_CELL = re.compile(r"\S+")
_ROW = re.compile(r"\d{1,9} {1,80}\S[^\n]{0,2000}")
_INDEX_NAME = re.compile(r"[^\W\d][\w ]{0,40}")
_OMITTED = re.compile(r"\.{2,3}(?:\s+\.{2,3})*|\s+\.{3}\s*")
"""A line in place of rows that are left out."""
_OF_COLUMN = re.compile(r"Name: (?P<name>[^\n]{1,80}?), (?:Length: \d{1,9}, )?dtype: (?:float|int)\d\d")
_LEAST_ROWS = 2


@dataclass(slots=True)
class _Frame:
    """Rows of cells by their names, and their numbers, below the line at `place`.

    `is_part` if the other columns are below.
    """

    place: int
    names: tuple[str, ...]
    numbers: list[int]
    rows: list[dict[str, str]]
    is_part: bool = False

    def is_within(self, other: _Frame) -> bool:
        """Whether the other one has all rows of this one: `df.head()` is a part of `df`."""
        rows = dict(zip(other.numbers, other.rows, strict=True))
        return all(rows.get(number) == row for number, row in zip(self.numbers, self.rows, strict=True))


class PrintedFrames(WholeFile):
    """Data frames and columns of pandas with the name of a metric among theirs."""

    name: ClassVar[str] = "printed-frames"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The rows of the frames; later ones with the same names and other rows are of other trainings."""
        known: defaultdict[tuple[str, ...], list[_Frame]] = defaultdict(list)
        values: dict[tuple[int, int], dict[str, float]] = {}
        for frame in sorted(_joined([*_frames(text.splitlines())]), key=lambda each: -len(each.rows)):
            alike = known[frame.names]
            is_new = not any(frame.is_within(other) for other in alike)
            if is_new and any(map(is_metric_name, frame.names)):
                alike.append(frame)
        for frames in known.values():
            for training, frame in enumerate(sorted(frames, key=lambda each: each.place), start=1):
                for step, row in _rows_at_steps(frame):
                    values[training, step] = row | values.get((training, step), {})
        if values:
            yield batch_from_rows(
                [
                    LogRow(step, nan, row, (("training", str(training)),) if training > 1 else ())
                    for (training, step), row in sorted(values.items())
                ]
            )


def _frames(lines: Sequence[str]) -> Iterator[_Frame]:
    """The frames and columns of a text in their order."""
    place = 0
    while place < len(lines):
        frame, end = _frame_below(lines, place)
        if frame is not None:
            yield frame
        place = max(end, place + 1)


def _frame_below(lines: Sequence[str], place: int) -> tuple[_Frame | None, int]:
    """The frame or column that begins with a line, and where it ends; None if none begins there."""
    header = lines[place].rstrip()
    is_column = _ROW.fullmatch(header) is not None
    if not (is_column or header.startswith(" ")):
        return None, place
    begin = place if is_column else place + 1
    if not is_column and begin < len(lines) and _INDEX_NAME.fullmatch(lines[begin].rstrip()) is not None:
        begin += 1  # the name of the numbers in front
    end = begin
    while end < len(lines) and (_ROW.fullmatch(lines[end]) or _OMITTED.fullmatch(lines[end].rstrip())):
        end += 1
    rows = [line for line in lines[begin:end] if line[0].isdecimal()]
    if len(rows) < _LEAST_ROWS:
        return None, place
    numbers = [int(row.split(None, 1)[0]) for row in rows]
    if is_column:
        below = _OF_COLUMN.match(lines[end]) if end < len(lines) else None
        cells = [row.split()[1:] for row in rows]
        if below is None or any(len(row) != 1 for row in cells):
            return None, end
        return _Frame(place, (below["name"],), numbers, [{below["name"]: row[0]} for row in cells]), end
    names = {name.end(): name[0] for name in _NAMES.finditer(header.removesuffix("\\").rstrip())}
    named = [
        {names[cell.end()]: cell[0] for cell in _CELL.finditer(row) if cell.end() in names} for row in rows
    ]
    if not names or any(len(row) != len(names) for row in named):
        return None, place
    return _Frame(place, tuple(names.values()), numbers, named, header.endswith("\\")), end


def _joined(frames: Sequence[_Frame]) -> Iterator[_Frame]:
    """The frames with the columns of their parts side by side."""
    before: _Frame | None = None
    for frame in frames:
        if before is not None and before.numbers == frame.numbers:
            rows = [left | right for left, right in zip(before.rows, frame.rows, strict=True)]
            frame = _Frame(before.place, (*before.names, *frame.names), frame.numbers, rows, frame.is_part)
        elif before is not None:
            yield before
        before = frame if frame.is_part else None
        if before is None:
            yield frame
    if before is not None:
        yield before


def _rows_at_steps(frame: _Frame) -> Iterator[tuple[int, dict[str, float]]]:
    """The numbers of each row at its step: what a column counts, or its number in front."""
    counting = step_columns.find_step(frame.names)
    for number, row in zip(frame.numbers, frame.rows, strict=True):
        values = {name: value for name, cell in row.items() if (value := parse_number(cell)) is not None}
        stated = values.pop(counting, nan) if counting is not None else nan
        yield int(stated) if stated.is_integer() else number, values

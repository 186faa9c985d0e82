"""Reads tables in CSV whose rows are not as their header states, from a file that was given by hand.

Rows may lack their last cells (an evaluation that comes with every tenth epoch), or have more than there are
names. A program that was changed and started again writes another header below its rows, and one that ends
writes its results below names of their own. Each row may have a single value with its name: `3,loss,0.5`.
A cell may be a list of numbers.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import nan
from pathlib import PurePath
from typing import ClassVar, NamedTuple

from holter.ingest import step_columns
from holter.ingest.csv.csv_log import CsvLog
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.counted_lines import is_number
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.printed_numbers import without_objects
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import Batch, Unreadable

_LEAST_ROWS = 3
"""Rows of a length that are no torn ones."""
_LEAST_CELLS = 2
_NAMES_OF_NAMES = ("name", "tag", "key", "metric", "metric_name", "scalar", "variable")
_VALUE = "value"
_STEP = "step"
_LIST = re.compile(r"[\[(]([-+.\deEnaif, ]{1,2000})[\])]")
_FOR_THE_EYE = re.compile(r"[ ]{0,40}\t[ \t]{0,80}|[ ]{2,80}")
"""Tabs and blanks between the cells of a table that is written to be looked at."""
_BETWEEN = re.compile(r"[, ]+")
_MOST_OF_LIST = 32
Row = list[str]


class _Part(NamedTuple):
    """The names of a header, and the rows below it."""

    names: Row
    rows: list[Row]


class UnevenTables(WholeFile):
    """Tables in CSV that continue below another header, or whose rows are shorter or longer than it."""

    name: ClassVar[str] = "uneven-tables"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The rows of the file; nothing of a table whose rows are as its header states."""
        lines = [line for line in without_objects(text).splitlines() if line.strip()]
        if not lines:
            return
        delimiter = max(",\t;", key=lines[0].count)
        lines = _without_empty_names(lines) if delimiter == "\t" else lines
        header = [name.strip(' "') for name in lines[0].split(delimiter)]
        is_stated, step = step_columns.find_step(header) is not None, step_columns.find_any_step(header)
        if step is None or (is_stated and _is_even(lines, delimiter)):
            return
        parts = _parts(lines, delimiter)
        if not parts:
            return
        if not is_stated:
            parts = [
                part._replace(names=[_STEP if name == step else name for name in part.names])
                for part in parts
            ]
        if rows := _named_values(parts):
            yield batch_from_rows(rows)
            return
        fitted = [_without_lists(_fitted(part)) for part in parts]
        if is_stated and len(parts) == 1 and fitted[0] == parts[0]:
            return
        last, known = 0, set[str]()
        for part in fitted:
            if step_columns.find_step(part.names) is None:
                yield from _results(part, last)
                continue
            metrics = {name for name in part.names if is_metric_name(name)}
            is_again = not known.isdisjoint(metrics)
            known |= metrics
            for each in CsvLog().reader(path, {}).read(io.BytesIO(_encoded(part, delimiter))):
                if isinstance(each, Batch) and len(each.steps):
                    restarts = is_again and int(each.steps[0]) <= last
                    last, is_again = int(each.steps[-1]), False
                    yield replace(each, restarts=restarts or each.restarts)
                else:
                    yield each


def _without_empty_names(lines: list[str]) -> list[str]:
    """Lines of a table of tabs and blanks with a tab between cells each.

    As they are unless tabs stand side by side within the header, and rows have other numbers of them: these
    are there for the eye, no cells that are empty.
    """
    header = lines[0].strip()
    if "\t\t" not in header or len({line.count("\t") for line in lines}) == 1:
        return lines
    return [_FOR_THE_EYE.sub("\t", line.strip()) for line in lines]


def _parts(lines: Sequence[str], delimiter: str) -> list[_Part]:
    """The headers of a table in CSV and their rows."""
    parts: list[_Part] = []
    try:
        for cells in csv.reader(lines, delimiter=delimiter):
            row = [cell.strip() for cell in cells]
            if not parts or (row != parts[-1].names and _is_header(row)):
                parts.append(_Part(row, []))
            elif row != parts[-1].names:
                parts[-1].rows.append(row)
    except csv.Error:
        return []
    return parts


def _is_even(lines: Sequence[str], delimiter: str) -> bool:
    """Whether all rows have as many cells as the header, and no other header is among them."""
    if any(name in lines[0].lower() for name in (f"{delimiter}{_VALUE}", f'{delimiter}"{_VALUE}')):
        return False
    if len({line.count(delimiter) for line in lines}) > 1 or any("[" in line for line in lines[:_LEAST_ROWS]):
        return False
    return all(line == lines[0] or not line.lstrip('"')[:1].isalpha() for line in lines)


def _is_header(row: Sequence[str]) -> bool:
    """Whether a row below others has names alone, that of a step or a metric among them."""
    if len(row) < _LEAST_CELLS or not all(row) or any(map(is_number, row)):
        return False
    return step_columns.find_step(row) is not None or all(map(is_metric_name, row))


def _fitted(part: _Part) -> _Part:
    """The part with a cell for each name in its rows, and a name for each cell; torn rows as they are."""
    width = len(part.names)
    lengths = Counter(map(len, part.rows))
    known = {
        length
        for length, rows in lengths.items()
        if length >= _LEAST_CELLS and (rows >= _LEAST_ROWS or rows == len(part.rows))
    }
    most = max(known, default=0)
    are_known = sum(lengths[length] for length in {*known, width}) == len(part.rows)
    is_longer = most > width and are_known
    names = [*part.names, *(f"column {number}" for number in range(width + 1, most + 1) if is_longer)]
    rows = [
        [*row, *[""] * (len(names) - len(row))] if len(row) in known and len(row) < len(names) else row
        for row in part.rows
    ]
    return _Part(names, rows)


def _without_lists(part: _Part) -> _Part:
    """The part with a column for each number of lists, `[0.5, 0.25]`: `name`, `name 2` and so on."""
    expanded = {at: cells for at in range(len(part.names)) if (cells := _lists_of(part, at))}
    if not expanded:
        return part
    names = [
        f"{name} {number}" if number > 1 else name
        for at, name in enumerate(part.names)
        for number in range(1, len(expanded[at][0]) + 1 if at in expanded else 2)
    ]
    rows = [
        [cell for at, own in enumerate(row) for cell in (expanded[at][number] if at in expanded else [own])]
        for number, row in enumerate(part.rows)
    ]
    return _Part(names, rows)


def _lists_of(part: _Part, at: int) -> list[Row]:
    """The numbers in the cells of a column of lists, as many in each; nothing of another column."""
    if not part.rows or any(len(row) != len(part.names) for row in part.rows):
        return []
    found = [_LIST.fullmatch(row[at]) for row in part.rows]
    cells = [_BETWEEN.split(match[1].strip(" ,")) for match in found if match is not None]
    is_even = len(cells) == len(found) and len({*map(len, cells)}) == 1
    if not is_even or len(cells[0]) > _MOST_OF_LIST or not all(map(is_number, chain(*cells))):
        return []
    return cells


def _encoded(part: _Part, delimiter: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([part.names, *part.rows])
    return text.getvalue().encode()


def _results(part: _Part, step: int) -> Iterator[Batch]:
    """What is below names without a step: the results of a training, at its last step."""
    rows = [row for row in part.rows if len(row) == len(part.names)]
    if len(rows) == 1:
        values = {
            name: float(cell) for name, cell in zip(part.names, rows[0], strict=True) if is_number(cell)
        }
        yield batch_from_rows([LogRow(step, nan, values)])


def _named_values(parts: Sequence[_Part]) -> list[LogRow]:
    """The rows of a table with a column for the name of each value; nothing of other tables."""
    [names, rows] = parts[0]
    lower = [name.lower() for name in names]
    column = next((lower.index(name) for name in _NAMES_OF_NAMES if name in lower), -1)
    if len(parts) > 1 or column < 0 or _VALUE not in lower or any(len(row) != len(names) for row in rows):
        return []
    step, value = names.index(step_columns.find_step(names) or ""), lower.index(_VALUE)
    found: list[LogRow] = []
    for row in rows:
        try:
            at = step_columns.read_step(row[step])
        except ValueError:
            return []
        if is_number(row[column]):
            return []
        if is_number(row[value]):
            found.append(LogRow(at, nan, {row[column]: float(row[value])}))
    return found if len({name for row in found for name in row.values}) < len(found) else []

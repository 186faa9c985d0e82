"""Tables with several rows of each step, distinguished by texts: `epoch,layer,norm` above `1,conv,0.5`.

For a file that was given by hand, of which all rows show what such a column is: its texts come again at other
steps, and a step never has the same one twice. A remark, a date or a path does neither. The table may be one
in CSV, in JSON Lines, or printed: with lines between its cells, or in columns.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import PurePath
from typing import ClassVar

from holter.ingest import step_columns
from holter.ingest.console.tables.row_subjects import subject_word
from holter.ingest.console.tables.table_rows import columns_of
from holter.ingest.csv.cell_numbers import numbers_of_cells
from holter.ingest.csv.csv_log import CsvReader, delimiter_of
from holter.ingest.json_objects import flatten_object, read_object
from holter.ingest.jsonl import JsonLines
from holter.ingest.offline.whole_file import WholeFile
from holter.types import Batch, Unreadable

_LEAST_STEPS = 2
"""Steps at which each text is, on average."""
_SEPARATORS = (r"\s*[|│┃║]\s*", r"\s{2,}|\t", r"\s+")
"""What is between the cells of a printed table; names may have single spaces in them."""
_LONGEST_NAMES = 4096
_Cells = list[list[str]]


class RowsOfTexts(WholeFile):
    """Rows that a column of texts tells apart, as one of models or folds does."""

    name: ClassVar[str] = "rows-of-texts"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The rows, with the text of each as a label; nothing of other tables."""
        if text[:1] == "{":
            if name := _name_of_texts(_objects(text)):
                yield from JsonLines().reader(path, {}, [name]).read(io.BytesIO(text.encode()))
        elif name := _name_of_texts(_csv_rows(text)):
            yield from CsvReader(path, {}, [name]).read(io.BytesIO(text.encode()))
        elif name := _name_of_texts(iter(table := _printed_rows(text))):
            rows = io.StringIO()
            csv.writer(rows, lineterminator="\n").writerows(table)
            yield from CsvReader(path, {}, [name]).read(io.BytesIO(rows.getvalue().encode()))


def _csv_rows(text: str) -> Iterator[list[str]]:
    """The names and the rows of a table in CSV, up to what is none."""
    line = text.split("\n", 1)[0]
    with suppress(csv.Error):
        yield from csv.reader(io.StringIO(text), delimiter=delimiter_of(line))


def _objects(text: str) -> Iterator[list[str]]:
    """The keys of the first object in JSON Lines, and the values of all with the same keys."""
    names: tuple[str, ...] = ()
    for line in text.splitlines():
        try:
            fields = dict(flatten_object(read_object(line.encode())))
        except ValueError:
            continue
        if not names:
            names = tuple(fields)
            yield [*names]
        if tuple(fields) == names:
            yield [value if isinstance(value, str) else str(value) for value in fields.values()]


def _printed_rows(text: str) -> _Cells:
    """The names and the rows of a text that is nothing but a printed table; nothing of others."""
    lines = (line for line in io.StringIO(text) if any(map(str.isalnum, line)))
    first = next(lines, "")[:_LONGEST_NAMES]
    found = ((each, _cells_of(first, each)) for each in map(re.compile, _SEPARATORS))
    headers = [(each, names) for each, names in found if _are_names(names)]
    texts = [*lines] if headers else []
    for separator, names in headers:
        if all(len(_cells_of(each, separator)) == len(names) for each in texts):
            rows = (_cells_of(each, separator) for each in texts)
            return [names, *(row for row in rows if row != names)]
    return []


def _are_names(names: Sequence[str]) -> bool:
    """Whether these cells are the names of columns, that of a step among them, and no numbers."""
    return step_columns.find_step(names) is not None and not any(name[:1].isdigit() for name in names)


def _cells_of(line: str, separator: re.Pattern[str]) -> list[str]:
    return separator.split(line.strip("|│┃║ \t\r\n"))


def _name_of_texts(table: Iterator[list[str]]) -> str:
    """The name of the column whose texts tell the rows of each step apart; nothing without one.

    The table has its names first; rows with another number of cells are left out.
    """
    names, first = next(table, []), next(table, [])
    step = step_columns.find_step(names)
    if step is None or len(first) != len(names) or step_columns.find_epoch_and_batch(names) is not None:
        return ""
    known = _places_known(names)
    texts = [at for at, cell in enumerate(first) if at not in known and cell.strip()[:1].isalpha()]
    if not any(map(_is_text, (first[at] for at in texts))):
        return ""
    rows = [first, *(row for row in table if len(row) == len(names))]
    of_step = [names.index(step), *known]
    at_steps = [tuple(row[at] for at in of_step) for row in rows]
    if all(before != after for before, after in pairwise(row[0] for row in at_steps)):
        return ""  # the rows of a step follow one another: else these may be launches
    if len({*at_steps}) == len(rows):
        return ""
    return next((names[at] for at in texts if _distinguish(at_steps, [row[at] for row in rows])), "")


def _places_known(names: Sequence[str]) -> list[int]:
    """The places of the columns that state by their names of what each row is."""
    labels = (*step_columns.LABEL_NAMES, step_columns.ATTEMPT_NAME)
    of_data = columns_of(tuple(names)).data
    return [at for at, name in enumerate(names) if at in of_data or name in labels or subject_word(name)]


def _is_text(cell: str) -> bool:
    return numbers_of_cells([cell]) == [None] and not step_columns.is_empty_cell(cell)


def _distinguish(at_steps: Sequence[tuple[str, ...]], cells: Sequence[str]) -> bool:
    """Whether these texts tell the rows of each step apart, and most come again at other steps."""
    are_apart = len({*zip(at_steps, cells, strict=True)}) == len(cells)
    return are_apart and all(map(_is_text, {*cells})) and len({*cells}) * _LEAST_STEPS <= len(cells)

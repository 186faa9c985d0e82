"""Tables in CSV with several rows of each step, told apart by texts: `epoch,layer,norm` above `1,conv,0.5`.

For a file that was given by hand, of which all rows show what such a column is: its texts come again at other
steps, and a step never has the same one twice. A remark, a date or a path does neither.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import ClassVar

from holter.ingest import step_columns
from holter.ingest.console.row_subjects import subject_word
from holter.ingest.console.table_rows import columns_of
from holter.ingest.csv.cell_numbers import numbers_of_cells
from holter.ingest.csv.csv_log import CsvReader
from holter.ingest.offline.whole_file import WholeFile
from holter.types import Batch, Unreadable

_LEAST_STEPS = 2
"""Steps at which each text is, on average."""


class RowsOfTexts(WholeFile):
    """Rows that a column of texts tells apart, as one of models or folds does."""

    name: ClassVar[str] = "rows-of-texts"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The rows, with the text of each as a label; nothing of other tables."""
        name = _name_of_texts(text)
        if name:
            yield from CsvReader(path, {}, [name]).read(io.BytesIO(text.encode()))


def _name_of_texts(text: str) -> str:
    """The name of the column whose texts tell the rows of each step apart; nothing without one."""
    line = text.split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text), delimiter=max(",\t;", key=line.count))
    names = next(reader, [])
    step = step_columns.find_step(names)
    first = next(reader, [])
    if step is None or len(first) != len(names) or step_columns.find_epoch_and_batch(names) is not None:
        return ""
    known = _places_known(names)
    texts = [at for at, cell in enumerate(first) if at not in known and cell.strip()[:1].isalpha()]
    if not any(map(_is_text, (first[at] for at in texts))):
        return ""
    rows = [first, *(row for row in reader if len(row) == len(names))]
    of_step = [names.index(step), *known]
    at_steps = [tuple(row[at] for at in of_step) for row in rows]
    if all(before != after for before, after in pairwise(row[0] for row in at_steps)):
        return ""  # the rows of a step follow one another: else these may be launches
    if len({*at_steps}) == len(rows):
        return ""
    return next((names[at] for at in texts if _tell_apart(at_steps, [row[at] for row in rows])), "")


def _places_known(names: Sequence[str]) -> list[int]:
    """The places of the columns that say by their names of what each row is."""
    labels = (*step_columns.LABEL_NAMES, step_columns.ATTEMPT_NAME)
    of_data = columns_of(tuple(names)).data
    return [at for at, name in enumerate(names) if at in of_data or name in labels or subject_word(name)]


def _is_text(cell: str) -> bool:
    return numbers_of_cells([cell]) == [None] and not step_columns.is_empty_cell(cell)


def _tell_apart(at_steps: Sequence[tuple[str, ...]], cells: Sequence[str]) -> bool:
    """Whether these texts tell the rows of each step apart, and most come again at other steps."""
    are_apart = len({*zip(at_steps, cells, strict=True)}) == len(cells)
    return are_apart and all(map(_is_text, {*cells})) and len({*cells}) * _LEAST_STEPS <= len(cells)

"""Reads losses that name no step, from a file that was given by hand: its rows are taken as the steps.

Rows are numbered from 0: those of a table with a header (`loss,acc` and numbers), lines that repeat a name
and a number (`loss: 0.5`), those of each first name by themselves, and bare numbers, named after a file with
the name of a metric, else after their places. In a table without a header, whose first column counts up
evenly, that column is the step; where the second one counts within the first, an epoch, the step continues
through the epochs. Lines that are the same but for their numbers are such a table, too (`row_forms`). So are
lists of the values of all epochs (`value_histories`).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import ClassVar

from holter.ingest.console.text.messages import messages_of_one
from holter.ingest.console.text.prefixes import COLOUR
from holter.ingest.csv.csv_log import CsvLog
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.bare_rows import (
    BETWEEN_COLUMNS,
    rows_among_others,
    unwrapped,
    with_plain_numbers,
)
from holter.ingest.offline.counted_lines import (
    LONG_TABLE,
    MOST_RESUMED,
    Cells,
    is_number,
    table_of_counted_names,
)
from holter.ingest.offline.glued_rows import separate_names, separate_rows
from holter.ingest.offline.joined_records import separate_records
from holter.ingest.offline.lines_of_any_names import table_of_any_names
from holter.ingest.offline.named_rows import results_behind
from holter.ingest.offline.numbered_lines import numbered_lines
from holter.ingest.offline.numbered_tables import (
    LEAST_COLUMNS,
    UNNAMED,
    encoded,
    named_columns,
    numbered_table,
)
from holter.ingest.offline.passes_of_rows import through_passes
from holter.ingest.offline.printed_arrays import without_arrays
from holter.ingest.offline.repeated_sentences import numbered_sentences
from holter.ingest.offline.results_over_lines import with_numbers_behind
from holter.ingest.offline.row_forms import counted_table
from holter.ingest.offline.text_columns import without_texts
from holter.ingest.offline.value_histories import rows_of_histories
from holter.ingest.offline.values_below_epochs import values_below_epochs
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.rows import batch_from_rows
from holter.types import Batch, Unreadable

_PLACES = re.compile(r"[\[(][ \t]{0,8}\d{1,12}[ \t]{0,8},[ \t]{0,8}\d{1,12}[ \t]{0,8}[\])]")
"""Whole numbers alone in brackets: an epoch and its batch, `(3, 40)`."""
_BAR = re.compile(r"[^|]{0,80}\d%\|[^|]{0,200}\| *\d{1,9}/\d{1,9} \[[^\]]{0,80}\]")
"""A progress bar, to which the text behind it may be glued."""
_COMPLETE_BAR = re.compile(
    r"[ \t]{0,8}(?:(\d{1,9})/\1 )?(?:\[[=>#.-]{3,200}\]|\u2501{3,200}) {0,20}"
    r"(?:-? ?\d{1,6}m?s(?: \d{1,6}[mun\u03bc]?s/\w{1,10})? ?-? )?(?:- )?(?=[A-Za-z])"
)
"""A bar of Keras or one like it that is complete, as of an evaluation, which has no epoch above it."""


class NumberedRows(WholeFile):
    """Rows that name no step, which are read once they have one."""

    name: ClassVar[str] = "numbered-rows"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The rows of the file, without what stands before them unless nothing is read then."""
        text = COLOUR.sub("", text) if "\x1b" in text else text
        messages = messages_of_one(text)
        found = [*self._records(path, messages)]
        if messages != text and not any(isinstance(each, Batch) and each.points for each in found):
            found = [*self._records(path, text)]
        yield from found

    def _records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        if rows := rows_of_histories(text, path.stem):
            yield batch_from_rows(rows)
            return
        text = separate_records(text) or text
        lines = [*map(_without_bar, text.splitlines())]
        lines = with_plain_numbers(without_texts(separate_rows(separate_names(without_arrays(lines)))))
        lines = _unwrapped(with_numbers_behind(lines))
        table = encoded(table_of_counted_names(lines)) or numbered_table(lines, path.stem)
        table = table or encoded(values_below_epochs(lines, path.stem))
        if not table:
            counted = _named_after(path.stem, through_passes(counted_table(lines), lines))
            table = encoded(counted or table_of_any_names(lines))
        numbered = b"" if table else numbered_lines(lines, path.stem)
        if not (table or numbered):
            bare = rows_among_others(lines)
            table = encoded(named_columns(bare, path.stem, []) if bare else [])
        if table:
            for number, launch in enumerate(_launches(table)):
                restarts = number > 0
                for each in CsvLog().reader(path, {}).read(io.BytesIO(launch)):
                    yield replace(each, restarts=restarts) if isinstance(each, Batch) else each
                    restarts = False
            if results := results_behind(lines, table):
                yield from self.read_lines(path, results)
            return
        yield from self.read_lines(path, numbered or numbered_sentences(lines))


def _without_bar(line: str) -> str:
    """The line without the progress bar that it begins with."""
    if "%|" in line:
        return _BAR.sub("", line, count=1)
    complete = _COMPLETE_BAR.match(line)
    return line if complete is None else line[complete.end() :]


def _named_after(name: str, table: Cells) -> Cells:
    """The table, whose single column without a name is named after a file with the name of a metric."""
    if not table or len(table[0]) != LEAST_COLUMNS or not is_metric_name(name):
        return table
    step, of_column = table[0]
    return [[step, name if of_column.startswith(UNNAMED) else of_column], *table[1:]]


def _unwrapped(lines: list[str]) -> list[str]:
    """The lines without what is around their numbers, if they have nothing else; else as they are.

    Whole numbers alone may be places: `(3, 4)`.
    """
    if any(_PLACES.search(line) for line in lines):
        return lines
    bare = [unwrapped(line) for line in lines]
    cells = (cell for line in bare for cell in line.translate(BETWEEN_COLUMNS).split())
    return bare if any("." in line for line in bare) and all(map(is_number, cells)) else lines


def _launches(table: bytes) -> Iterator[bytes]:
    """The table, cut behind launches of a single row, whose first step the next one has again.

    Where other steps have several rows, too, these are not of launches; but a launch or two may resume at the
    last step in a long table.
    """
    if not table.startswith(b"step,"):
        yield table
        return
    header, *rows = table.splitlines(keepends=True)
    begin, cells = 0, [row.rstrip().split(b",") for row in rows]
    kinds = [[bool(cell) for cell in row] for row in cells]
    again = [
        number
        for number in range(1, len(rows))
        if cells[number][0] == cells[number - 1][0] and kinds[number] == kinds[number - 1]
    ]
    is_resumed = len(again) <= MOST_RESUMED and len(rows) >= LONG_TABLE
    if again and (is_resumed or {cells[number][0] for number in again} == {cells[0][0]}):
        for number in again:
            yield b"".join((header, *rows[begin:number]))
            begin = number
    yield b"".join((header, *rows[begin:]))

"""Reads losses that name no step, from a file that was given by hand: its rows are taken as the steps.

Rows are numbered from 0: those of a table with a header (`loss,acc` and numbers), lines that repeat a name
and a number (`loss: 0.5`), those of each first name by themselves, and bare numbers, named after a file with
the name of a metric, else after their places. In a table without a header, whose first column counts up
evenly, that column is the step; where the second one counts within the first, an epoch, the step goes on
through the epochs. Lines that are the same but for their numbers are such a table, too (`row_forms`). So are
lists of the values of all epochs (`value_histories`).
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import chain, zip_longest
from math import nan
from pathlib import PurePath
from typing import ClassVar

from holter.ingest import step_columns
from holter.ingest.console.line.line_counters import Counter as Counts
from holter.ingest.console.line.line_settings import has_settings, is_setting
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.line.line_words import BEFORE_MESSAGE, DATA_SPLIT, STOP_WORDS
from holter.ingest.console.line.shape_reader import shape_of
from holter.ingest.console.text.prefixes import strip_prefixes
from holter.ingest.csv.csv_log import CsvLog
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.bare_rows import (
    BETWEEN_COLUMNS,
    bare_numbers,
    rows_among_others,
    unwrapped,
    with_plain_numbers,
)
from holter.ingest.offline.counted_lines import (
    LONG_TABLE,
    MOST_RESUMED,
    Cells,
    counts_evenly,
    counts_with_repeats,
    is_number,
    layout_of,
    steps_within,
    table_of_counted_names,
)
from holter.ingest.offline.glued_rows import separate_rows
from holter.ingest.offline.joined_records import separate_records
from holter.ingest.offline.measured_columns import LEAST_FRACTIONS, LEAST_OF_NUMBERS, are_curves, are_measured
from holter.ingest.offline.passes_of_rows import through_passes
from holter.ingest.offline.printed_arrays import without_arrays
from holter.ingest.offline.rare_evaluations import rare_evaluations
from holter.ingest.offline.repeated_sentences import numbered_sentences
from holter.ingest.offline.results_over_lines import with_numbers_behind
from holter.ingest.offline.row_forms import counted_table
from holter.ingest.offline.table_headers import is_short_table, with_signs_of_header
from holter.ingest.offline.text_columns import without_texts
from holter.ingest.offline.value_histories import rows_of_histories
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.rows import batch_from_rows
from holter.ingest.step_columns import LARGEST_STEP
from holter.types import Batch, Unreadable

_PLACES = re.compile(r"[\[(][ \t]{0,8}\d{1,12}[ \t]{0,8},[ \t]{0,8}\d{1,12}[ \t]{0,8}[\])]")
"""Whole numbers alone in brackets: an epoch and its batch, `(3, 40)`."""
_INDEX = re.compile(r"Unnamed: 0(?=[,;\t])")
"""What pandas calls the column of its index."""
_INDEX_NAME = "index"
_ABSENT = frozenset({"-", "--", "None", "null", "N/A", "NA"})
"""What stands for a value that is missing."""
_NAME_OF_PLACE = re.compile(
    r"(?i)(?:col(?:umn)?|field|var(?:iable)?|series|data|value)[ _-]?\d{1,3}|[vxy]\d{1,3}"
)
"""What a program calls a column of which it knows nothing but its place."""
UNNAMED = "column "
"""What the names of columns begin with that are named after their places."""
_LEAST_ROWS = 3
_LEAST_COLUMNS = 2
_NO_DIGITS = str.maketrans("", "", "0123456789")
_LEAST_OF_OPENING = 12
"""Characters of the first line of a text that shows another launch where it comes again."""
_LEAST_OF_COLUMNS = 0.95
"""Of the lines of a table without a header that have its numbers; one may always be broken."""
_MOST_BELOW_EPOCH = 4
_MOST_OTHERS = 0.1
"""Of the lines of a text of epochs with numbers below them that are others."""
_EPOCH = re.compile(r"(?i)(?:\[ info: |\W{0,10})epoch\W{0,4}(\d{1,9})(?: ?/ ?\d{1,9})?\W{0,10}")
_ABOUT_METRICS = re.compile(
    r"(?i)\b(?:(?:eval|valid|test|train)\w{0,10}(?: set)?|val(?: set)?|metrics?|results?|scores?)\b"
)
"""Words before the first metric of a line: `Eval metrics - AUC: 0.5`."""
_EPOCH_VALUE = re.compile(
    r"(?i)\W{0,10}epoch\W{0,4}(\d{1,9})[\s:;,=|>-]{1,10}([-+]?[\d.]{1,40}(?:e[-+]?\d{1,4})?)"
)
_BAR = re.compile(r"[^|]{0,80}\d%\|[^|]{0,200}\| *\d{1,9}/\d{1,9} \[[^\]]{0,80}\]")
"""A progress bar, to which the text behind it may be glued."""
_COUNT_AHEAD = re.compile(r"^\s{0,8}(\d{1,9}) ?: {1,8}(?=[-+.\d])")
"""What a row counts, with a colon: `12: 0.31`."""
_LEAST_EVEN = 0.5
"""Of the distances between what the rows of a file with the name of a metric count that are the usual one."""
_AROUND_DATA = " \t-=*#~_:<>[]()."
"""What may be around the name of the data in a heading."""
_LEAST_OF_LINES = 0.9
"""Of the lines of a text that have the same names, which may be of anything."""
_MOST_FORMS = 8
"""Forms of lines in turn."""
_Shape = tuple[str, ...]
_BARE: _Shape = ("", "")
"""The shape of a number alone."""


class NumberedRows(WholeFile):
    """Rows that name no step, which are read once they have one."""

    name: ClassVar[str] = "numbered-rows"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The rows of the file, without what stands before them unless nothing is read then."""
        messages = _messages_of_one(text)
        found = [*self._records(path, messages)]
        if messages != text and not any(isinstance(each, Batch) and each.points for each in found):
            found = [*self._records(path, text)]
        yield from found

    def _records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        if rows := rows_of_histories(text, path.stem):
            yield batch_from_rows(rows)
            return
        text = separate_records(text) or text
        lines = [_BAR.sub("", line, count=1) if "%|" in line else line for line in text.splitlines()]
        lines = with_plain_numbers(without_texts(separate_rows(without_arrays(lines))))
        lines = _unwrapped(with_numbers_behind(lines))
        table = _encoded(table_of_counted_names(lines)) or _numbered_table(lines, path.stem)
        table = table or _encoded(_below_epochs(lines, path.stem))
        if not table:
            counted = _named_after(path.stem, through_passes(counted_table(lines), lines))
            table = _encoded(counted or _table_of_any_names(lines))
        numbered = b"" if table else _numbered_lines(lines, path.stem)
        if not (table or numbered):
            bare = rows_among_others(lines)
            table = _encoded(_named_columns(bare, path.stem, []) if bare else [])
        if table:
            for number, launch in enumerate(_launches(table)):
                restarts = number > 0
                for each in CsvLog().reader(path, {}).read(io.BytesIO(launch)):
                    yield replace(each, restarts=restarts) if isinstance(each, Batch) else each
                    restarts = False
            return
        yield from self.read_lines(path, numbered or numbered_sentences(lines))


def _named_after(name: str, table: Cells) -> Cells:
    """The table, whose single column without a name is named after a file with the name of a metric."""
    if not table or len(table[0]) != _LEAST_COLUMNS or not is_metric_name(name):
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


def _messages_of_one(text: str) -> str:
    """The messages of the lines of a text that one writer printed, if something stands before most of them.

    Others are the rest of a message. What differs before the lines may be what their rows count: `12: 0.31`.
    """
    lines = [strip_prefixes(line.encode()) for line in text.splitlines()]
    prefixed = [line for line in lines if line.prefix or line.logged]
    if 2 * len(prefixed) < len(lines) or len({line.labels for line in prefixed}) != 1:
        return text
    return "\n".join(line.message for line in lines)


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


def _encoded(table: Cells) -> bytes:
    return "\n".join((*map(",".join, table), "")).encode() if table else b""


def _numbered_table(lines: Sequence[str], name: str) -> bytes | None:
    """The table with a column of steps; None if these lines are no table of numbers with a metric."""
    given, lines = lines, with_signs_of_header(lines)
    if len(lines) <= _LEAST_ROWS and not is_short_table(lines, may_count=lines is not given):
        return None
    lines = _without_places([_INDEX.sub("", lines[0]), *lines[1:]])
    lines = lines[1:] if lines[0].startswith("#{") else lines  # Monitor of Stable-Baselines
    stated = _stated_names(lines)
    if step_columns.are_settings(stated):  # what was tried, and what came of it
        return None
    if cells := _columns([line for line in lines if line != lines[0]] if stated else lines):
        if lines[0][:1] == " " and len(stated) == len(cells[0]) - 1:  # the index of a data frame
            stated = [_INDEX_NAME, *stated]
        table = _counted_columns(cells, name, stated) or _named_columns(cells, name, stated)
        if table:
            return _encoded(table)
    delimiter = max(",\t;", key=lines[0].count)
    lines = _without_ends(lines, delimiter)
    names, first = lines[0].split(delimiter), lines[1].split(delimiter)
    numbers = [is_number(cell) for cell in first]
    cells = [line.split(delimiter) for line in lines[1:] if line]
    is_any_measured = _is_of_metric(name, cells) or are_curves(cells)
    if (
        len(names) != len(first)
        or not numbers[0]  # each row names what it is about, which is no step
        or not all(is_number(line.split(delimiter)[0]) for line in lines[1 : _LEAST_ROWS + 1])
        or any(map(is_number, names))
        or not any(
            (is_any_measured or is_metric_name(of_column)) and number
            for of_column, number in zip(names, numbers, strict=True)
        )
    ):
        return None
    if step_columns.find_step(names) is not None:  # with another separator than a format has
        return "\n".join((*(line.replace(delimiter, ",") for line in lines), "")).encode()
    if counts_evenly([line.split(delimiter)[0] for line in lines[1:] if line]):
        return _encoded([["step", *names[1:]], *(line.split(delimiter) for line in lines[1:] if line)])
    cells = [line.split(delimiter) for line in lines[1:] if line]
    if all(len(row) == len(names) for row in cells) and (rising := _rising_first(names, cells)):
        return _encoded(rising)
    rows = (f"{number}{delimiter}{line}" if line else line for number, line in enumerate(lines[1:]))
    return "\n".join((f"step{delimiter}{lines[0]}", *rows, "")).encode()


def _rising_first(names: Sequence[str], rows: Cells) -> Cells:
    """The table with the column first that counts by its name and goes up; nothing without any."""
    columns = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    step = step_columns.find_rising(columns)
    if step is None:
        return []
    at = names.index(step)
    return [["step", *names[:at], *names[at + 1 :]], *([row[at], *row[:at], *row[at + 1 :]] for row in rows)]


def _without_places(lines: list[str]) -> list[str]:
    """The lines without a first one of the numbers of their columns, as pandas writes it: `0`, `0,1,2`."""
    first = lines[0].split(",")
    if first != [*map(str, range(len(first)))] or not all("." in line for line in lines[1:] if line):
        return lines
    return lines[1:] if all(len(line.split(",")) == len(first) for line in lines[1:] if line) else lines


def _without_ends(lines: Sequence[str], delimiter: str) -> list[str]:
    """The lines without the delimiters behind their last cells; not without those before empty cells."""
    count = lines[0].rstrip(delimiter).count(delimiter)
    found = ((line, max(line.count(delimiter) - count, 0)) for line in lines)
    return [line[: len(line) - more] if line.endswith(more * delimiter) else line for line, more in found]


def _stated_names(lines: Sequence[str]) -> list[str]:
    """The words of a header above columns, with or without a sign before them; nothing if there is none.

    Those of a sentence are none: `saved to disk`.
    """
    names = lines[0].strip("# ").translate(BETWEEN_COLUMNS).split()
    is_sentence = not STOP_WORDS.isdisjoint(names) and not any(map(is_metric_name, names))
    return [] if is_sentence or any(map(is_number, names)) else names


def _columns(lines: Sequence[str]) -> Cells:
    """The cells of lines of as many numbers each, but for a few other lines; nothing of other texts.

    Words may be behind the numbers, and cells may be empty.
    """
    texts = (_COUNT_AHEAD.sub(r"\1 ", line).translate(BETWEEN_COLUMNS) for line in lines)
    rows = [["" if cell in _ABSENT else cell for cell in cells] for text in texts if (cells := text.split())]
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    numbers = [row[:width] for row in rows if len(row) >= width and _are_cells(row, width)]
    most_broken = max(len(rows) >= LEAST_OF_NUMBERS, (1 - _LEAST_OF_COLUMNS) * len(rows))
    return numbers if len(rows) - len(numbers) <= most_broken else []


def _are_cells(row: Sequence[str], width: int) -> bool:
    """Whether so many cells begin a row, of which the first is a number; only words are behind them."""
    first, *cells = row[:width]
    are_numbers = is_number(first) and all(not cell or is_number(cell) for cell in cells)
    return are_numbers and not any(map(is_number, row[width : width + 1]))


def _whole(cell: str) -> str:
    """A whole number as digits alone: `1.0e+00` is 1."""
    number = float(cell or nan)
    return str(int(number)) if abs(number) <= LARGEST_STEP and number == int(number) else cell


def _counted_columns(rows: Cells, name: str, stated: Sequence[str]) -> Cells:
    """The table with the names of its columns if the first one counts up; nothing if it does not.

    It counts evenly, from its first number again with each launch, or with several rows of each number before
    a single other column of fractions, or it is an epoch in which the second one counts; but a column that
    counts by its name goes before one that does not. Without `stated` names, a single other column is named
    after a file with the name of a metric.
    """
    rows = [[*map(_whole, row[:_LEAST_COLUMNS]), *row[_LEAST_COLUMNS:]] for row in rows]
    if len(rows[0]) < _LEAST_COLUMNS or not all(row[0].isdecimal() for row in rows):
        return []
    if stated and len(stated) != len(rows[0]):
        return []  # a name may have several words
    if step_columns.find_any_step(stated[:1]) is None and any(map(is_metric_name, stated)):
        rising = _rising_first(stated, rows)  # `total,steps,reward`
        if rising:
            return rising
    names = [*stated] or [f"{UNNAMED}{number}" for number in range(1, len(rows[0]) + 1)]
    is_named = len(names) == _LEAST_COLUMNS and not stated and is_metric_name(name)
    is_step = len(rows) == 1 and step_columns.find_step(stated) == names[0]
    if is_step or counts_evenly([row[0] for row in rows], *((_LEAST_EVEN,) if is_named else ())):
        return [["step", *([name] if is_named else names[1:])], *rows]
    if len(names) == _LEAST_COLUMNS and not stated and are_measured([row[1:] for row in rows]):
        columns = [*zip(*rows, strict=True)]
        return [["step", name if is_named else names[1]], *rows] if counts_with_repeats(columns, 0) else []
    if len(names) <= _LEAST_COLUMNS or not all(row[1].isdecimal() for row in rows):
        return []
    steps = steps_within([(int(row[0]), int(row[1])) for row in rows])
    if not steps:
        return []
    return [
        ["step", "epoch", *names[2:]],
        *([str(step), row[0], *row[2:]] for step, row in zip(steps, rows, strict=True)),
    ]


def _named_columns(rows: Cells, name: str, stated: Sequence[str]) -> Cells:
    """The table with numbers of its rows, if a column or the file has the name of a metric.

    Without either, numbers that are measured are enough, where nothing is stated but places, and curves below
    any names: a person gave the file as one with measurements.
    """
    if stated:
        is_known = any(map(is_metric_name, stated)) or _is_of_metric(name, rows)
        is_known |= {*stated} >= step_columns.OF_EPISODES
        is_known |= all(map(_NAME_OF_PLACE.fullmatch, stated)) and are_measured(rows)
        is_known |= are_curves(rows)
        rising = _rising_first(stated, rows) if len(stated) == len(rows[0]) else []
        if rising and (is_known or len(rows) >= LEAST_OF_NUMBERS):
            return rising
        names = [*stated] if len(stated) == len(rows[0]) and is_known else []
    elif is_metric_name(name):
        names = [name, *(f"{name}_{number}" for number in range(2, len(rows[0]) + 1))]
    elif are_measured(rows):
        names = [f"{UNNAMED}{number}" for number in range(1, len(rows[0]) + 1)]
    else:
        names = []
    return [["step", *names], *([str(number), *row] for number, row in enumerate(rows))] if names else []


def _is_of_metric(name: str, rows: Cells) -> bool:
    """Whether a file has the name of a metric and measurements, as of `gen,disc` in `train_loss.csv`."""
    return is_metric_name(name) and are_measured(rows)


def _below_epochs(lines: Sequence[str], name: str) -> Cells:
    """Bare numbers below or behind epochs, as many of each: at this epoch; nothing for other texts."""
    texts = [line.strip() for line in lines if line.strip()]
    epochs: list[tuple[str, list[str]]] = []
    others = 0
    for text in texts:
        if (heading := _EPOCH.fullmatch(text)) is not None:
            epochs.append((heading[1], []))
        elif (row := _EPOCH_VALUE.fullmatch(text)) is not None and is_number(row[2]):
            epochs.append((row[1], [row[2]]))
        elif epochs and (is_number(text) or bare_numbers(text)):
            epochs[-1][1].extend(bare_numbers(text) or [text])
        else:
            others += 1  # what the program prints before it begins and when it ends
    if others > _MOST_OTHERS * len(texts):
        return []
    width = len(epochs[0][1]) if epochs else 0
    is_last_open = bool(epochs) and len(epochs[-1][1]) < width
    if len({epoch for epoch, _ in epochs}) < _LEAST_ROWS or not 0 < width <= _MOST_BELOW_EPOCH:
        return []
    if any(len(numbers) != width for _, numbers in epochs[: len(epochs) - is_last_open]):
        return []
    names = [name, *(f"{name}_{number}" for number in range(2, width + 1))]
    if width > 1 and not is_metric_name(name):
        names = [f"{UNNAMED}{number}" for number in range(1, width + 1)]
    rows = ([epoch, *numbers, *[""] * (width - len(numbers))] for epoch, numbers in epochs)
    return [["step", *names], *rows]


def _table_of_any_names(lines: Sequence[str]) -> Cells:
    """Lines that are the same but for their numbers, each with a name, numbered; nothing of other texts.

    So are lines of a few forms in turn, as many of each; the last ones of a text may be a part of them.
    """
    rows = [split_numbers(line) for line in lines if line.strip()]
    layouts = [*map(layout_of, rows)]
    counts = Counter(layouts)
    most = max(counts.values(), default=0)
    forms = {texts: number for texts, number in counts.items() if number >= most - 1}
    if len(forms) > _MOST_FORMS or sum(forms.values()) < _LEAST_OF_LINES * len(rows):
        return []
    cells: dict[_Shape, Cells] = {texts: [] for texts in forms}
    for texts, row in zip(layouts, rows, strict=True):
        if texts in cells:
            cells[texts].append(row[1::2])
    names = [_names_of_any(texts, of_form) for texts, of_form in cells.items()]
    header = [*chain(*names)]
    if not all(names) or len({*header}) < len(header):
        return []
    in_turn = zip_longest(*cells.values(), fillvalue=())
    missing = [[""] * len(of_form) for of_form in names]
    return [
        ["step", *header],
        *(
            [str(number), *chain(*(row or gap for row, gap in zip(block, missing, strict=True)))]
            for number, block in enumerate(in_turn)
        ),
    ]


def _names_of_any(texts: _Shape, cells: Cells) -> list[str]:
    """The names of the numbers of a form whose numbers are measurements, none of a known metric."""
    shape = shape_of(texts)
    names = [field.name for field in shape.metrics]
    if shape.counters or not are_measured(cells) or any(map(is_metric_name, names)):
        return []
    return names if len(names) >= len(texts) - 1 else []


def _numbered_lines(lines: Sequence[str], name: str) -> bytes:
    """The lines that repeat named numbers, or nothing but a number, each with the count of its series."""
    shapes = [_shape_with_metric(line) for line in lines]
    series = {shape: _first_series(shape) for shape in {*shapes} if shape}
    counts = Counter(series[shape] for shape in shapes if shape)
    frequent = {shape for shape, first in series.items() if counts[first] >= _LEAST_ROWS}
    if not is_metric_name(name):
        frequent.discard(_BARE)  # numbers of anything
    if others := _others_of_blocks(lines, [shape for shape in shapes if shape in frequent]):
        frequent |= others
        series |= {shape: _first_series(shape) for shape in others}
        shapes = [shape or _texts_in(others, line) for line, shape in zip(lines, shapes, strict=True)]
    if not _is_about(lines, shapes, frequent):
        return b""
    seen: Counter[Hashable] = Counter()
    numbered = []
    opening = _opening(lines, shapes)
    rare = rare_evaluations(Counter(shape for shape in shapes if shape in frequent), _names_of)
    for line, shape in zip(lines, shapes, strict=True):
        if shape in frequent:
            named = line if any(text.strip() for text in shape) else f"{name}: {line.strip()}"
            count = max(seen.values(), default=1) - 1 if shape in rare else seen[series[shape]]
            step = f"step: {count}"
            is_evaluation = bool(shape_of(shape).counters)
            numbered.append(f"{named} {step}\n" if is_evaluation else f"{step}, {named.lstrip()}\n")
            seen[series[shape]] += shape not in rare
        elif opening and line == opening:  # the program was started again
            seen.clear()
        elif (
            shape and shape != _BARE and seen
        ):  # another row, without some values, or results behind the rows
            is_row = shape[0] == "{" and any({*shape[1:]} & {*each[1:]} for each in frequent)
            step = f"step: {max(seen.values()) - (not is_row)}"
            numbered.append(f"{step}, {line.lstrip(' *=#-')}\n")
    return "".join(numbered).encode()


def _first_series(shape: _Shape) -> Hashable:
    """The first value of a row by its data and name: rows of several shapes that have it count together."""
    known = shape_of(shape) if shape[0] != "{" else None
    return shape if known is None or not known.metrics else (known.split, known.metrics[0].name)


def _is_about(lines: Sequence[str], shapes: Sequence[_Shape], frequent: Set[_Shape]) -> bool:
    """Whether a text is about its rows: half of its lines, or enough measurements between any lines.

    The `frequent` shapes are those of its rows. A learning rate between other lines is a setting.
    """
    rows = [(line, shape) for line, shape in zip(lines, shapes, strict=True) if shape in frequent]
    if 2 * len(rows) >= sum(any(map(str.isalnum, line)) for line in lines):
        return True
    if any(DATA_SPLIT.fullmatch(line.strip(_AROUND_DATA)) for line in {*lines}):
        return False  # what is below `--- TEST ---` and what below `--- TRAIN ---` would be one series
    if 2 * len({shape for _, shape in rows}) > len(rows):
        return False  # each has other words: `map-395 0.0 <-> abc-207 1.0`
    measured = [line for line, shape in rows if not all(map(_is_rate, _names_of(shape)))]
    fractions = sum("." in "".join(split_numbers(line)[1::2]) for line in measured)
    return len(measured) >= LEAST_OF_NUMBERS and fractions >= LEAST_FRACTIONS * len(measured)


def _is_rate(name: str) -> bool:
    return is_setting(name) and not has_settings([name])


def _names_of(shape: _Shape) -> list[str]:
    """The names of the values of a row."""
    return [*shape[1:]] if shape[0] == "{" else [field.name for field in shape_of(shape).metrics]


def _others_of_blocks(lines: Sequence[str], rows: Sequence[_Shape]) -> set[_Shape]:
    """The shapes of other lines with a name and a number that come as often as each of the rows does.

    `Steps taken: 16` below `average reward: -71.1`, over and over; the last block may be a part of one.
    """
    counts = Counter(rows).values()
    least, most = min(counts, default=0), max(counts, default=0)
    if most - least > 1:
        return set()
    others = Counter(texts for line in lines if len(texts := tuple(split_numbers(line)[::2])) == 2)
    return {
        texts
        for texts, count in others.items()
        if least <= count <= most and shape_of(texts).metrics and texts[0].rstrip()[-1:] in (":", "=")
    }


def _texts_in(known: Set[_Shape], line: str) -> _Shape:
    """The texts around the numbers of a line if they are known ones."""
    texts = tuple(split_numbers(line)[::2])
    return texts if texts in known else ()


def _opening(lines: Sequence[str], shapes: Sequence[_Shape]) -> str:
    """The first line of a text, if it is none of its rows and is not printed before each of them again.

    Lines that differ from it in their digits alone count as well: a value may be printed twice.
    """
    first = next(((line, shape) for line, shape in zip(lines, shapes, strict=True) if line.strip()), ("", ()))
    if first[1] or len(first[0].strip()) < _LEAST_OF_OPENING:
        return ""
    most = max(Counter(filter(None, shapes)).values(), default=0)
    kind = first[0].translate(_NO_DIGITS)
    alike = sum(line.translate(_NO_DIGITS) == kind for line in lines)
    return "" if alike * _LEAST_ROWS > most else first[0]


def _shape_with_metric(line: str) -> _Shape:
    """The text around the numbers of a line; nothing if it counts anything or begins with no metric."""
    parts = split_numbers(line)
    texts = tuple(parts[::2])
    if len(parts) == 3 and not "".join(texts).strip():
        return _BARE
    shape = shape_of(texts)
    if _is_batch_of_evaluation(shape) and shape.metrics:
        return texts
    names = [field.name for field in shape.metrics]
    if names[1:] and names[0].lower() == "progress":  # a part of the training, without a step
        del names[0]
    keys = _keys_of_object(line)
    is_about = sum(map(is_metric_name, names)) > 1 or any(map(is_metric_name, names if keys else names[:1]))
    if shape.counters or not is_about:
        return ()
    if keys:
        return keys
    first = shape.metrics[0].name
    before = _ABOUT_METRICS.sub("", "".join(texts[: shape.metrics[0].index + 1]).partition(first)[0])
    is_module = "." in first and bool(before.strip())  # `2026-01-01 10:00:00 INFO web.access 200`
    return texts if BEFORE_MESSAGE.fullmatch(before) is not None and not is_module else ()


def _keys_of_object(line: str) -> _Shape:
    """The keys of an object of JSON, which are the shape of its line: a value may be a number or a text."""
    try:
        value = json.loads(line) if line[:1] == "{" else None
    except ValueError:
        return ()
    return ("{", *value) if isinstance(value, dict) else ()


def _is_batch_of_evaluation(shape: LineShape) -> bool:
    """Whether a line counts nothing but the batches of an evaluation: `Evaluated 10/287 with loss 0.5`."""
    return bool(shape.split) and {field.counter for field in shape.counters} == {Counts.BATCH}

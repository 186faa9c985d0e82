"""Tables of numbers that name no step, with a column of steps: one that counts up, or their rows numbered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import nan

from holter.ingest import step_columns
from holter.ingest.console.line.line_words import STOP_WORDS
from holter.ingest.console.writers.repeated_rows import MOST_REPEATS
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.bare_rows import BETWEEN_COLUMNS
from holter.ingest.offline.counted_lines import (
    Cells,
    are_counts,
    counts_evenly,
    counts_with_repeats,
    is_number,
    steps_within,
)
from holter.ingest.offline.measured_columns import LEAST_OF_NUMBERS, are_curves, are_measured
from holter.ingest.offline.table_headers import is_short_table, with_signs_of_header
from holter.ingest.step_columns import LARGEST_STEP

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
LEAST_ROWS = 3
"""What is fewer rows may be anything."""
LEAST_COLUMNS = 2
"""A step and a value."""
_LEAST_OF_COLUMNS = 0.95
"""Of the lines of a table without a header that have its numbers; one may always be broken."""
_COUNT_AHEAD = re.compile(r"^\s{0,8}(\d{1,9}) ?: {1,8}(?=[-+.\d])")
"""What a row counts, with a colon: `12: 0.31`."""
_LEAST_EVEN = 0.5
"""Of the distances between what the rows of a file with the name of a metric count that are the usual one."""


def encoded(table: Cells) -> bytes:
    """The table in CSV; nothing of an empty one."""
    return "\n".join((*map(",".join, table), "")).encode() if table else b""


def numbered_table(lines: Sequence[str], name: str) -> bytes | None:
    """The table with a column of steps; None if these lines are no table of numbers with a metric."""
    given, lines = lines, with_signs_of_header(lines)
    if len(lines) <= LEAST_ROWS and not is_short_table(lines, may_count=lines is not given):
        return None
    lines = _without_places([_INDEX.sub("", lines[0]), *lines[1:]])
    lines = lines[1:] if lines[0].startswith("#{") else lines  # Monitor of Stable-Baselines
    stated = _stated_names(lines)
    if step_columns.are_settings(stated):  # what was tried, and what came of it
        return None
    if cells := _columns([line for line in lines if line != lines[0]] if stated else lines):
        if lines[0][:1] == " " and len(stated) == len(cells[0]) - 1:  # the index of a data frame
            stated = [_INDEX_NAME, *stated]
        table = _counted_columns(cells, name, stated) or named_columns(cells, name, stated)
        if table:
            return encoded(table)
    delimiter = max(",\t;", key=lines[0].count)
    lines = _without_ends(lines, delimiter)
    names, first = lines[0].split(delimiter), lines[1].split(delimiter)
    numbers = [is_number(cell) for cell in first]
    cells = [line.split(delimiter) for line in lines[1:] if line]
    is_any_measured = _is_of_metric(name, cells) or are_curves(cells)
    if (
        len(names) != len(first)
        or not numbers[0]  # each row names what it is about, which is no step
        or not all(is_number(line.split(delimiter)[0]) for line in lines[1 : LEAST_ROWS + 1])
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
        return encoded([["step", *names[1:]], *(line.split(delimiter) for line in lines[1:] if line)])
    cells = [line.split(delimiter) for line in lines[1:] if line]
    if all(len(row) == len(names) for row in cells) and (rising := _rising_first(names, cells)):
        return encoded(rising)
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
    rows = [[*map(_whole, row[:LEAST_COLUMNS]), *row[LEAST_COLUMNS:]] for row in rows]
    if len(rows[0]) < LEAST_COLUMNS or not are_counts([row[0] for row in rows]):
        return []
    if stated and len(stated) != len(rows[0]):
        return []  # a name may have several words
    if step_columns.find_any_step(stated[:1]) is None and any(map(is_metric_name, stated)):
        rising = _rising_first(stated, rows)  # `total,steps,reward`
        if rising:
            return rising
    names = [*stated] or [f"{UNNAMED}{number}" for number in range(1, len(rows[0]) + 1)]
    is_named = len(names) == LEAST_COLUMNS and not stated and is_metric_name(name)
    is_step = len(rows) == 1 and step_columns.find_step(stated) == names[0]
    if is_step or counts_evenly([row[0] for row in rows], *((_LEAST_EVEN,) if is_named else ())):
        return [["step", *([name] if is_named else names[1:])], *rows]
    if len(names) == LEAST_COLUMNS and not stated and are_measured([row[1:] for row in rows]):
        return _rows_of_counts(rows, name if is_named else names[1])
    if len(names) <= LEAST_COLUMNS or not are_counts([row[1] for row in rows]):
        return []
    steps = steps_within([(int(row[0]), int(row[1])) for row in rows])
    if not steps:
        return []
    return [
        ["step", "epoch", *names[2:]],
        *([str(step), row[0], *row[2:]] for step, row in zip(steps, rows, strict=True)),
    ]


def _rows_of_counts(rows: Cells, name: str) -> Cells:
    """The table of a count and a value with several rows of most counts; nothing if it does not count.

    Such rows are those of processes, as long as a text may have so many: else they are counted within epochs.
    """
    columns = [*zip(*rows, strict=True)]
    if not counts_with_repeats(columns, 0):
        return []
    if len(rows) <= MOST_REPEATS * len({*columns[0]}):
        return [["step", name], *rows]
    return [["step", "epoch", name], *([str(number), *row] for number, row in enumerate(rows))]


def named_columns(rows: Cells, name: str, stated: Sequence[str]) -> Cells:
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

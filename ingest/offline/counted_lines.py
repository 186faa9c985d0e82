"""Finds lines of a text that are the same but for their numbers, of which one counts up: a table of records.

`E: 0 | A: 0.11 | R: -0.79`, `(datetime.datetime(2017, 7, 19, 15, 49), 0, 0.001, 43.49)`: a person who sees a
column of such lines takes the number that goes up by as much in each of them for the step, and the others for
what was measured there, whatever they are called.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from holter.ingest.console.line_fields import number_fields
from holter.ingest.console.line_tokens import split_numbers
from holter.ingest.console.line_words import CALENDAR

_LEAST_LINES = 5
_LEAST_SHARE = 0.25
"""Of the lines of a text that are of the layout."""
_LEAST_EVEN = 0.8
"""Of the distances between lines that are the usual one: trainings in turn begin anew."""
_MOST_BEGINNINGS = 8
"""Times that the numbers begin anew: a table that comes more often is one of results."""
_MOST_NUMBERS = 100


def counted_table(lines: Sequence[str]) -> list[list[str]]:
    """The names and the rows of the most frequent layout with a number that counts; nothing without one."""
    by_texts: defaultdict[tuple[str, ...], list[list[str]]] = defaultdict(list)
    for line in lines:
        parts = split_numbers(line)
        if 5 <= len(parts) <= 2 * _MOST_NUMBERS:
            by_texts[tuple(parts[::2])].append(parts[1::2])
    texts = max(by_texts, key=lambda each: len(by_texts[each]), default=())
    rows = by_texts[texts] if texts else []
    if len(rows) < max(_LEAST_LINES, _LEAST_SHARE * sum(map(bool, lines))):
        return []
    columns = list(zip(*rows, strict=True))
    is_date = [text.strip(" ([").rpartition(" ")[2] in CALENDAR for text in texts]
    step = next(
        (index for index, column in enumerate(columns) if not is_date[index] and counts_evenly(column)), None
    )
    if step is None:
        return []
    names = _names(texts, len(columns))
    chosen = [
        index
        for index, column in enumerate(columns)
        if index > step and len(set(column)) > 1 and all(is_number(text.replace(",", "")) for text in column)
    ]
    if not any("." in number for index in chosen for number in columns[index]):
        return []  # counts of other things
    header = ["step", *(names[index] for index in chosen)]
    return [header, *([row[step], *(row[index].replace(",", "") for index in chosen)] for row in rows)]


def counts_evenly(column: Sequence[str]) -> bool:
    """Whether these numbers, of several lines, go up evenly, but for trainings that begin anew."""
    if not all(number.isdecimal() and len(number) < 16 for number in column):
        return False
    numbers = [*map(int, column)]
    distances = [after - before for before, after in pairwise(numbers)]
    usual = max(set(distances), key=distances.count)
    even = sum(distance == usual for distance in distances)
    back = sum(
        distance < 0 and after == numbers[0] for distance, after in zip(distances, numbers[1:], strict=True)
    )
    is_even = even + back == len(distances) and even >= _LEAST_EVEN * len(distances)
    return usual > 0 and is_even and back <= _MOST_BEGINNINGS


def _names(texts: tuple[str, ...], count: int) -> list[str]:
    """The names of the numbers of a layout; of those without one, their places."""
    named = {field.index: field.name for field in number_fields(texts) if field.name}
    names: list[str] = []
    for index in range(count):
        name = named.get(index, f"column {index + 1}").replace(",", " ")
        names.append(name if name not in names else f"{name} {index + 1}")
    return names


def is_number(cell: str) -> bool:
    """Whether a cell of a table is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True

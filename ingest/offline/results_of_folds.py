"""Reads the results of folds, seeds or the like of a program that prints nothing else of its trainings.

For a file that was given by hand, and of which nothing else is read: `Fold 1/5: 80 rows`, and some lines
below `Best val acc: 40.4%`; or `Fold 1 R2: 0.44` alone, and behind the last one `OOF R2: 0.41`, which is of
all. They are at the step 0, each with the label of its fold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import nan
from pathlib import PurePath
from typing import ClassVar, NamedTuple

from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.line.line_shapes import LineShape, measured_values
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.line.line_words import BEFORE_MESSAGE
from holter.ingest.console.line.names_of_rows import text_before
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import Batch, Unreadable, labels_of

_WORD = r"(?P<word>fold|seed|split|trial|repetition|repeat|experiment) ?[:=#_-]? ?"
_HEADING = re.compile(
    r"(?im)^[^\w\n]{0,40}(?:(?:start|begin|runn|train)(?:n?ing)? )?" + _WORD + r"(?P<number>\d{1,4})"
    r"(?: ?(?:/|of) ?\d{1,4})?(?![\d.\w%/])(?![^\n]*(?:epoch|step|iter|loss|acc))"
)
"""The heading of a training, with anything behind its number: `Fold 1/5: 80 train / 20 val rows`."""
_NAMED = re.compile(rf"(?i)\b{_WORD}\d")
"""The name of a training, which nothing is read of a text without."""
_BEFORE_NUMBER = re.compile(rf"(?i)\b{_WORD}$")
"""The same as what is before its number."""
_LEAST_PARTS = 2
"""Folds that have a result of the same name: what is behind the last one alone is of all of them."""
_LONGEST, _MOST_LINES = 200, 2**16
"""Characters of a line of results, and lines of a text in which results are looked for."""
_Results = dict[str, float]


class _PartResults(NamedTuple):
    """A training by its word and number, and the first result of each name of it."""

    word: str
    number: str
    results: _Results


class ResultsOfFolds(WholeFile):
    """Results below the headings of folds, without any epoch or step."""

    name: ClassVar[str] = "results-of-folds"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The results that several folds have; nothing of a text with a single one, or with one twice."""
        parts, of_all = _parts(text)
        counted = Counter(name for part in parts for name in part.results)
        rows = [
            LogRow(0, nan, shared, labels_of({word: number}))
            for word, number, results in parts
            if (shared := {name: value for name, value in results.items() if counted[name] >= _LEAST_PARTS})
        ]
        if rows and len({row.labels for row in rows}) == len(rows):
            of_all = {name: value for name, value in of_all.items() if name not in counted}
            yield batch_from_rows([*rows, LogRow(0, nan, of_all)] if of_all else rows)


def _parts(text: str) -> tuple[list[_PartResults], _Results]:
    """The trainings of a text with the first result of each name, and those of all behind the last one.

    Behind headings, none is known to be of all.
    """
    parts: list[_PartResults] = []
    of_all: _Results = {}
    states = False
    """Whether the last training was stated in the line of its results: nothing below that is of it."""
    for line in text.splitlines()[:_MOST_LINES] if _NAMED.search(text) is not None else ():
        if len(line) <= _LONGEST and (stated := _stated_part(line)) is not None:
            states, of_all = True, {}
            if (
                not parts
                or parts[-1][:2] != stated[:2]
                or not parts[-1].results.keys().isdisjoint(stated.results)
            ):
                parts.append(stated)
            else:
                parts[-1].results.update(stated.results)
        elif (heading := _HEADING.match(line)) is not None:
            states, of_all = False, {}
            parts.append(_PartResults(heading["word"].lower(), _without_zeros(heading["number"]), {}))
        elif parts and len(line) <= _LONGEST:
            found = of_all if states else parts[-1].results
            for name, value in _results_of(line).items():
                found.setdefault(name, value)
    return parts, of_all


def _stated_part(line: str) -> _PartResults | None:
    """The results of a line that begins with the training that they are of: `Fold 1 R2: 0.44`."""
    if _NAMED.search(line) is None:
        return None
    parts = split_numbers(line)
    shape = shape_of_line(parts) if len(parts) > 2 else None
    if shape is None or shape.row is None or shape.counters or not _are_results(shape):
        return None
    number, before = parts[2 * shape.row.index + 1], "".join(parts[: 2 * shape.row.index + 1])
    word = _BEFORE_NUMBER.search(before)
    if word is None or not number.isdecimal() or BEFORE_MESSAGE.fullmatch(before[: word.start()]) is None:
        return None
    results = {field.name: value for field, value in measured_values(shape, parts[1::2])}
    return _PartResults(word["word"].lower(), _without_zeros(number), results)


def _without_zeros(number: str) -> str:
    return number.lstrip("0") or "0"


def _results_of(line: str) -> _Results:
    """The metrics of a line that begins with one and counts nothing; nothing of others."""
    parts = split_numbers(line)
    shape = shape_of_line(parts) if len(parts) > 1 else None
    if shape is None or shape.counters or not shape.metrics:
        return {}
    if BEFORE_MESSAGE.fullmatch(text_before(parts, shape.metrics[0])) is None:
        return {}
    if not _are_results(shape):
        return {}
    return {field.name: value for field, value in measured_values(shape, parts[1::2])}


def _are_results(shape: LineShape) -> bool:
    """Whether all numbers of a line that count nothing are those of known metrics."""
    return bool(shape.metrics) and all(
        is_metric_name(field.name) and not is_setting(field.name) for field in shape.metrics
    )

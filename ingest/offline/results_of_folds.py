"""Reads the results of folds, seeds or the like of a program that prints nothing else of its trainings.

For a file that was given by hand, and of which nothing else is read: `Fold 1/5: 80 rows`, and some lines
below `Best val acc: 40.4%`. They are at the step 0, each with the label of its fold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import nan
from pathlib import PurePath
from typing import ClassVar

from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.line.line_shapes import measured_values
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.line.line_words import BEFORE_MESSAGE
from holter.ingest.console.line.names_of_rows import text_before
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import Batch, Unreadable, labels_of

_HEADING = re.compile(
    r"(?im)^[^\w\n]{0,40}(?:(?:start|begin|runn|train)(?:n?ing)? )?"
    r"(?P<word>fold|seed|split|trial|repetition|repeat|experiment) ?[:=#_-]? ?(?P<number>\d{1,4})"
    r"(?: ?(?:/|of) ?\d{1,4})?(?![\d.\w%/])(?![^\n]*(?:epoch|step|iter|loss|acc))"
)
"""The heading of a training, with anything behind its number: `Fold 1/5: 80 train / 20 val rows`."""
_LEAST_PARTS = 2
"""Folds that have a result of the same name: what is behind the last one alone is of all of them."""
_LONGEST, _MOST_LINES = 200, 2**16
"""Characters of a line of results, and lines of a text in which results are looked for."""
_Results = dict[str, float]


class ResultsOfFolds(WholeFile):
    """Results below the headings of folds, without any epoch or step."""

    name: ClassVar[str] = "results-of-folds"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The results that several folds have; nothing of a text with a single one, or with one twice."""
        parts = _parts(text)
        counted = Counter(name for _, _, results in parts for name in results)
        rows = [
            LogRow(0, nan, shared, labels_of({word: number}))
            for word, number, results in parts
            if (shared := {name: value for name, value in results.items() if counted[name] >= _LEAST_PARTS})
        ]
        if rows and len({row.labels for row in rows}) == len(rows):
            yield batch_from_rows(rows)


def _parts(text: str) -> list[tuple[str, str, _Results]]:
    """The word and the number of each heading, and the first result of each name below it."""
    parts: list[tuple[str, str, _Results]] = []
    for line in text.splitlines()[:_MOST_LINES] if _HEADING.search(text) is not None else ():
        if (heading := _HEADING.match(line)) is not None:
            parts.append((heading["word"].lower(), heading["number"].lstrip("0") or "0", {}))
        elif parts and len(line) <= _LONGEST:
            for name, value in _results_of(line).items():
                parts[-1][2].setdefault(name, value)
    return parts


def _results_of(line: str) -> _Results:
    """The metrics of a line that begins with one and counts nothing; nothing of others."""
    parts = split_numbers(line)
    shape = shape_of_line(parts) if len(parts) > 1 else None
    if shape is None or shape.counters or not shape.metrics:
        return {}
    if BEFORE_MESSAGE.fullmatch(text_before(parts, shape.metrics[0])) is None:
        return {}
    if not all(is_metric_name(field.name) and not is_setting(field.name) for field in shape.metrics):
        return {}
    return {field.name: value for field, value in measured_values(shape, parts[1::2])}

"""Reads the results of a program that evaluates and trains nothing: `Test loss: 0.5, Test acc: 0.8`.

For a file that was given by hand, and of which nothing else is read. The results are at the step 0; those of
later launches, which begin with the first line of the text, have the label `launch=2` and so on. Evaluations
that come again and again below their headings, `evaluate:dev`, are numbered instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import nan
from pathlib import PurePath
from typing import ClassVar

from holter.ingest.console.headings.evaluation_headings import heading_data
from holter.ingest.console.launches.next_launch import LAUNCH
from holter.ingest.console.launches.opening_lines import is_about_set_up
from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.line.line_shapes import measured_values
from holter.ingest.console.line.line_tokens import split_numbers, template_of
from holter.ingest.console.line.line_words import BEFORE_MESSAGE
from holter.ingest.console.line.names_of_rows import text_before
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import Batch, Unreadable, labels_of

_LONGEST, _MOST_LINES = 200, 2**16
"""Characters of a line of results, and lines of a text in which results are looked for."""
_LEAST_ROUNDS = 3
"""Evaluations of the same data that are numbered; fewer may be of anything."""
_LEAST_OF_OPENING = 8
"""Characters of a line that is the first one of each launch."""
_TRAINS = re.compile(r"(?i)\b(?:re)?(?:train|fit)")
"""What a line states that is about one of several models which a launch trains: `Fitting model: tree_1`."""
_NO_DIGITS = str.maketrans("", "", "0123456789")


class ResultsOfLaunches(WholeFile):
    """Results of evaluations without any position."""

    name: ClassVar[str] = "results-of-launches"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The results of each launch; nothing of a text that has none of an evaluation, or one twice.

        The evaluations of a single launch are numbered from 0 where it has several of the same data.
        """
        lines = text.splitlines()[:_MOST_LINES]
        launches = [*_launches(lines)]
        found = [results for launch in launches if (results := _results(launch))]
        is_again = any(len(dict(results)) < len(results) for results in found)
        if len(launches) == 1 and (is_again or not found) and (numbered := _numbered_evaluations(lines)):
            yield from self.read_lines(path, numbered)
            return
        names = [name for results in found for name, _ in results]
        of_evaluation = [*map(is_of_evaluation, names)]
        if not any(of_evaluation) or (len(found) > 1 and not all(of_evaluation)):
            return  # those of a training may be of its epochs
        if is_again:
            return
        yield batch_from_rows(
            [
                LogRow(0, nan, dict(results), labels_of({LAUNCH: str(number)} if number > 1 else {}))
                for number, results in enumerate(found, 1)
            ]
        )


def _launches(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """The lines of each launch: from the first line of the text on, about the set-up, that comes again."""
    kinds = [line.translate(_NO_DIGITS).strip() for line in lines]
    first = next(filter(None, kinds), "")
    is_opening = len(first) >= _LEAST_OF_OPENING and is_about_set_up(first) and _TRAINS.search(first) is None
    is_opening = is_opening and not _results([first])
    begins = [at for at, kind in enumerate(kinds) if is_opening and kind == first] or [0]
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        yield lines[begin:end]


def _numbered_evaluations(lines: Sequence[str]) -> bytes:
    """The lines with a step above the first heading of each round of evaluations; nothing without several.

    A round ends where data are evaluated again: `evaluate:dev`, `evaluate:test`, `evaluate:dev`. Metrics
    above the first heading, or several times below one, may be those of a training.
    """
    numbered: list[str] = []
    evaluated: set[str] = set()
    measured: set[int] = set()
    rounds = 0
    for line in lines:
        data = heading_data(line) if len(line) <= _LONGEST else None
        layout = _layout_of_metrics(line) if data is None else 0
        if (data == "" and rounds) or (layout and (layout in measured or not rounds)):
            return b""  # of a training
        if data and (data in evaluated or not rounds):
            evaluated.clear()
            numbered.append(f"step: {rounds}")
            rounds += 1
        if data:
            evaluated.add(data)
            measured.clear()
        elif layout:
            measured.add(layout)
        numbered.append(line)
    return "\n".join((*numbered, "")).encode() if rounds >= _LEAST_ROUNDS else b""


def _layout_of_metrics(line: str) -> int:
    """A number for the texts of a line with a metric; 0 for others."""
    parts = split_numbers(line) if len(line) <= _LONGEST else []
    names = [field.name for field in shape_of_line(parts).metrics] if len(parts) > 1 else []
    return template_of(parts) if any(is_metric_name(name) and not is_setting(name) for name in names) else 0


def _results(lines: Sequence[str]) -> list[tuple[str, float]]:
    """The results of some lines, by their names; those below the heading of an evaluation are of its data."""
    results: list[tuple[str, float]] = []
    data = ""
    for line in lines:
        if len(line) > _LONGEST:
            continue
        parts = split_numbers(line)
        shape = shape_of_line(parts) if len(parts) > 1 else None
        if shape is None or not shape.metrics:
            heading = heading_data(line)
            data = data if heading is None else heading
            continue
        names = [field.name for field in shape.metrics]
        if shape.counters or not all(is_metric_name(name) and not is_setting(name) for name in names):
            continue
        if BEFORE_MESSAGE.fullmatch(text_before(parts, shape.metrics[0])) is None:
            continue
        values = measured_values(shape, parts[1::2])
        results += [(metric_name(field.name, shape.split or data), value) for field, value in values]
    return results

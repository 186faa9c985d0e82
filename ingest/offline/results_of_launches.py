"""Reads the results of a program that evaluates and trains nothing: `Test loss: 0.5, Test acc: 0.8`.

For a file that was given by hand, and of which nothing else is read. The results are at the step 0; those of
later launches, which begin with the first line of the text, have the label `launch=2` and so on. Where a
launch has several results of the same name, as of several models, they are numbered within it. Evaluations of
a single launch that come again and again below their headings, `evaluate:dev`, are numbered, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isnan, nan
from pathlib import PurePath
from typing import ClassVar, NamedTuple

from holter.ingest.console.headings.evaluation_headings import heading_data
from holter.ingest.console.launches.next_launch import LAUNCH
from holter.ingest.console.launches.opening_lines import is_about_set_up
from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.confusion_counts import confusion_counts
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.line.line_shapes import LineShape, measured_values
from holter.ingest.console.line.line_tokens import split_numbers, template_of
from holter.ingest.console.line.line_words import BEFORE_MESSAGE
from holter.ingest.console.line.names_of_rows import text_before
from holter.ingest.console.line.passed_lines import PassedLines
from holter.ingest.console.text.messages import messages_of_one
from holter.ingest.console.text.values import parse_time
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import Batch, Unreadable, labels_of

_LONGEST, _MOST_LINES = 400, 2**16
"""Characters of a line of results, and lines of a text in which results are looked for."""
_LEAST_ROUNDS = 3
"""Evaluations of the same data that are numbered; fewer may be of anything."""
_LEAST_OF_OPENING = 8
"""Characters of a line that is the first one of each launch."""
_TRAINS = re.compile(r"(?i)\b(?:re)?(?:train|fit)")
"""What a line states that is about one of several models which a launch trains: `Fitting model: tree_1`."""
_AMOUNT = re.compile(r"(?<!\d)\d{1,9} (?:epoch|iteration|step|round|episode)s\b")
"""How many of something there are, in a line about the set-up that else would be one of a training."""
_OF_DICTIONARY = re.compile(r"(?i)(?:[a-z]\w{0,20}[ :=-]{1,3}){1,4}\{['\"]?")
"""What is before results in a dictionary: `TEST results: {'acc': 0.8}`."""
_LEAST_STOPPED = 2
"""Launches without results that show, with a pause before each launch, that others ended before theirs."""
_PAUSE = 10.0
"""Seconds before another launch: the next line of a loop follows its results at once."""
_NO_DIGITS = str.maketrans("", "", "0123456789")
_Results = dict[str, float]
"""The values of a row by their names."""


class _Launches(NamedTuple):
    """The rows of each launch; whether others were stopped before their results, or each states its date."""

    rows: list[list[_Results]]
    are_stopped: bool = False
    are_dated: bool = False


class ResultsOfLaunches(WholeFile):
    """Results of evaluations without any position."""

    name: ClassVar[str] = "results-of-launches"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The results of each launch; nothing of a text that has none of an evaluation.

        The evaluations of a single launch are numbered from 0 where it has several of the same data.
        """
        lines, times = _messages(text)
        launches = _launches(lines, times)
        found = [rows for rows in launches.rows if rows]
        is_again = any(_is_again(rows) for rows in found)
        if len(launches.rows) == 1 and (is_again or not found) and (numbered := _numbered_evaluations(lines)):
            yield from self.read_lines(path, numbered)
            return
        names = {name for rows in found for row in rows for name in {*row} - confusion_counts([*row])}
        of_evaluation = [*map(is_of_evaluation, names)]
        if not (any(of_evaluation) or (launches.are_dated and not is_again)):
            return
        if len(found) > 1 and not (launches.are_dated or launches.are_stopped or all(of_evaluation)):
            return  # those of a training may be of its epochs
        if is_again and len(found) == 1:
            return
        yield batch_from_rows(
            [
                LogRow(step, nan, row, labels_of({LAUNCH: str(number)} if number > 1 else {}))
                for number, rows in enumerate(found, 1)
                for step, row in enumerate(rows if is_again else [_joined(rows)])
            ]
        )


def _messages(text: str) -> tuple[list[str], list[float]]:
    """The messages of the lines of a text with their times, without what several handlers print again."""
    printed = text.splitlines()[:_MOST_LINES]
    while printed and not printed[-1].strip():
        printed.pop()  # of empty lines at the end not all are messages
    messages = messages_of_one("\n".join(printed)).split("\n")
    lines, times = [], []
    for at, line in enumerate(printed):
        time = parse_time(line)
        if isnan(time) or not at or line != printed[at - 1]:
            lines.append(messages[at])
            times.append(time)
    return lines, times


def _launches(lines: Sequence[str], times: Sequence[float]) -> _Launches:
    """Each launch begins with the first line of the text where it is about the set-up.

    So it does with any first line with a pause before it each time, if several launches were stopped before
    their results.
    """
    kinds = [line.translate(_NO_DIGITS).strip() for line in lines]
    first = next(filter(None, kinds), "")
    stated = next(filter(str.strip, lines), "")
    begins = [at for at, kind in enumerate(kinds) if kind == first]
    is_opening = len(first) >= _LEAST_OF_OPENING and _TRAINS.search(first) is None and not _rows([first])
    is_about = is_opening and is_about_set_up(_AMOUNT.sub("", stated))
    is_paused = is_opening and all(times[at] - times[at - 1] >= _PAUSE for at in begins[1:])
    if is_about or is_paused:
        places = zip(begins, [*begins[1:], len(lines)], strict=True)
        launches = [_rows(lines[at:end]) for at, end in places]
        are_stopped = not is_about and launches.count([]) >= _LEAST_STOPPED
        if is_about or are_stopped:
            return _Launches(launches, are_stopped, _are_dated(begins, times))
    return _Launches([_rows(lines)])


def _are_dated(begins: Sequence[int], times: Sequence[float]) -> bool:
    """Whether each of several launches states when it began, and nothing else a time."""
    dated = [at for at, time in enumerate(times) if not isnan(time)]
    return len(dated) > 1 and dated == [*begins]


def _is_again(rows: Sequence[_Results]) -> bool:
    """Whether several rows have a value of the same name."""
    return len(_joined(rows)) < sum(map(len, rows))


def _joined(rows: Sequence[_Results]) -> _Results:
    """The values of some rows as those of one."""
    return {name: value for row in rows for name, value in row.items()}


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


def _rows(lines: Sequence[str]) -> list[_Results]:
    """The results of some lines by their names; those below the heading of an evaluation are of its data.

    Results of lines right below one another are those of a row, up to a name that it has.
    """
    rows: list[_Results] = []
    data, last, passed = "", -1, PassedLines()
    for number, line in enumerate(lines):
        if len(line) > _LONGEST:
            continue
        parts = split_numbers(line)
        shape = shape_of_line(parts) if len(parts) > 1 and not passed.has(line) else None
        if shape is None or not shape.metrics:
            heading = heading_data(line)
            data = data if heading is None else heading
            passed.add(line)
            continue
        if not _is_of_results(shape, parts):
            continue
        values = {
            metric_name(field.name, shape.split or data): value
            for field, value in measured_values(shape, parts[1::2])
        }
        if number > last + 1 or not rows or not values.keys().isdisjoint(rows[-1]):
            rows.append({})
        rows[-1] |= values
        last = number
    return rows


def _is_of_results(shape: LineShape, parts: list[str]) -> bool:
    """Whether a line has nothing but known metrics, maybe in a dictionary, and what a logger prints."""
    names = [field.name for field in shape.metrics]
    counted = confusion_counts(names)
    if shape.counters or not all(
        name in counted or (is_metric_name(name) and not is_setting(name)) for name in names
    ):
        return False
    before = text_before(parts, shape.metrics[0])
    is_dictionary = bool(shape.split) and _OF_DICTIONARY.fullmatch(before) is not None
    return is_dictionary or BEFORE_MESSAGE.fullmatch(before) is not None

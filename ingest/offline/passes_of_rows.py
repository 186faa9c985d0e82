"""Passes of one launch through its data, where the steps of a table begin anew and no epoch is printed.

A program that was started again prints its first line again. Where that line is about the set-up and came
once, and all passes but the last one end at the same step, the steps continue through the passes. They do not
where several lines of a set-up came as often as there are passes: a script started the program for each.
Per cents of which all passes but the last one end at 100 are those of epochs, whatever the first line is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from holter.ingest.console.launches.opening_lines import is_about_set_up
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.offline.counted_lines import Cells, are_counts

_LEAST_PASSES = 3
_ALL = 100
"""Per cent of an epoch that is over."""
_SHARE_AHEAD = re.compile(r"\D{0,60}\d{1,3}(?:\.0{1,6})? ?%")
"""A line whose first number is a per cent: `[ 20%] loss: 0.5`."""
_LEAST_OF_SET_UP = 3
"""Lines of the set-up of a program that come once with each of its launches."""
_NO_DIGITS = str.maketrans("", "", "0123456789")
_CRASH = "Traceback (most recent call last)"


def through_passes(table: Cells, lines: Sequence[str]) -> Cells:
    """The table of these lines with steps that continue; as it is where they may be those of launches."""
    if not table or table[0][0] != "step":
        return table
    header, *rows = table
    is_one = _is_one_launch(lines)
    if not (is_one or _may_be_shares(rows, lines)):
        return table
    if not are_counts([row[0] for row in rows]):
        return table
    steps = [int(row[0]) for row in rows]
    begins = [0, *(at for at, (last, now) in enumerate(pairwise(steps), 1) if now < last)]
    passes = [steps[begin:end] for begin, end in pairwise([*begins, len(steps)])]
    if len(passes) < _LEAST_PASSES - (not is_one) or len({each[0] for each in passes}) > 1:
        return table
    if len({each[-1] for each in passes[:-1]}) > 1 or passes[-1][-1] > passes[0][-1]:
        return table
    if not is_one and {each[-1] for each in passes[:-1]} != {_ALL}:
        return table
    if _are_launches(lines, len(passes)):
        return table
    distance = next((now - last for last, now in pairwise(passes[0]) if now > last), 1)
    length = _ALL if not is_one else passes[0][-1] - passes[0][0] + distance
    through = [step + number * length for number, each in enumerate(passes) for step in each]
    return [header, *([str(step), *row[1:]] for step, row in zip(through, rows, strict=True))]


def _may_be_shares(rows: Cells, lines: Sequence[str]) -> bool:
    """Whether all that is counted may be how much of an epoch is done, up to 100 %, and nothing crashed."""
    if not any(row[0] == str(_ALL) for row in rows) or any(_CRASH in line for line in lines):
        return False
    shares = sum(_SHARE_AHEAD.match(line) is not None for line in lines)
    return shares >= len(rows) and all(row[0].isdecimal() and int(row[0]) <= _ALL for row in rows)


def _is_one_launch(lines: Sequence[str]) -> bool:
    """Whether the first line is about the set-up of a program, which came once, and nothing crashed."""
    first = next((line for line in lines if line.strip()), "")
    if not is_about_set_up(first) or any(_CRASH in line for line in lines):
        return False
    texts = split_numbers(first)[::2]
    return sum(line[:1] == first[:1] and split_numbers(line)[::2] == texts for line in lines) == 1


def _are_launches(lines: Sequence[str], passes: int) -> bool:
    """Whether several lines about the set-up of a program came once with each of so many passes."""
    counts = Counter(line.strip().translate(_NO_DIGITS) for line in lines)
    often = (line for line, count in counts.items() if count == passes and is_about_set_up(line))
    return sum(1 for _ in often) >= _LEAST_OF_SET_UP

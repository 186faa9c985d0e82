"""Lines of the first epoch of a text that differ in their values alone: each may be a step of its own.

Two of them may also be a training and an evaluation in the same words, or what two processes print.
"""

from __future__ import annotations

import re
from zlib import crc32

from holter.ingest.console.dialect import DialectState
from holter.ingest.rows import LogRow

_LEAST = 3
"""Lines of an epoch that are no two trainings or evaluations in the same words."""
_LEAST_SECONDS = 30.0
"""Between lines that two processes do not print: those that train together are at the same epoch."""
_NUMBERS = re.compile(r"[-+\d.]+|nan|inf")
_OF_TRAINING = re.compile(r"(?i)train(?:ing)?[\W_]{0,2}(?:epoch|loss)|(?<![a-z])lr(?![a-z])|learning[ _]rate")
"""Words that no line of an evaluation has."""


def note_alike(line: str, row: LogRow, axis: DialectState, *, has_one_writer: bool) -> None:
    """Note a line of the first epoch, and its row: how many are like the first, and how far apart they are.

    Their values differ: a program may print a line and log it, too. `has_one_writer`: nothing shows that
    several processes print into the text.
    """
    if not has_one_writer:
        axis.pop("alike", None)
        return
    values, time = [*row.values.values()], row.time if row.time == row.time else None
    template = crc32(_NUMBERS.sub("", line).encode(errors="replace"))
    first, lines, last, before, is_apart = axis.setdefault(
        "alike", [template, 0, None, None, _OF_TRAINING.search(line) is not None]
    )
    if template != first or values == last:
        return
    if lines:
        is_apart &= time is not None and before is not None and time - before >= _LEAST_SECONDS
    axis["alike"] = [first, lines + 1, values, time, is_apart]


def are_alike(lines: int, axis: DialectState) -> bool:
    """Whether so many lines of the first epoch are batches: all are alike, and each has other values."""
    if lines < 2:
        return False
    _, alike, *_, is_apart = axis.pop("alike", [0, 0, False])
    return alike == lines and (lines >= _LEAST or is_apart)

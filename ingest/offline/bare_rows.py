"""Rows of nothing but numbers, in brackets or not: `(0.71, 0.52)`, `tensor(0.71), tensor(0.52)`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from holter.ingest.console.text.values import parse_number
from holter.ingest.offline.counted_lines import Cells, is_number
from holter.ingest.offline.measured_columns import are_curves

_WRAPPING = re.compile(
    r"tensor\(|np\.float\d\d\(|, {0,4}(?:device|dtype|grad_fn|requires_grad)=[^,)\s]{1,60}|[\[\]()]|(?<=\d)%"
)
"""What is printed around numbers: `tensor(0.5, device='cuda:0')`, `(0.5, 0.25)`, `93.5%`."""
_SCALED = re.compile(r"(?<![^\s,;|])[-+]?\d{1,12}(?:\.\d{1,12})?[kKMGBT%](?![^\s,;|])")
"""A number of thousands, millions or parts of a hundred alone in its cell."""
BETWEEN_COLUMNS = str.maketrans(",;|'\"", "     ")
_LEAST_SHARE = 1 / 3
"""Of the lines with numbers that are such rows."""


def unwrapped(line: str) -> str:
    """The line without what is around its numbers."""
    return _WRAPPING.sub("", line)


def with_plain_numbers(lines: Sequence[str]) -> list[str]:
    """The lines with `1400.0` for `1.4k` and `12.3` for `12.3%` in those of nothing but numbers."""
    return [_plain(line) if _SCALED.search(line) is not None else line for line in lines]


def _plain(line: str) -> str:
    numbers = [(cell, parse_number(cell)) for cell in line.translate(BETWEEN_COLUMNS).split()]
    if any(number is None for _, number in numbers):
        return line
    return _SCALED.sub(lambda cell: repr(parse_number(cell[0])), line)


def bare_numbers(line: str) -> list[str]:
    """The numbers of a line that holds nothing else, one with a fraction among them; nothing of others."""
    cells = unwrapped(line).translate(BETWEEN_COLUMNS).split() if "." in line else []
    return cells if all(map(is_number, cells)) else []


def rows_among_others(lines: Sequence[str]) -> Cells:
    """The bare rows of a text whose other lines count nothing that continues with them, if they are curves.

    A program may print `step 0` below each row, over and over.
    """
    rows = [*filter(None, map(bare_numbers, lines))]
    counted = sum(any(map(str.isdecimal, line)) for line in lines)
    widths = Counter(map(len, rows))
    if len(widths) != 1 or len(rows) < _LEAST_SHARE * counted or not are_curves(rows):
        return []
    return rows

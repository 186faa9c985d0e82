"""Splits the lines of a CSV log into rows with a cell for each column of its header."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from holter.ingest.printed_numbers import without_objects
from holter.ingest.text_encoding import decode_lines

_WITH_DECIMAL_COMMA = {
    delimiter: re.compile(
        rf"(?m)(?:(?<={delimiter})|^(?=[-+]?\d{{1,30}},\d{{1,30}}(?:[eE][-+]?\d{{1,3}})?{delimiter}))"
        rf"([-+]?\d{{1,30}}),(\d{{1,30}}(?:[eE][-+]?\d{{1,3}})?)(?={delimiter}|$)"
    )
    for delimiter in "\t;"
}
"""Cells with a decimal comma, where no comma delimits them: `1;0,5000`. A line of one such is no row."""
_POINTS = {
    delimiter: re.compile(rf"(?:^|{delimiter})[-+]?\d{{1,30}}\.\d{{1,30}}(?={delimiter}|$)")
    for delimiter in "\t;"
}
"""A cell with a decimal point: a comma in another one of its row is that of thousands."""


def split_rows(
    lines: Sequence[bytes],
    header: Sequence[str],
    delimiter: str,
    first_line: int,
    problems: list[tuple[int, str]],
) -> tuple[list[list[str]], list[int]]:
    """The rows and their line numbers. A line that is no row is a problem, unless it is empty or the header.

    Where the header or a row ends with a delimiter and the other does not, the last cell is empty.
    """
    text = decode_lines(b"\n".join(lines))
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    if delimiter != "," and "," in text:
        text = _with_points(text, delimiter)
    text = without_objects(text)
    split = _quoted if '"' in text else str.split
    width, names = len(header), list(header)
    rows, numbers = [], []
    for number, line in enumerate(text.split("\n") if lines else (), first_line):
        row = split(line, delimiter)
        if len(row) != width:
            row = _of_width(row, line, names, delimiter)
        if len(row) == width and row != names:
            rows.append(row)
            numbers.append(number)
        elif line and len(row) != width:
            problems.append((number, f"expected {width} columns as in the header, found {len(row)}"))
    return rows, numbers


def _with_points(text: str, delimiter: str) -> str:
    """The text with decimal points for decimal commas, as each of its lines shows by itself."""
    commas, points = _WITH_DECIMAL_COMMA[delimiter], _POINTS[delimiter]
    if "." not in text:
        return commas.sub(r"\1.\2", text)
    return "\n".join(
        commas.sub(r"\1.\2", line) if "," in line and points.search(line) is None else line
        for line in text.split("\n")
    )


def _of_width(row: list[str], line: str, names: Sequence[str], delimiter: str) -> list[str]:
    """The row with a cell for each name, if it differs in what it ends with or in its delimiter."""
    width = len(names)
    if len(row) == 1 < width and delimiter not in line:
        return _split_otherwise(line, width) or row
    if len(row) == width - 1 and not names[-1]:
        return [*row, ""]
    if len(row) > width and not any(cell.strip() for cell in row[width:]):
        return row[:width]
    return row


def _split_otherwise(line: str, width: int) -> list[str]:
    """The cells of a row without the delimiter of the header, between others; none if that is no row."""
    found = (line.split(delimiter) for delimiter in ",\t;")
    return next((row for row in found if len(row) == width), [])


def _quoted(line: str, delimiter: str) -> list[str]:
    if '"' not in line:  # decided by line, so that other lines of a block do not matter
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []

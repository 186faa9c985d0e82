"""Lines whose numbers have decimal commas, as many programs of Europe print them: with points instead.

`perte = 1,8229 ; exactitude = 44,94 %`. A comma in a number is that of thousands elsewhere, and one between
two numbers may separate them: a line has decimal commas where a metric, a share or a number below one has
one and no number has a point. That is in each line by itself: which lines are read together does not matter.
"""

from __future__ import annotations

import re

from holter.ingest.metric_names import is_metric_name
from holter.translated_words import in_english

_HINT = re.compile(rb",(?<=\d,)\d(?:(?<=[^\d]0,\d)|\d?(?!\d)|\d{3})")
"""A comma between digits that is none of thousands; it begins with the comma, which is found fast."""
_ENDS = re.compile(rb"([\r\n])")
_NUMBER = re.compile(
    r"(?:(?<=[\s=])|(?<=[^\d\s]:))([-+]?\d{1,9}),(\d{1,17}(?:[eE][-+]?\d{1,3})?)(?=,?\s|[%;|)]|$)"
)
_WITH_POINT = re.compile(r"(?<![\w.:,])\d{1,9}\.\d{1,17}(?![\w.])")
_NAMED = re.compile(
    r"([^\W\d][^\n=:;|,\d]{0,40})[=:][ \t]{0,8}[-+]?(\d{1,9}),(\d{1,17})(?=[ \t]{0,2}(%)|,?\s|[;|)]|$)"
)
_DIGITS_OF_THOUSAND = 3


def with_decimal_points(text: bytes) -> bytes:
    """Complete lines with points for decimal commas; as many bytes."""
    if _HINT.search(text) is None:
        return text
    lines = _ENDS.split(text)
    return b"".join(_with_points(line) if _HINT.search(line) is not None else line for line in lines)


def _with_points(line: bytes) -> bytes:
    text = line.decode("utf-8", "surrogateescape")
    if _WITH_POINT.search(text) is not None or not _has_decimal_commas(text):
        return line
    return _NUMBER.sub(r"\1.\2", text).encode("utf-8", "surrogateescape")


def _has_decimal_commas(text: str) -> bool:
    return any(map(_is_decimal, _NAMED.finditer(text)))


def _is_decimal(number: re.Match[str]) -> bool:
    """Whether the comma of a number is no separator of thousands, nor of the two numbers of a setting."""
    name, whole, fraction, percent = number.groups()
    is_thousands = len(fraction) == _DIGITS_OF_THOUSAND and whole.strip("0")
    if is_thousands:
        return False
    is_below_one = not whole.strip("0") and len(fraction) >= _DIGITS_OF_THOUSAND
    return bool(percent) or is_below_one or is_metric_name(in_english(name).strip())

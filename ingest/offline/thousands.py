"""Takes the commas of thousands out of a table in CSV that other signs delimit: `3;12,345` is 12345.

A comma alone is that of a decimal in such a table, `3;0,125`. What else is in the file shows which it is: a
number with two commas or a point, and no comma that can only be that of a decimal.
"""

from __future__ import annotations

import io
import re
from typing import BinaryIO

from holter.ingest.offline.shortened_text import Cut, ShortenedText

_MOST_BYTES = 64 * 2**20
_BEGIN, _END = rb"(?:^|(?<=[;\t\n]))[-+]?", rb"(?=[;\t\r\n]|$)"
_POINTS = re.compile(_BEGIN + rb"\d{1,3}(?:(?:,\d{3}){0,6}\.\d{1,20}|(?:,\d{3}){2,6})" + _END)
"""Numbers with a point for the decimals, or with several commas."""
_DECIMALS = re.compile(_BEGIN + rb"(?:0{1,20},\d{1,20}|\d{1,20},(?:\d{1,2}|\d{4,20}))" + _END)
_THOUSANDS = re.compile(_BEGIN + rb"\d{1,3}(?:,\d{3}){1,6}" + _END)


def without_thousands(stream: BinaryIO) -> ShortenedText:
    """The stream of a table at its beginning, or one of the table without the commas of thousands."""
    complete = ShortenedText(stream)
    header = stream.readline(_MOST_BYTES)
    stream.seek(0)
    if max(header.count(b";"), header.count(b"\t")) <= header.count(b","):
        return complete
    text = stream.read(_MOST_BYTES + 1)
    stream.seek(0)
    if len(text) > _MOST_BYTES:
        return complete
    if _THOUSANDS.search(text) is None or _POINTS.search(text) is None or _DECIMALS.search(text) is not None:
        return complete
    numbers = _THOUSANDS.sub(lambda number: number[0].replace(b",", b""), text)
    return ShortenedText(io.BytesIO(numbers), _commas(text))


def _commas(text: bytes) -> list[Cut]:
    """The commas of thousands in a text, with how many there are up to each."""
    numbers = (range(*number.span()) for number in _THOUSANDS.finditer(text))
    commas = (position for number in numbers for position in number if text[position : position + 1] == b",")
    return [(position - before, before + 1) for before, position in enumerate(commas)]

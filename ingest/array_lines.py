"""Arrays that take several lines, as numpy and torch print them, in one line with as many bytes.

`iou: [0.91 0.72 0.33` above ` 0.64 0.85]` are values of one name. Line ends within an array become another
white space, so that positions in the text are those in the file.
"""

from __future__ import annotations

import re

LINE_END = b"\x0b"
"""What stands for the end of a line within an array."""
MOST_BYTES = 4000
"""Bytes of an array; longer ones are weights or histories, and not the values of a step."""
_CONTINUATION = re.compile(rb"\n(?=[ \t]{1,60}(?:[-+]?[.\d]|nan\b|inf\b))")
"""The end of a line above one that begins with space and a number."""
_NUMBER = rb"(?:[-+]?(?:\d{1,20}\.?\d{0,20}|\.\d{1,20})(?:[eE][-+]?\d{1,3})?|nan|[-+]?inf)"
_FIRST_LINE = re.compile(
    rb"[ \t]{0,60}" + _NUMBER + rb"(?:,?[ \t]{1,60}" + _NUMBER + rb"){0,200},?[ \t\r]{0,8}"
)
"""What is behind the bracket in the first line of an array; elsewhere a bracket begins something else."""
_INSIDE = re.compile(rb"[\s\d.,+\-eE]*+(?:(?:nan|inf)[\s\d.,+\-eE]*+)*+")


def join_arrays(text: bytes) -> bytes:
    """Complete lines, of which those of an array with one dimension are one; as many bytes."""
    if b"[" not in text:
        return text
    found, done = [], 0
    for match in _CONTINUATION.finditer(text):
        if match.start() < done:
            continue
        first = match.start() - text.endswith(b"\r", 0, match.start())
        begin = _begin(text, match.start(), done)
        end = -1 if begin < 0 else text.find(b"]", match.end(), begin + MOST_BYTES)
        if end < 0 or _INSIDE.fullmatch(text, match.end(), end) is None:
            continue
        found += [text[done:first], text[first:end].replace(b"\r", b" ").replace(b"\n", LINE_END)]
        done = end
    return b"".join((*found, text[done:])) if done else text


def without_open_array(text: bytes) -> bytes:
    """Complete lines without those at their end whose array is open; all if these are long."""
    opening = text.rfind(b"[", max(0, len(text) - MOST_BYTES))
    if opening < 0 or not text.endswith(b"\n"):
        return text
    end = text.find(b"\n", opening)
    is_open = _begin(text, end, 0) == opening and _INSIDE.fullmatch(text, end) is not None
    return text[: text.rfind(b"\n", 0, opening) + 1] if is_open else text


def _begin(text: bytes, end: int, first: int) -> int:
    """Where the bracket is that the line before a line end opens, with numbers behind it; -1 without any."""
    start = max(text.rfind(b"\n", first, end) + 1, first, end - MOST_BYTES)
    opening = text.rfind(b"[", start, end)
    if opening < 0 or text[opening - 1 : opening] == b"[" or text.find(b"]", opening, end) >= 0:
        return -1
    return opening if _FIRST_LINE.fullmatch(text, opening + 1, end) is not None else -1

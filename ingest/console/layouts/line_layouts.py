"""Layouts of lines: patterns of all lines that differ from a known one in their numbers alone.

Programs print lines of a few layouts over and over. A layout is one regular expression, which finds the
numbers of its lines many times faster than the grammar of numbers does. It matches only lines in which that
grammar finds the same: lines with numbers of every length and sign are tried before a layout is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import isnan
from typing import Any, NamedTuple

from holter.ingest.console.layouts.layout_prefixes import (
    LinePrefix,
    fixed_prefix,
    prefix_shape,
    with_prefix_slots,
)
from holter.ingest.console.layouts.layout_slots import (
    MAX_COUNT_DIGITS,
    Piece,
    digits_in_names,
    line_pieces,
    number_slots,
    piece_source,
    with_digits_of_names,
)
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.text.prefixes import CleanLine, message_of, strip_prefixes

_LONGEST_LINE = 4096
_MAX_NUMBERS = 128
_MAX_TRIED_NAMES = 8
"""Words with digits of which each is tried by itself."""
_DIGIT = re.compile(r"[0-9]")


@dataclass(frozen=True, slots=True, eq=False)
class LineLayout:
    """A pattern of complete lines, whose groups are the numbers that matter, and what these numbers are.

    Its first groups are those of `prefix`. `content` belongs to the parser of the lines. Where `is_empty`,
    its lines hold nothing, and the pattern matches many of them at once.
    """

    pattern: re.Pattern[bytes]
    prefix: LinePrefix
    content: Any
    is_empty: bool


class LayoutContent(NamedTuple):
    """What the numbers of a line are: `groups` are those that matter, by their indices in the line.

    `counts` has the most digits of each number that counts something. `is_empty`: the line holds nothing.
    """

    groups: tuple[int, ...]
    counts: Mapping[int, int]
    content: Any
    is_empty: bool


def layout_of(
    line: bytes,
    describe: Callable[[str, list[str]], LayoutContent | None],
    is_found: Callable[[bytes], bool],
) -> LineLayout | None:
    """The layout of a line without its end; None if other lines of its texts may be read in another way.

    `describe` gets the message of the line, and its texts and numbers in turn. `is_found` tells whether
    messages are searched that far at all.
    """
    read = _read(line, describe) if len(line) <= _LONGEST_LINE else None
    if read is None:
        return None

    fixed_labels = None

    def is_safe(pieces: Sequence[Piece]) -> bool:
        for example in _examples(pieces):
            found = _read(example, describe) if is_found(message_of(example)) else None
            if found != read or (fixed_labels is not None and found.line.labels != fixed_labels):
                return False
        return True

    slots = number_slots(read.parts, read.content.groups, read.content.counts)
    pieces = None if slots is None else line_pieces(line.decode(), read.parts, slots)
    if pieces is None:
        return None
    prefix = fixed_prefix(read.line)
    free = with_prefix_slots(pieces, read.line)
    if free is not None and is_safe(free[0]):
        pieces, prefix = free
    else:
        fixed_labels = prefix.labels
        if read.line.stamp is not None or not is_safe(pieces):
            return None
    pieces = _with_free_names(pieces, is_safe)
    pattern = _compiled(tuple(map(piece_source, pieces)), read.content.is_empty)
    return LineLayout(pattern, prefix, read.content.content, read.content.is_empty)


@dataclass(frozen=True, slots=True)
class _ReadLine:
    """What a line holds; equal for lines whose texts are the same apart from digits."""

    line: CleanLine = field(compare=False)
    parts: list[str] = field(compare=False)
    prefix: str
    texts: list[str]
    labels: tuple[str, ...]
    """The names of labels."""
    content: LayoutContent


def _read(line: bytes, describe: Callable[[str, list[str]], LayoutContent | None]) -> _ReadLine | None:
    try:
        line.decode()
    except UnicodeDecodeError:
        return None
    clean = strip_prefixes(line)
    message = clean.message
    parts = split_numbers(message)
    if isnan(clean.time) != (clean.stamp is None) or not 1 < len(parts) <= 2 * _MAX_NUMBERS:
        return None
    content = describe(message, parts)
    texts = [_DIGIT.sub("0", text) for text in parts[::2]]
    if content is None:
        return None
    return _ReadLine(clean, parts, prefix_shape(clean), texts, tuple(dict(clean.labels)), content)


def _with_free_names(pieces: list[Piece], is_safe: Callable[[Sequence[Piece]], bool]) -> list[Piece]:
    """Pieces in which digits that are part of words are slots, where these do not change what is read."""
    count = digits_in_names(pieces)
    if not count:
        return pieces
    if is_safe(free := with_digits_of_names(pieces)):
        return free
    chosen: set[int] = set()
    for number in range(count if count <= _MAX_TRIED_NAMES else 0):
        if is_safe(with_digits_of_names(pieces, {*chosen, number})):
            chosen.add(number)
    return with_digits_of_names(pieces, chosen)


def _examples(pieces: Sequence[Piece]) -> Iterator[bytes]:
    """Lines of a layout with counts of every length, signs, exponents, and numbers that are not finite."""
    counts = [("0" * digits, str(digits)) for digits in range(1, MAX_COUNT_DIGITS + 1)]
    for number, digit in (*counts, ("-1.5e-05", "0"), ("0.", ""), ("nan", ""), ("-inf", "")):
        yield "".join(
            piece if isinstance(piece, str) else piece.filled(number, digit) for piece in pieces
        ).encode()


@lru_cache(maxsize=1024)  # thousands of files are read that have the same lines
def _compiled(sources: tuple[bytes, ...], is_empty: bool) -> re.Pattern[bytes]:
    """A pattern of lines with their ends; where these are two characters, an empty line follows each."""
    line = b"".join(sources) + rb"\n{1,2}+"
    return re.compile(rb"(?m)^(?:" + line + rb")++" if is_empty else rb"(?m)^" + line)

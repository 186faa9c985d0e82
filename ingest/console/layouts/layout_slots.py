"""The pieces of a line: its texts, and slots for the numbers of other lines of the same layout.

A slot is as wide as no other reading of the line allows: where a longer number or another sign could make a
date, a time or a version of what is around it, the number of digits is fixed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from holter.ingest.console.text.prefixes import COLOUR

MAX_COUNT_DIGITS = 9
_COUNT = re.compile(r"[0-9]{1,9}")
_NUMBER = re.compile(r"[-+]?+[0-9]{1,15}+(?:\.[0-9]{0,20}+)?+(?:[eE][-+]?+[0-9]{1,3}+)?+")
_NOT_FINITE = rb"|[-+]?+(?:nan|NaN|NAN|infinity|inf|Infinity|Inf|INF)"
_DIGITS = re.compile(r"([0-9]+)")
_DIGIT = re.compile(r"[0-9]")
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]+")
_JOINING = frozenset({"-", "/", " ", "T", ",", ":", ".", " day, ", " days, "})
"""Texts between two numbers that may be inside a date, a time, a version or a number, too."""
_CONTINUING = re.compile(r"[xX](?:[0-9a-fA-F]|$)|[eE][-+]?(?:[0-9]|$)|\.[0-9]")
"""How a text begins that may be the rest of the number before it."""


def _with_any_digits(text: str) -> bytes:
    """A regular expression for texts with other digits in the same places."""
    return b"".join(
        rb"[0-9]{%d}" % len(part) if part.isascii() and part.isdigit() else re.escape(part.encode())
        for part in _DIGITS.split(text)
    )


@dataclass(frozen=True, slots=True)
class NumberSlot:
    """A number in a line: a count of at most `digits` digits, or any number if `digits` is 0.

    Without `digits` the numbers of other lines have their digits where `text` has its. `is_group`: it matters
    to the parser of the line. `is_name`: its digits are part of a word. `may_be_infinite`: or NaN.
    """

    text: str
    digits: int | None = None
    is_group: bool = False
    is_name: bool = False
    may_be_infinite: bool = False

    def filled(self, number: str, digit: str) -> str:
        """Another number for the slot: `number` if it fits; in names `digit`, where that is not empty."""
        if self.is_name:
            return len(self.text) * digit or self.text
        if self.digits is None or (number[-1].isalpha() and not self.may_be_infinite):
            return self.text
        if self.digits:
            return number[: self.digits] if number.isdecimal() else self.text
        return number

    def source(self) -> bytes:
        """A regular expression for the numbers of other lines."""
        if self.digits:
            source = rb"[0-9]{1,%d}+" % self.digits
        elif self.digits == 0:
            source = _NUMBER.pattern.encode() + (_NOT_FINITE if self.may_be_infinite else b"")
        elif _HEXADECIMAL.fullmatch(self.text):
            source = rb"0%c[0-9a-fA-F]{%d}" % (ord(self.text[1]), len(self.text) - 2)
        else:
            source = _with_any_digits(self.text)
        return (b"(%s)" if self.is_group else b"(?:%s)") % source


@dataclass(frozen=True, slots=True)
class PrefixSlot:
    """A part of the prefix of a line, in which other lines have other digits: ranks, processes, hosts."""

    text: str

    def filled(self, number: str, digit: str) -> str:
        """The prefix with `digit` for each digit, where that is not empty."""
        return _DIGIT.sub(digit[0], self.text) if digit else self.text

    def source(self) -> bytes:
        """A regular expression for the prefixes of other lines, as a group."""
        return b"(%s)" % _with_any_digits(self.text)


@dataclass(frozen=True, slots=True)
class StampSlot:
    """The time in the prefix of a line, as container runtimes print it; other lines have the same zone."""

    text: str
    zone: str

    def filled(self, number: str, digit: str) -> str:
        """The same second with another fraction."""
        return f"{self.text[:19]}.{number}{self.zone}" if number.isdecimal() else self.text + self.zone

    def source(self) -> bytes:
        """A regular expression for the times of other lines; the zone is not in the group."""
        second = _with_any_digits(self.text[:19])
        return rb"(%s(?:\.[0-9]{1,9}+)?+)%s" % (second, re.escape(self.zone.encode()))


Piece = str | NumberSlot | PrefixSlot | StampSlot


def piece_source(piece: Piece) -> bytes:
    """A regular expression for a piece."""
    return re.escape(piece.encode()) if isinstance(piece, str) else piece.source()


def number_slots(
    parts: Sequence[str], groups: Collection[int], counts: Mapping[int, int]
) -> list[NumberSlot] | None:
    """The slots of a line with these texts and numbers in turn; None if a number that counts is no count.

    `groups` are the indices of the numbers that matter, `counts` has the most digits of those that count.
    """
    texts, numbers = parts[::2], parts[1::2]
    ratios = _ratios(texts, numbers)
    joined = {
        index
        for after in range(1, len(numbers))
        if texts[after] in _JOINING
        for index in (after - 1, after)
        if index not in ratios
    }
    slots = []
    for index, number in enumerate(numbers):
        after = texts[index + 1]
        digits = counts.get(index)
        if digits is not None and (_COUNT.fullmatch(number) is None or len(number) > digits):
            return None
        if index in joined or _CONTINUING.match(after) is not None:
            digits = None
        elif digits is None and _NUMBER.fullmatch(number) is not None:
            is_count = index in ratios or (index not in groups and _COUNT.fullmatch(number) is not None)
            digits = MAX_COUNT_DIGITS if is_count else 0
        ends_word = not (after[:1].isalnum() or after[:1] == "_")
        slots.append(NumberSlot(number, digits, index in groups, may_be_infinite=ends_word))
    return slots


def _ratios(texts: Sequence[str], numbers: Sequence[str]) -> set[int]:
    """The numbers of pairs of counts such as `10/445`, of which nothing around them makes a date."""
    found: set[int] = set()
    for after in range(1, len(numbers)):
        around = {texts[after - 1] if after > 1 else "", texts[after + 1] if after + 1 < len(numbers) else ""}
        pair = numbers[after - 1 : after + 1]
        if texts[after] in ("/", "-") and not around & _JOINING and all(map(_COUNT.fullmatch, pair)):
            found |= {after - 1, after}
    return found


def line_pieces(line: str, parts: Sequence[str], slots: Sequence[NumberSlot]) -> list[Piece] | None:
    """A line with slots instead of its numbers; None if a number has several colours.

    `parts` are the texts and numbers of the line behind its prefixes, in turn. The prefixes are a part of the
    first piece.
    """
    codes, plain = [], 0
    for code in COLOUR.finditer(line):
        codes.append((code.start() - plain, code[0]))
        plain += len(code[0])
    prefix = COLOUR.sub("", line)[: len(line) - plain - sum(map(len, parts))]
    position, pieces = 0, list[Piece]()
    for index, part in enumerate((prefix + parts[0], *parts[1:])):
        end = position + len(part)
        if index % 2:
            pieces.append(slots[index // 2])
            if codes and codes[0][0] < end:
                return None
        else:
            text, done = "", position
            while codes and codes[0][0] <= end:
                at, code_text = codes.pop(0)
                text += part[done - position : at - position] + code_text
                done = at
            pieces.append(text + part[done - position :])
        position = end
    return pieces


def with_digits_of_names(pieces: Sequence[Piece], chosen: Collection[int] | None = None) -> list[Piece]:
    """Pieces in which digits that are part of words are slots, too; only the `chosen` of these, if given."""
    found: list[Piece] = []
    number = 0
    for piece in pieces:
        if not isinstance(piece, str):
            found.append(piece)
            continue
        for part in _DIGITS.split(piece):
            is_digits = part.isdigit() and part.isascii()
            if is_digits and (chosen is None or number in chosen):
                found.append(NumberSlot(part, is_name=True))
            elif found and isinstance(found[-1], str):
                found[-1] += part
            else:
                found.append(part)
            number += is_digits
    return found


def digits_in_names(pieces: Sequence[Piece]) -> int:
    """How often digits are part of words."""
    return sum(len(_DIGITS.findall(piece)) for piece in pieces if isinstance(piece, str))

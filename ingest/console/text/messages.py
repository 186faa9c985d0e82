"""Texts without what stands before their lines, and without colours.

The forms in which programs print, such as tables, headings and bars, are looked for in these. Each line
begins where it does in the text, so that what is found there is found in the text as well.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import re2  # type: ignore[import-untyped]

from holter.ingest.console.text.prefixes import ends_of_prefixes, strip_prefixes, without_colours

_ESCAPE = b"\x1b"
_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1  # a byte is a character
_MAY_BE_PREFIXED = re2.compile(
    rb"(?m)\d:\d\d:\d\d|INFO|DEBUG|WARN|ERROR|CRITICAL|FATAL|NOTICE|TRACE|SUCCESS"
    rb"|[\[(<] *(?:[Ii]nfo|[Dd]ebug|[Ww]arning)|pid=|<std|\[pod/"
    rb"|^\[[\w.<>/:-]+(?:[:,(|]| line | ) ?\d|^[ \t]*[\w.-]*\d: |^[ \t]*\[[a-z_]*\d+\]:"
    rb"|^[\w.-]+ +\| |^[\w-]+/\d+ \["
    rb"|^[a-z0-9]+(?:-[a-z0-9]+)+ [a-z]|^\[?(?:GPU|gpu|[Rr]ank|RANK) ?[:=]? ?\d",
    _OPTIONS,
)
"""What each prefix has in it, in a form that is searched for fast."""


class LineTexts(NamedTuple):
    """The lines of a text as they were printed, as their program printed them, and their messages.

    What launchers print before a line is removed from the second, and what loggers print before it from the
    third, too.
    """

    printed: bytes
    bare: bytes
    messages: bytes

    @property
    def are_same(self) -> bool:
        """Whether nothing stands before any line."""
        return self.messages == self.printed


def texts_in_place(text: bytes) -> LineTexts:
    """Texts of the lines of a text, each where its line begins: newlines fill the rest."""
    if not _may_differ(text):
        return LineTexts(text, text, text)
    printed = text.split(b"\n")
    plain, lines = text, printed
    if _ESCAPE in text:
        plain = without_colours(text)
        lines = plain.split(b"\n")
    ends = ends_of_prefixes(plain, lines)
    distinct = {*(ends if lines[-1] else ends[:-1])}  # a text of complete lines has nothing behind them

    def without(part: int) -> bytes:
        """The text without what launchers (0) or loggers (1) put before its lines."""
        if plain is not text:
            parts = zip(printed, lines, ends, strict=True)
            return b"\n".join([line[end[part] :].ljust(len(whole), b"\n") for whole, line, end in parts])
        if len(distinct) == 1:
            end = ends[0][part]
            filled = (b"\n" * (end + 1)).join([line[end:] for line in lines])
            return filled + b"\n" * (len(text) - len(filled))
        fillings = {end[part]: b"\n" * end[part] for end in {*distinct, ends[-1]}}
        of_lines = [end[part] for end in ends]
        return b"\n".join([line[end:] + fillings[end] for line, end in zip(lines, of_lines, strict=True)])

    messages = without(1)
    if plain is text and not any(launcher for launcher, _ in distinct):
        return LineTexts(text, text, messages)
    is_same = all(launcher == logger for launcher, logger in distinct)
    return LineTexts(text, messages if is_same else without(0), messages)


@lru_cache(maxsize=2)
def texts_alone(text: bytes) -> LineTexts:
    """The same with nothing between the lines: at other places than in the text."""
    if not _may_differ(text):
        return LineTexts(text, text, text)
    plain = without_colours(text)
    lines = plain.split(b"\n")
    ends = ends_of_prefixes(plain, lines)
    bare, messages = (
        b"\n".join([line[end[part] :] for line, end in zip(lines, ends, strict=True)]) for part in (0, 1)
    )
    return LineTexts(text, bare, messages)


def _may_differ(text: bytes) -> bool:
    return _ESCAPE in text or _MAY_BE_PREFIXED.search(text) is not None


def messages_of_one(text: str) -> str:
    """The messages of the lines that one writer printed, if most of them have something before them.

    Others are the rest of a message. What differs before the lines may be what their rows count: `12: 0.31`.
    """
    lines = [strip_prefixes(line.encode()) for line in text.splitlines()]
    prefixed = [line for line in lines if line.prefix or line.logged]
    if 2 * len(prefixed) < len(lines) or len({line.labels for line in prefixed}) != 1:
        return text
    return "\n".join(line.message for line in lines)

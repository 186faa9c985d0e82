"""Text of others (names, lines of logs, replies) made safe for terminals, pages and messages, on one line.

Control characters could move the cursor, change a terminal's title or its clipboard; a bidirectional
override or a line break could make a line look like one of Holter's own.
"""

from __future__ import annotations

import logging
import re
import unicodedata

UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What no name may contain: control characters, line breaks, marks and overrides of direction, surrogates."""


_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that are drawn as nothing: fillers of Hangul, the empty Braille pattern."""


def is_invisible(text: str) -> bool:
    """Whether a text that is not empty shows nothing: zero-width characters, spaces, lone combining marks."""
    return text != "" and not any(
        letter not in _BLANK and unicodedata.category(letter) not in ("Cf", "Mn", "Me", "Zs")
        for letter in text
    )


def visible(text: str) -> str:
    """The text with visible escapes in place of `UNSAFE` characters; `printable` escapes others, too."""
    return UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def printable(text: str) -> str:
    """The text with visible escapes, such as `\\x1b` and `\\u202e`, in place of what a terminal acts upon.

    Characters are kept or replaced by category: control, format, surrogate, private and unassigned
    characters and line separators are escaped; other spaces become a plain one.
    """
    return text if text.isprintable() else "".join(map(_printable_letter, text))


def printable_lines(text: str) -> str:
    """Like `printable`, with the text's line breaks retained, for text whose lines are Holter's own."""
    return "\n".join(map(printable, text.split("\n")))


def _printable_letter(letter: str) -> str:
    if letter.isprintable():
        return letter
    return " " if unicodedata.category(letter) == "Zs" else letter.encode("unicode_escape").decode()


class TerminalFormatter(logging.Formatter):
    """A formatter of log records whose messages quote text of others; each message is one line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the base class names it
        """The message with its time and logger."""
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: object) -> str:  # noqa: N802 - the base class names it
        """The traceback."""
        return printable_lines(super().formatException(ei))  # type: ignore[arg-type]

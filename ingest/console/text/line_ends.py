"""Where lines end that programs do not end with a newline: drawn again, or behind a progress bar."""

from __future__ import annotations

import re

import re2  # type: ignore[import-untyped]

_RATE = rb"[\d.?]{1,12} {0,2}\w{0,20}/\w{1,12}"
_END_OF_BAR = rb"(?:<(?:[\d:]{1,12}|\?), {0,4}" + _RATE + rb"(?:, [^\]\n]{0,400})?\]|s/step)"
"""The end of a progress bar: `[00:01<00:00, 9.9it/s, loss=0.5]`, `- 9ms/step`."""
_BEHIND = rb"[\w{\[(<*#=\x80-\xff-]"
_GLUED = re.compile(_END_OF_BAR + rb"(?=" + _BEHIND + rb")")
"""The same before a message that a program prints before the bar is drawn again: a bar writes no line end."""
_VALUES_OF_BAR = rb"<(?:[\d:]{1,12}|\?), {0,4}" + _RATE + rb", [^\]=\n]{0,200}=[^\]\n]{0,400}\]"
_APART = re.compile(rb"(" + _VALUES_OF_BAR + rb") (?= {0,8}[A-Za-z\x80-\xff])")
"""The end of a bar that has its values in it, before a message with blanks between."""
_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1  # a byte is a character
_MAY_BE_GLUED = re2.compile(
    rb"(?:<[\d:?]+, *[\d.?]+ *\w*/\w+(?:, [^\]\n]*)?\]|s/step)(?:" + _BEHIND + rb"| +[A-Za-z\x80-\xff])",
    _OPTIONS,
)
"""What `_GLUED` and `_APART` match, in a form that is searched for faster."""


def with_newlines(text: bytes) -> bytes:
    """A text with a newline for what ends a line: a carriage return, the end of a bar or a blank behind it.

    Positions stay as they are.
    """
    text = text.replace(b"\r", b"\n") if b"\r" in text else text
    may_be_glued = b"s/step" in text or (b"<" in text and b"/" in text)
    if may_be_glued and _MAY_BE_GLUED.search(text) is not None:
        text = _GLUED.sub(lambda end: end[0][:-1] + b"\n", text)
        return _APART.sub(rb"\1\n", text)
    return text

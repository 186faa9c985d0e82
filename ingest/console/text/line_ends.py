"""Where lines end that programs do not end with a newline: drawn again, or behind a progress bar.

A bar that is wider than its terminal goes on below it.
"""

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
_OPENED = rb"\d/\d{1,12} \[[\d:?]{1,12}(?:<[^\]\n]{0,400})?"
"""A bar up to the end of a line within its brackets: `5/90 [00:01<00:17, 4.9it/s, loss=0.`."""
_WRAPPED = re.compile(rb"(?P<begin>" + _OPENED + rb")\n(?P<rest>[^\[\]\n]{1,400}\][ \t]{0,80}+(?=\n|\Z))")
"""A bar that the end of its terminal's line is within; the next line is the rest of its brackets."""
_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1  # a byte is a character
_MAY_END_OTHERWISE = re2.compile(
    rb"(?:<[\d:?]+, *[\d.?]+ *\w*/\w+(?:, [^\]\n]*)?\]|s/step)(?:"
    + _BEHIND
    + rb"| +[A-Za-z\x80-\xff])|\d/\d+ \[[\d:?]+(?:<[^\]\n]*)?\n",
    _OPTIONS,
)
"""What `_GLUED`, `_APART` and `_WRAPPED` match, in a form that is searched for faster."""


def with_newlines(text: bytes) -> bytes:
    """A text with a newline for all that ends a line, and for nothing else.

    A carriage return, the last character of a bar and a blank behind it end one, the end of a terminal's line
    does not. The positions at which lines begin stay as they are.
    """
    text = text.replace(b"\r", b"\n") if b"\r" in text else text
    may_have_bars = b"s/step" in text or (b"<" in text and b"/" in text)
    if may_have_bars and _MAY_END_OTHERWISE.search(text) is not None:
        text = _WRAPPED.sub(rb"\g<begin>\g<rest> ", text)
        text = _GLUED.sub(lambda end: end[0][:-1] + b"\n", text)
        return _APART.sub(rb"\1\n", text)
    return text

"""Lines that several processes print into one, without an end of line between them."""

from __future__ import annotations

_LEAST_GLUED = 5
"""Texts of two lines that are one, each with a counter and a value."""
_LEAST_LETTERS = 3


def without_glued(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The texts without another line of the kind that is glued to them: `Epoch 4, loss 0.5Epoch 4`."""
    begin = texts[0]
    if len(texts) < _LEAST_GLUED or begin not in texts[2:] or sum(map(str.isalpha, begin)) < _LEAST_LETTERS:
        return texts
    return (*texts[: texts.index(begin, 2)], "")

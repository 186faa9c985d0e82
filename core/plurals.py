"""How many of what, as people say it: "1 file", "1,200 files"."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number of things with their noun; `plural` where it is not the noun with an s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def verb(count: int, one: str, many: str) -> str:
    """The form of a verb that goes with so many: `verb(n, "is", "are")`."""
    return one if count == 1 else many

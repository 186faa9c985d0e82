"""Numbers with nouns in the right form: "1 file", "1,200 files"."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun; `plural` where it is not the noun with an s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def verb(count: int, singular: str, plural: str) -> str:
    """The form of a verb for this number: `verb(n, "is", "are")`."""
    return singular if count == 1 else plural

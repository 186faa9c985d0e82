"""Names that can be kept: what a log calls its series may be too long for a database, or no text at all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from holter.types import Batch, SeriesKey, Unreadable

MAX_METRIC_LENGTH = 500
MAX_LABEL_LENGTH = 200
_MOST_TOLD = 1000


def without_invalid_names(batch: Batch) -> tuple[Batch, list[Unreadable]]:
    """The batch without series whose names cannot be kept, and a word on each of those."""
    refused = [column.key for column in batch.columns if not _is_keepable(column.key)]
    if not refused:
        return batch, []
    kept = tuple(column for column in batch.columns if _is_keepable(column.key))
    return replace(batch, columns=kept), [_word(key) for key in refused]


class FirstReports:
    """What was said of names that cannot be kept: each once, and no more than so many of one log."""

    def __init__(self, most: int = _MOST_TOLD) -> None:
        self._most = most
        self._places: set[str] = set()

    def new(self, words: Iterable[Unreadable]) -> list[Unreadable]:
        """Those that are to be said now."""
        fresh = []
        for word in words:
            if word.location not in self._places and len(self._places) < self._most:
                self._places.add(word.location)
                fresh.append(word)
        return fresh


def storable_text(text: str) -> str:
    """The text with what no database takes spelt out: bytes of file names that are no UTF-8, and NUL."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\ufffd")


def storable_label(text: str) -> str:
    """A label's value or an attempt's name, in bounds."""
    return storable_text(text)[:MAX_LABEL_LENGTH]


def _is_keepable(key: SeriesKey) -> bool:
    return 0 < len(key.metric) <= MAX_METRIC_LENGTH and storable_text(key.metric) == key.metric


def _word(key: SeriesKey) -> Unreadable:
    reason = f"expected text of 1 to {MAX_METRIC_LENGTH} characters; its points are left out"
    return Unreadable(location=f"metric {storable_text(key.metric)[:60]!r}", reason=reason)

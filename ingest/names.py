"""Names of series that can be stored: those in logs may be too long for a database, or no valid text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from holter.types import Batch, SeriesKey, Unreadable

MAX_METRIC_LENGTH = 500
MAX_LABEL_LENGTH = 200
_MAX_REPORTS = 1000


def without_invalid_names(batch: Batch) -> tuple[Batch, list[Unreadable]]:
    """The batch without the series whose names cannot be stored, and a report on each of these."""
    refused = [column.key for column in batch.columns if not _is_valid(column.key)]
    if not refused:
        return batch, []
    columns = tuple(column for column in batch.columns if _is_valid(column.key))
    return replace(batch, columns=columns), [_report(key) for key in refused]


class FirstReports:
    """Lets the first report on each location pass, up to a number of reports per log."""

    def __init__(self, limit: int = _MAX_REPORTS) -> None:
        self._limit = limit
        self._locations: set[str] = set()

    def new(self, reports: Iterable[Unreadable]) -> list[Unreadable]:
        """The reports that are to be passed on now."""
        new = []
        for report in reports:
            if report.location not in self._locations and len(self._locations) < self._limit:
                self._locations.add(report.location)
                new.append(report)
        return new


def storable_text(text: str) -> str:
    """The text without what databases refuse: bytes that are no UTF-8 are escaped, NUL is replaced."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\ufffd")


def storable_label(text: str) -> str:
    """The value of a label, or the name of an attempt, as storable text of bounded length."""
    return storable_text(text)[:MAX_LABEL_LENGTH]


def _is_valid(key: SeriesKey) -> bool:
    return 0 < len(key.metric) <= MAX_METRIC_LENGTH and storable_text(key.metric) == key.metric


def _report(key: SeriesKey) -> Unreadable:
    reason = f"expected text of 1 to {MAX_METRIC_LENGTH} characters; its points are left out"
    return Unreadable(location=f"metric {storable_text(key.metric)[:60]!r}", reason=reason)

"""Names of series that can be stored: those in logs may be too long for a database, or no valid text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from holter.terminal_text import is_invisible, visible
from holter.types import Batch, SeriesKey, Unreadable

MAX_METRIC_LENGTH = 500
MAX_LABEL_LENGTH = 200
_MAX_REPORTS = 1000


def without_invalid_names(batch: Batch) -> tuple[Batch, list[Unreadable]]:
    """The batch without the series whose names cannot be stored, and a report on each of these.

    Names with control characters and the like are stored with visible escapes instead.
    """
    batch = _with_visible_names(batch)
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


def storable_name(text: str) -> str:
    """A name with visible escapes for what databases refuse, and for what would deceive its readers."""
    return text if text.isprintable() else visible(storable_text(text))


def storable_label(text: str) -> str:
    """The value of a label, or the name of an attempt, as a storable name of bounded length."""
    return storable_name(text)[:MAX_LABEL_LENGTH]


def _with_visible_names(batch: Batch) -> Batch:
    keys = [column.key for column in batch.columns]
    if all(key.metric.isprintable() for key in keys):
        return batch
    known = set(keys)
    columns = []
    for column in batch.columns:
        key = column.key._replace(metric=storable_name(column.key.metric))
        if key != column.key and key not in known:
            known.add(key)
            column = replace(column, key=key)
        columns.append(column)
    return replace(batch, columns=tuple(columns))


def _is_valid(key: SeriesKey) -> bool:
    name = key.metric
    return (
        0 < len(name) <= MAX_METRIC_LENGTH
        and storable_name(name) == name
        and (name.isascii() or not is_invisible(name))
    )


def _report(key: SeriesKey) -> Unreadable:
    limit = f"1 to {MAX_METRIC_LENGTH} characters, of which one is visible"
    reason = f"expected text of {limit}; its points are left out"
    return Unreadable(location=f"metric {storable_text(key.metric)[:60]!r}", reason=reason)

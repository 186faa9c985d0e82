"""What has come to a run since somebody last read it: log entries alone, while none of them is missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from sqlalchemy import func, select

from holter.server.models import LogEntry, SummaryRow
from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.read.series import read_series
from holter.server.store.read.snapshot import RunSnapshot, StepRange, log_points
from holter.types import Series, SeriesKey

SeriesSelector = Callable[[Collection[SeriesKey]], Collection[SeriesKey]]
"""Which of a run's series are asked for."""


class ReadPosition(NamedTuple):
    """How far a run has been read: to an entry of its log, and the series that it had then."""

    entry: int
    names: Mapping[int, SeriesKey]


class RunChanges(NamedTuple):
    """What came up to a place: `points` by series and attempt, or else all that the run has (`whole`)."""

    place: ReadPosition
    points: Mapping[SeriesKey, Mapping[int, SeriesPoints]]
    whole: Mapping[SeriesKey, Series] | None


def read_changes(
    snapshot: RunSnapshot,
    since: ReadPosition | None,
    chosen: SeriesSelector,
    begin: tuple[int, int] | None = None,
) -> RunChanges:
    """What came since a place (None: everything, from about `begin` on) to the series that are chosen."""
    summarised = select(SummaryRow.entry).where(SummaryRow.run_id == snapshot.run_id)
    compacted = snapshot.connection.scalar(summarised) or 0
    names = snapshot.more_series({} if since is None else since.names)
    asked = set(chosen(names.values()))
    if since is None or compacted > since.entry:
        # compaction has taken entries that were not read yet
        last = select(func.max(LogEntry.id)).where(LogEntry.run_id == snapshot.run_id)
        entry = max(snapshot.connection.scalar(last) or 0, compacted)
        return RunChanges(
            ReadPosition(entry, names), {}, read_series(snapshot, asked, StepRange(), begin=begin)
        )
    entry, blocks = snapshot.tail(since.entry)
    ids = [number for number, key in names.items() if key in asked]
    points = log_points(blocks, ids) if ids else {}
    return RunChanges(
        ReadPosition(entry, names), {names[number]: found for number, found in points.items()}, None
    )

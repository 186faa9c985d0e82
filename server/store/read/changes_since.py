"""Incremental reads: what was added to a run since a position, from log entries only where that is
possible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from sqlalchemy import bindparam, func, select

from holter.server.models import LogEntry, SummaryRow
from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.read.series import read_series
from holter.server.store.read.snapshot import RunSnapshot, StepRange, log_points
from holter.types import Series, SeriesKey

# built once, since every analysis pass runs it
_COMPACTED = select(SummaryRow.entry).where(SummaryRow.run_id == bindparam("run"))

SeriesSelector = Callable[[Collection[SeriesKey]], Collection[SeriesKey]]
"""Selects the wanted series of a run."""


class ReadPosition(NamedTuple):
    """How far a run has been read: the last log entry, and the series known then."""

    entry: int
    names: Mapping[int, SeriesKey]


class RunChanges(NamedTuple):
    """Points added up to a position: `points` by series and attempt, or all series in full (`full`)."""

    position: ReadPosition
    points: Mapping[SeriesKey, Mapping[int, SeriesPoints]]
    full: Mapping[SeriesKey, Series] | None


def read_changes(
    snapshot: RunSnapshot,
    since: ReadPosition | None,
    chosen: SeriesSelector,
    begin: tuple[int, int] | None = None,
) -> RunChanges:
    """Return what was added to the chosen series since a position (None: everything, from about `begin`
    on).
    """
    compacted = snapshot.connection.scalar(_COMPACTED, {"run": snapshot.run_id}) or 0
    names = snapshot.more_series({} if since is None else since.names)
    wanted = set(chosen(names.values()))
    if since is None or compacted > since.entry:
        # compaction has removed entries that were not read yet
        last = select(func.max(LogEntry.id)).where(LogEntry.run_id == snapshot.run_id)
        entry = max(snapshot.connection.scalar(last) or 0, compacted)
        return RunChanges(
            ReadPosition(entry, names), {}, read_series(snapshot, wanted, StepRange(), begin=begin)
        )
    ids = [series_id for series_id, key in names.items() if key in wanted]
    entry, blocks = snapshot.log_after(since.entry, ids)
    points = log_points(blocks, ids) if ids else {}
    return RunChanges(
        ReadPosition(entry, names),
        {names[series_id]: series_points for series_id, series_points in points.items()},
        None,
    )

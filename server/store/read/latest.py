"""The newest point of each series of a run: of its summary, and of what the log has got since."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from sqlalchemy import text

from holter.server.store.cache import LruCache
from holter.server.store.encoding.block import decode_log_entry, encoded_series_ids
from holter.server.store.encoding.last_points import (
    NO_LAST_POINTS,
    LastPoints,
    earliest_last_point,
    last_points_of_entry,
    merge_last_points,
)
from holter.server.store.encoding.series_names import NO_NAMES, SeriesNames, decode_names
from holter.server.store.encoding.series_stats import decode_last_points
from holter.server.store.read.snapshot import RunSnapshot
from holter.server.store.read.stats_cache import complete_names
from holter.server.store.types import NewestPoints

# as texts: composed in no time by whoever asks first in a process
_STORED = text("SELECT entry, chunks, log, names FROM summary WHERE run_id = :run")
_SINCE = text(
    "SELECT id, attempt, step_max, payload FROM log WHERE run_id = :run AND id > :entry ORDER BY id DESC"
)


class _Held(NamedTuple):
    """The newest points of a run as of a version of it, and the last row of its log that is in them."""

    version: tuple[int, int]
    entry: int
    newest_points: NewestPoints


def read_newest_points(snapshot: RunSnapshot, memory: LruCache) -> NewestPoints:
    """The newest point of each series of the run, in the order of their keys. Raises CorruptDataError."""
    held: _Held | None = memory.get(("newest", snapshot.run_id))
    if held is not None and held.version == snapshot.version:
        return held.newest_points
    if held is not None and held.version[0] == snapshot.version[0]:
        entry, ends, names = held.entry, _ends(held.newest_points), held.newest_points.names
    else:
        entry, ends, names = _summarised(snapshot, NO_NAMES if held is None else held.newest_points.names)
    entry, newer = _since(snapshot, entry)
    ends = merge_last_points(ends, newer)
    names = complete_names(snapshot.connection, snapshot.run_id, names, ends.ids).only(ends.ids)
    found = _in_order(names, ends)
    size = names.size + 32 * len(names.ids)
    memory.put(("newest", snapshot.run_id), _Held(snapshot.version, entry, found), size)
    return found


def _in_order(names: SeriesNames, ends: LastPoints) -> NewestPoints:
    if len(names.ids) < len(ends.ids):  # rows of series are gone
        there = np.isin(ends.ids, names.ids)
        ends = LastPoints._make(column[there] for column in ends)
    order = names.order
    return NewestPoints(names, ends.attempt[order], ends.step[order], ends.time[order], ends.value[order])


def _ends(found: NewestPoints) -> LastPoints:
    """The same by the ids of the series: kept in one order, since memory costs more than this."""
    names, *columns = found
    back = np.empty_like(names.order)
    back[names.order] = np.arange(len(back))
    return LastPoints._make([names.ids, *(column[back] for column in columns)])


def _summarised(snapshot: RunSnapshot, names: SeriesNames) -> tuple[int, LastPoints, SeriesNames]:
    """What the summary says, and up to which entry; names that are known serve where it has none."""
    row = snapshot.connection.execute(_STORED, {"run": snapshot.run_id}).one_or_none()
    if row is None:
        return 0, NO_LAST_POINTS, names
    place = "series in numbers".format
    chunks, log = (snapshot.decoded(decode_last_points, blob, place) for blob in (row.chunks, row.log))
    if row.names is not None:
        names = snapshot.decoded(decode_names, row.names, "names of series".format)
    return row.entry, merge_last_points(chunks, log), names


def _since(snapshot: RunSnapshot, entry: int) -> tuple[int, LastPoints]:
    """The newest points of what the log has after an entry, and the last entry that there is.

    From the newest entry back: an older one of the same series, at steps that these have passed, is not
    decoded.
    """
    ends, passed = NO_LAST_POINTS, dict[bytes, tuple[int, int]]()
    asked = {"run": snapshot.run_id, "entry": entry}
    for number, attempt, step_max, payload in snapshot.connection.execute(_SINCE, asked):
        entry = max(entry, number)
        place = partial("log entry {}".format, number)
        series = snapshot.decoded(encoded_series_ids, payload, place)
        if series not in passed or (attempt, step_max) > passed[series]:
            block = snapshot.decoded(decode_log_entry, payload, place)
            ends = merge_last_points(last_points_of_entry(attempt, block), ends)
            passed[series] = earliest_last_point(ends, block.ids)
    return entry, ends

"""The newest point of each series: from the run's summary, and the log entries added since."""

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

# as text: costs nothing to compile for the first caller in a process
_SELECT_SUMMARY = text("SELECT entry, chunks, log, names FROM summary WHERE run_id = :run")
_SELECT_LOG_SINCE = text(
    "SELECT id, attempt, step_max, payload FROM log WHERE run_id = :run AND id > :entry ORDER BY id DESC"
)


class _CachedNewest(NamedTuple):
    """The newest points of a run as of a version of it, and the last log entry they include."""

    version: tuple[int, int]
    entry: int
    newest_points: NewestPoints


def read_newest_points(snapshot: RunSnapshot, cache: LruCache) -> NewestPoints:
    """Return the newest point of each series of the run, in key order. Raises CorruptDataError."""
    cached: _CachedNewest | None = cache.get(("newest", snapshot.run_id))
    if cached is not None and cached.version == snapshot.version:
        return cached.newest_points
    if cached is not None and cached.version[0] == snapshot.version[0]:
        entry, last_points, names = cached.entry, _by_id(cached.newest_points), cached.newest_points.names
    else:
        entry, last_points, names = _read_summary(
            snapshot, NO_NAMES if cached is None else cached.newest_points.names
        )
    entry, newer = _read_log_since(snapshot, entry)
    last_points = merge_last_points(last_points, newer)
    names = complete_names(snapshot.connection, snapshot.run_id, names, last_points.ids).only(last_points.ids)
    points = _in_key_order(names, last_points)
    size = names.size + 32 * len(names.ids)
    cache.put(("newest", snapshot.run_id), _CachedNewest(snapshot.version, entry, points), size)
    return points


def _in_key_order(names: SeriesNames, last_points: LastPoints) -> NewestPoints:
    if len(names.ids) < len(last_points.ids):  # series rows were deleted
        existing = np.isin(last_points.ids, names.ids)
        last_points = LastPoints._make(column[existing] for column in last_points)
    order = names.order
    return NewestPoints(
        names,
        last_points.attempt[order],
        last_points.step[order],
        last_points.time[order],
        last_points.value[order],
    )


def _by_id(points: NewestPoints) -> LastPoints:
    """Return the points ordered by series id; the cache stores one order only, as sorting is cheaper than
    memory.
    """
    names, *columns = points
    inverse = np.empty_like(names.order)
    inverse[names.order] = np.arange(len(inverse))
    return LastPoints._make([names.ids, *(column[inverse] for column in columns)])


def _read_summary(snapshot: RunSnapshot, names: SeriesNames) -> tuple[int, LastPoints, SeriesNames]:
    """Return the entry up to which the summary counts, its newest points, and the names (else those
    given).
    """
    row = snapshot.connection.execute(_SELECT_SUMMARY, {"run": snapshot.run_id}).one_or_none()
    if row is None:
        return 0, NO_LAST_POINTS, names
    describe = "series statistics".format
    chunks, log = (snapshot.decoded(decode_last_points, blob, describe) for blob in (row.chunks, row.log))
    if row.names is not None:
        names = snapshot.decoded(decode_names, row.names, "series names".format)
    return row.entry, merge_last_points(chunks, log), names


def _read_log_since(snapshot: RunSnapshot, entry: int) -> tuple[int, LastPoints]:
    """Return the last log entry, and the newest points of the entries after the given one.

    Reads from the newest entry backwards: an older entry of the same series whose steps were passed already
    is not decoded.
    """
    last_points, passed = NO_LAST_POINTS, dict[bytes, tuple[int, int]]()
    parameters = {"run": snapshot.run_id, "entry": entry}
    for entry_id, attempt, step_max, payload in snapshot.connection.execute(_SELECT_LOG_SINCE, parameters):
        entry = max(entry, entry_id)
        describe = partial("log entry {}".format, entry_id)
        series = snapshot.decoded(encoded_series_ids, payload, describe)
        if series not in passed or (attempt, step_max) >= passed[series]:
            block = snapshot.decoded(decode_log_entry, payload, describe)
            last_points = merge_last_points(last_points_of_entry(attempt, block), last_points)
            passed[series] = earliest_last_point(last_points, block.ids)
    return entry, last_points

"""Compacts a run's log into chunks: encoded outside the writer, applied in one short transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, delete, insert, select, update

from holter.server.database import PIPELINED, reading, writing
from holter.server.models import Chunk, LogEntry, Timeline
from holter.server.store.compaction.summary import (
    StoredSummary,
    begin_rewrite,
    load_summary,
    recount_stats,
    save_summary,
    summary_names,
)
from holter.server.store.encoding.attempt_progress import step_ranges
from holter.server.store.encoding.block import (
    PointBlock,
    SeriesPoints,
    encode_body,
    encode_log_entry,
    encode_log_entry_by_series,
)
from holter.server.store.encoding.chunk_builder import ChunkBuilder
from holter.server.store.encoding.series_names import NO_NAMES, SeriesNames
from holter.server.store.encoding.series_stats import SeriesStats, combine_stats, stats_of_block
from holter.server.store.errors import ConcurrentRewriteError
from holter.server.store.read.snapshot import ChunkRow, RunSnapshot

_MAX_POINTS_PER_PASS = 2_000_000  # points of the log that are compacted in one pass
_MAX_LOG_POINTS = 1_000_000  # points that may stay in the log because their series are short
# (minimum points for a chunk of its own, maximum points in the log for having fewer)
_MIN_CHUNK_POINTS = ((2048, 262_144), (256, _MAX_LOG_POINTS), (32, _MAX_LOG_POINTS))
_MAX_CHUNKS_PER_PASS = 1500  # series that become chunks in one transaction, which blocks other writers
# points per series from which on remaining log entries are encoded series by series
_BY_SERIES_MIN_POINTS = 256
# fewer late points are merged into a full chunk instead of making a small one
_MIN_APPENDED_POINTS = 256
_GROWING_CHUNK_POINTS = 8_192  # a chunk with fewer points is rewritten, larger, when more arrive


@dataclass
class CompactionChange:
    """The rows that one transaction writes in place of log entries."""

    stored: StoredSummary
    entries: list[int]
    builder: ChunkBuilder = field(default_factory=ChunkBuilder)
    replaced: list[ChunkRow] = field(default_factory=list)
    recounted_series: set[int] = field(default_factory=set)  # series with late points among existing chunks
    chunk_stats: list[SeriesStats] = field(default_factory=list)  # of points added to chunks
    remaining_entries: list[dict[str, Any]] = field(default_factory=list)
    log_stats: list[SeriesStats] = field(default_factory=list)  # of points left in the log
    names: SeriesNames = NO_NAMES  # of all series of both
    has_more: bool = False  # series were deferred to the next pass

    @property
    def worthwhile(self) -> bool:
        """Whether the transaction would change anything."""
        return bool(self.entries) and (
            bool(self.builder.rows)
            or len(self.remaining_entries) < len(self.entries)
            or self.entries[-1] > self.stored.entry
        )


class CompactionStoppedError(Exception):
    """The server stops; what was not compacted stays in the log."""


def compact(engine: Engine, run_id: int, stopping: Callable[[], bool] = lambda: False) -> int:
    """Compact a run's log; returns the number of chunks written.

    Raises CompactionStoppedError, between two transactions, soon after `stopping` became true.
    """
    written = 0
    while True:
        with reading(engine) as connection:
            entries, more_entries = _next_entries(connection, run_id)
            change = _plan_change(RunSnapshot(connection, run_id), entries, stopping)
        if change.worthwhile:
            with writing(engine) as connection:
                _apply(connection, run_id, change)
            written += len(change.builder.rows)
        if not (more_entries or change.has_more) or not change.worthwhile:
            return written


def _next_entries(connection: Connection, run_id: int) -> tuple[list[int], bool]:
    """Return the oldest log entries, as many as one pass compacts, and whether there are more."""
    query = select(LogEntry.id, LogEntry.points).where(LogEntry.run_id == run_id).order_by(LogEntry.id)
    rows = connection.execute(query).all()
    sums = np.cumsum([row.points for row in rows])
    size = int(np.searchsorted(sums, _MAX_POINTS_PER_PASS)) + 1
    return [row.id for row in rows[:size]], size < len(rows)


def _plan_change(
    snapshot: RunSnapshot, entries: Sequence[int], stopping: Callable[[], bool]
) -> CompactionChange:
    change = CompactionChange(load_summary(snapshot), list(entries))
    for attempt, (last_entry, block) in snapshot.entries(entries).items():
        last_chunks = snapshot.last_chunks(attempt) if len(change.stored.chunks.ids) else {}
        chunked = _select_chunked(block)
        change.has_more |= int(chunked.sum()) < int((block.counts >= _min_points(block)).sum())
        for index, (series_id, first_step) in enumerate(
            zip(block.ids.tolist(), step_ranges(block)[0].tolist(), strict=True)
        ):
            # late points go into the chunks they belong to: chunks and log share no step
            chunked[index] |= series_id in last_chunks and first_step <= last_chunks[series_id].step_max
        if chunked.any():
            _add_chunks(
                change, snapshot, attempt, block.only(block.ids[chunked].tolist()), last_chunks, stopping
            )
        if not chunked.all():
            remaining = block.only(block.ids[~chunked].tolist())
            change.remaining_entries.append(_remaining_entry(last_entry, remaining.without_empty_rows()))
            change.log_stats.append(stats_of_block(attempt, remaining))
    change.names = summary_names(snapshot, change.stored, *change.chunk_stats, *change.log_stats)
    return change


def _select_chunked(block: PointBlock) -> NDArray[np.bool_]:
    """Which series become chunks: those with the most points, if they are too many for one transaction."""
    enough = block.counts >= _min_points(block)
    enough[np.argsort(-block.counts, kind="stable")[_MAX_CHUNKS_PER_PASS:]] = False
    return enough


def _min_points(block: PointBlock) -> int:
    """Return how many points a series needs for a chunk of its own."""
    for points, allowed in _MIN_CHUNK_POINTS:
        if int(block.counts[block.counts < points].sum()) <= allowed:
            return points
    return 1


def _add_chunks(
    change: CompactionChange,
    snapshot: RunSnapshot,
    attempt: int,
    block: PointBlock,
    last_chunks: Mapping[int, ChunkRow],
    stopping: Callable[[], bool],
) -> None:
    """Build chunks of a block, merged with the chunks whose step ranges its points fall into."""
    change.chunk_stats.append(stats_of_block(attempt, block))
    bounds = block.offsets.tolist()
    parts: list[tuple[int, SeriesPoints, ChunkRow | None, bool]] = []
    for series_id, start, stop in zip(block.ids.tolist(), bounds, bounds[1:], strict=False):
        points, last_chunk = block.points(start, stop), last_chunks.get(series_id)
        if last_chunk is None or points.step[0] > last_chunk.step_max:
            grows = (
                last_chunk is not None
                and last_chunk.points < _GROWING_CHUNK_POINTS
                and last_chunk.points == last_chunk.logged
            )
            parts.append((series_id, points, last_chunk if grows else None, True))
        else:
            rows = snapshot.chunks_from(series_id, attempt, int(points.step[0]))
            parts += [(series_id, *part) for part in _split_at_chunks(points, rows)]
            change.recounted_series.add(series_id)
    older = snapshot.points([row for _, _, row, _ in parts if row is not None])
    for series_id, points, row, last in parts:
        if stopping():
            raise CompactionStoppedError
        if row is None:
            change.builder.add(attempt, series_id, points, last=last)
        else:
            change.replaced.append(row)
            joined = change.builder.merge(older[row.id], points)
            change.builder.add(attempt, series_id, joined, removed=row.logged - row.points, last=last)


def _split_at_chunks(
    points: SeriesPoints, rows: Sequence[ChunkRow]
) -> list[tuple[SeriesPoints, ChunkRow | None, bool]]:
    """Split points where chunks (rows, ascending) begin.

    Returns each part with the chunk it is merged into, None for a chunk of its own, and whether it is the
    last.
    """
    begins = np.searchsorted(points.step, np.array([row.step_min for row in rows], dtype=np.int64)).tolist()
    bounds = [0, *begins, len(points.step)]
    parts = []
    for row, start, stop in zip([None, *rows], bounds, bounds[1:], strict=False):
        if start == stop:
            continue
        part, last = SeriesPoints._make(column[start:stop] for column in points), row is rows[-1]
        if row is not None and part.step[0] > row.step_max:
            small = row.points < _GROWING_CHUNK_POINTS or (stop - start < _MIN_APPENDED_POINTS and not last)
            # downsampled chunks are not merged with full ones
            row = row if small and row.points == row.logged else None
        parts.append((part, row, last))
    return parts


def _remaining_entry(entry: int, block: PointBlock) -> dict[str, Any]:
    """Return the row that stays in the log, in place of its newest entry: later writes remain newer."""
    long = len(block.values) >= _BY_SERIES_MIN_POINTS * len(block.ids)
    return {
        "id": entry,
        "step_min": int(block.steps.min()),
        "step_max": int(block.steps.max()),
        "points": len(block.values),
        "payload": encode_log_entry_by_series(block)
        if long
        else encode_log_entry(block.ids, encode_body(block)),
    }


def _apply(connection: Connection, run_id: int, change: CompactionChange) -> None:
    begin_rewrite(connection, run_id, change.stored.generation)
    _replace_entries(connection, change)
    timelines = add_timelines(connection, run_id, change.builder.timelines)
    if change.builder.rows:
        rows = [row | {"timeline_id": timelines[row["timeline_id"]]} for row in change.builder.rows]
        connection.execute(insert(Chunk).inline(), rows, execution_options=PIPELINED)
    delete_chunks(connection, change.replaced)
    chunks = combine_stats([change.stored.chunks, *change.chunk_stats])
    if change.recounted_series:
        chunks = recount_stats(chunks, RunSnapshot(connection, run_id).chunks(change.recounted_series))
    log = combine_stats(change.log_stats)
    save_summary(
        connection,
        run_id,
        StoredSummary(entry=change.entries[-1], chunks=chunks, log=log, names=change.names),
    )


def _replace_entries(connection: Connection, change: CompactionChange) -> None:
    kept_ids = {row["id"] for row in change.remaining_entries}
    removed = [number for number in change.entries if number not in kept_ids]
    for row in change.remaining_entries:
        values = {name: value for name, value in row.items() if name != "id"}
        statement = update(LogEntry).where(LogEntry.id == row["id"]).values(values)
        connection.execute(statement, execution_options=PIPELINED)
    for part in _batches(removed):
        if connection.execute(delete(LogEntry).where(LogEntry.id.in_(part))).rowcount != len(part):
            raise ConcurrentRewriteError("another server has compacted these entries of the log")


def add_timelines(connection: Connection, run_id: int, timelines: dict[bytes, bytes]) -> dict[bytes, int]:
    """Return the ids of timelines by digest, inserting those that the run does not have."""
    query = select(Timeline.digest, Timeline.id).where(Timeline.run_id == run_id)
    ids: dict[bytes, int] = {}
    for part in _batches(list(timelines)):
        ids |= {
            bytes(key): timeline_id
            for key, timeline_id in connection.execute(query.where(Timeline.digest.in_(part)))
        }
    missing = [key for key in timelines if key not in ids]
    if missing:
        new_rows = [{"run_id": run_id, "digest": key, "payload": timelines[key]} for key in missing]
        statement = insert(Timeline).returning(Timeline.id, sort_by_parameter_order=True)
        ids |= dict(zip(missing, connection.scalars(statement, new_rows), strict=True))
    return ids


def delete_chunks(connection: Connection, rows: Sequence[ChunkRow]) -> None:
    """Delete chunks, and timelines that are no longer used.

    Raises ConcurrentRewriteError where a chunk is missing.
    """
    for part in _batches([row.id for row in rows]):
        if connection.execute(delete(Chunk).where(Chunk.id.in_(part))).rowcount != len(part):
            raise ConcurrentRewriteError("these chunks have been replaced meanwhile")
    used = select(Chunk.id).where(Chunk.timeline_id == Timeline.id).exists()
    for part in _batches(sorted({row.timeline_id for row in rows})):
        connection.execute(delete(Timeline).where(Timeline.id.in_(part), ~used))


def _batches(values: Sequence[Any]) -> list[Sequence[Any]]:
    return [values[start : start + 500] for start in range(0, len(values), 500)]

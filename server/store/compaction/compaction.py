"""Makes chunks of a run's log: encoded beside the writer, put in its place in one short transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, delete, insert, select, update

from holter.server.database import UNANSWERED, reading, writing
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

_AT_ONCE = 2_000_000  # points of the log that are compacted in one go
_LEFT = 1_000_000  # points that may stay in the log because their series are short
# how many points are worth a chunk of their own, and how many may stay in the log for having fewer
_LEAST = ((2048, 262_144), (256, _LEFT), (32, _LEFT))
_ROWS = 1500  # series that become chunks in one transaction: others want to write meanwhile
_PACKED = 256  # points a series from which on what stays in the log is encoded series by series
_FEW = 256  # points for which a full chunk is made anew, rather than a small one beside it
_TAIL = 8_192  # a chunk with fewer points is made anew, larger, when more come


@dataclass
class CompactionChange:
    """What one transaction puts in the place of log entries."""

    stored: StoredSummary
    entries: list[int]
    cutter: ChunkBuilder = field(default_factory=ChunkBuilder)
    replaced: list[ChunkRow] = field(default_factory=list)
    mixed: set[int] = field(default_factory=set)  # series that had points in chunks where these stand
    added: list[SeriesStats] = field(default_factory=list)  # to the chunks
    left: list[dict[str, Any]] = field(default_factory=list)
    staying: list[SeriesStats] = field(default_factory=list)  # in the log
    names: SeriesNames = NO_NAMES  # of all of these
    more: bool = False  # stays in the log for now only

    @property
    def worthwhile(self) -> bool:
        """Whether the transaction would change anything."""
        return bool(self.entries) and (
            bool(self.cutter.rows)
            or len(self.left) < len(self.entries)
            or self.entries[-1] > self.stored.entry
        )


def compact(engine: Engine, run_id: int) -> int:
    """Compact what a run's log holds; how many chunks were written."""
    written = 0
    while True:
        with reading(engine) as connection:
            entries, more = _entries(connection, run_id)
            change = _change(RunSnapshot(connection, run_id), entries)
        if change.worthwhile:
            with writing(engine) as connection:
                _apply(connection, run_id, change)
            written += len(change.cutter.rows)
        if not (more or change.more) or not change.worthwhile:
            return written


def _entries(connection: Connection, run_id: int) -> tuple[list[int], bool]:
    """The oldest entries of the log, as many as are compacted in one go, and whether there are more."""
    query = select(LogEntry.id, LogEntry.points).where(LogEntry.run_id == run_id).order_by(LogEntry.id)
    rows = connection.execute(query).all()
    sums = np.cumsum([row.points for row in rows])
    size = int(np.searchsorted(sums, _AT_ONCE)) + 1
    return [row.id for row in rows[:size]], size < len(rows)


def _change(snapshot: RunSnapshot, entries: Sequence[int]) -> CompactionChange:
    change = CompactionChange(load_summary(snapshot), list(entries))
    for attempt, (last_entry, block) in snapshot.entries(entries).items():
        ends = snapshot.last_chunks(attempt) if len(change.stored.chunks.ids) else {}
        chunked = _chunked(block)
        change.more |= int(chunked.sum()) < int((block.counts >= _least(block)).sum())
        for at, (number, first) in enumerate(
            zip(block.ids.tolist(), step_ranges(block)[0].tolist(), strict=True)
        ):
            # what belongs among the points of chunks goes there: chunks and log have no step in common
            chunked[at] |= number in ends and first <= ends[number].step_max
        if chunked.any():
            _add(change, snapshot, attempt, block.only(block.ids[chunked].tolist()), ends)
        if not chunked.all():
            left = block.only(block.ids[~chunked].tolist())
            change.left.append(_left(last_entry, left.without_empty_rows()))
            change.staying.append(stats_of_block(attempt, left))
    change.names = summary_names(snapshot, change.stored, *change.added, *change.staying)
    return change


def _chunked(block: PointBlock) -> NDArray[np.bool_]:
    """Which series become chunks: those with the most points, where they are too many for one transaction."""
    enough = block.counts >= _least(block)
    if int(enough.sum()) > _ROWS:
        enough[np.argsort(-block.counts, kind="stable")[_ROWS:]] = False
    return enough


def _least(block: PointBlock) -> int:
    """How many points a series must have for a chunk of its own."""
    for least, allowed in _LEAST:
        if int(block.counts[block.counts < least].sum()) <= allowed:
            return least
    return 1


def _add(
    change: CompactionChange,
    snapshot: RunSnapshot,
    attempt: int,
    block: PointBlock,
    ends: Mapping[int, ChunkRow],
) -> None:
    """Make chunks of a block, and of the chunks among whose points its own belong."""
    change.added.append(stats_of_block(attempt, block))
    bounds = block.offsets.tolist()
    places: list[tuple[int, SeriesPoints, ChunkRow | None, bool]] = []
    for number, start, stop in zip(block.ids.tolist(), bounds, bounds[1:], strict=False):
        points, end = block.points(start, stop), ends.get(number)
        if end is None or points.step[0] > end.step_max:
            grows = end is not None and end.points < _TAIL and end.points == end.logged
            places.append((number, points, end if grows else None, True))
        else:
            rows = snapshot.chunks_from(number, attempt, int(points.step[0]))
            places += [(number, *place) for place in _places(points, rows)]
            change.mixed.add(number)
    older = snapshot.points([row for _, _, row, _ in places if row is not None])
    for number, points, row, last in places:
        if row is None:
            change.cutter.add(attempt, number, points, last=last)
        else:
            change.replaced.append(row)
            joined = change.cutter.merge(older[row.id], points)
            change.cutter.add(attempt, number, joined, removed=row.logged - row.points, last=last)


def _places(
    points: SeriesPoints, rows: Sequence[ChunkRow]
) -> list[tuple[SeriesPoints, ChunkRow | None, bool]]:
    """The points cut where chunks begin (rows in their order); with the chunk that each part belongs into,
    None for one of its own, and whether it is the last one.
    """
    begins = np.searchsorted(points.step, np.array([row.step_min for row in rows], dtype=np.int64)).tolist()
    bounds = [0, *begins, len(points.step)]
    found = []
    for row, start, stop in zip([None, *rows], bounds, bounds[1:], strict=False):
        if start == stop:
            continue
        part, last = SeriesPoints._make(column[start:stop] for column in points), row is rows[-1]
        if row is not None and part.step[0] > row.step_max:
            small = row.points < _TAIL or (stop - start < _FEW and not last)
            # what was thinned stays apart from what was not
            row = row if small and row.points == row.logged else None
        found.append((part, row, last))
    return found


def _left(entry: int, block: PointBlock) -> dict[str, Any]:
    """What stays in the log, in the place of the newest entry it comes from: later writes remain newer."""
    many = len(block.values) >= _PACKED * len(block.ids)
    return {
        "id": entry,
        "step_min": int(block.steps.min()),
        "step_max": int(block.steps.max()),
        "points": len(block.values),
        "payload": encode_log_entry_by_series(block)
        if many
        else encode_log_entry(block.ids, encode_body(block)),
    }


def _apply(connection: Connection, run_id: int, change: CompactionChange) -> None:
    begin_rewrite(connection, run_id, change.stored.generation)
    _replace_entries(connection, change)
    timelines = add_timelines(connection, run_id, change.cutter.timelines)
    if change.cutter.rows:
        rows = [row | {"timeline_id": timelines[row["timeline_id"]]} for row in change.cutter.rows]
        connection.execute(insert(Chunk).inline(), rows, execution_options=UNANSWERED)
    delete_chunks(connection, change.replaced)
    chunks = combine_stats([change.stored.chunks, *change.added])
    if change.mixed:
        chunks = recount_stats(chunks, RunSnapshot(connection, run_id).chunks(change.mixed))
    log = combine_stats(change.staying)
    save_summary(
        connection,
        run_id,
        StoredSummary(entry=change.entries[-1], chunks=chunks, log=log, names=change.names),
    )


def _replace_entries(connection: Connection, change: CompactionChange) -> None:
    kept = {row["id"] for row in change.left}
    gone = [number for number in change.entries if number not in kept]
    for row in change.left:
        values = {name: value for name, value in row.items() if name != "id"}
        left = update(LogEntry).where(LogEntry.id == row["id"]).values(values)
        connection.execute(left, execution_options=UNANSWERED)
    for part in _parts(gone):
        if connection.execute(delete(LogEntry).where(LogEntry.id.in_(part))).rowcount != len(part):
            raise ConcurrentRewriteError("another server has compacted these entries of the log")


def add_timelines(connection: Connection, run_id: int, timelines: dict[bytes, bytes]) -> dict[bytes, int]:
    """The ids of timelines by their digests; those that the run does not have are stored."""
    query = select(Timeline.digest, Timeline.id).where(Timeline.run_id == run_id)
    ids: dict[bytes, int] = {}
    for part in _parts(list(timelines)):
        ids |= {
            bytes(key): number for key, number in connection.execute(query.where(Timeline.digest.in_(part)))
        }
    missing = [key for key in timelines if key not in ids]
    if missing:
        fresh = [{"run_id": run_id, "digest": key, "payload": timelines[key]} for key in missing]
        statement = insert(Timeline).returning(Timeline.id, sort_by_parameter_order=True)
        ids |= dict(zip(missing, connection.scalars(statement, fresh), strict=True))
    return ids


def delete_chunks(connection: Connection, rows: Sequence[ChunkRow]) -> None:
    """Delete chunks, and timelines that no other needs. Raises ExchangedError where one is there no more."""
    for part in _parts([row.id for row in rows]):
        if connection.execute(delete(Chunk).where(Chunk.id.in_(part))).rowcount != len(part):
            raise ConcurrentRewriteError("these chunks have been replaced meanwhile")
    used = select(Chunk.id).where(Chunk.timeline_id == Timeline.id).exists()
    for part in _parts(sorted({row.timeline_id for row in rows})):
        connection.execute(delete(Timeline).where(Timeline.id.in_(part), ~used))


def _parts(values: Sequence[Any]) -> list[Sequence[Any]]:
    return [values[start : start + 500] for start in range(0, len(values), 500)]

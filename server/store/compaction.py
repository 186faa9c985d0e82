"""Makes chunks of a run's log: encoded beside the writer, put in its place in one short transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine, delete, insert, select, update

from holter.server.database import reading, writing
from holter.server.models import Chunk, Latest, LogEntry, Timeline
from holter.server.store import latest as newest_points
from holter.server.store.block import Block, Points, encode_body, encode_entry
from holter.server.store.chunk import CHUNK, digest, encode_timeline, encode_values
from holter.server.store.errors import StoreError
from holter.server.store.latest import Newest, last_of, newest
from holter.server.store.ledger import upsert
from holter.server.store.merge import join
from holter.server.store.pyramid import encode as encode_pyramid
from holter.server.store.snapshot import ChunkRow, Snapshot
from holter.types import IntArray

_AT_ONCE = 2_000_000  # points of the log that are compacted in one go
_LEFT = 1_000_000  # points that may stay in the log because their series are short
_LEAST = (256, 32, 1)  # points that make a chunk worth its overhead; smaller if too many would be left
_TAIL = CHUNK // 2  # an attempt's newest chunk is made anew, larger, until it has this many points


@dataclass
class Change:
    """What one transaction puts in the place of log entries; keyed rows hold a timeline's digest."""

    entries: list[int]
    chunks: list[dict[str, Any]] = field(default_factory=list)
    timelines: dict[bytes, bytes] = field(default_factory=dict)
    tails: list[ChunkRow] = field(default_factory=list)
    left: list[dict[str, Any]] = field(default_factory=list)
    latest: Newest = newest_points.NOTHING

    @property
    def worthwhile(self) -> bool:
        """Whether the transaction would change anything."""
        return bool(self.chunks) or len(self.left) < len(self.entries)


def compact(engine: Engine, run_id: int) -> int:
    """Compact what a run's log holds; how many chunks were written."""
    written = 0
    while True:
        with reading(engine) as connection:
            entries, more = _entries(connection, run_id)
            change = _change(Snapshot(connection, run_id), entries)
        if change.worthwhile:
            with writing(engine) as connection:
                _apply(connection, run_id, change)
            written += len(change.chunks)
        if not more or not change.worthwhile:
            return written


def _entries(connection: Connection, run_id: int) -> tuple[list[int], bool]:
    """The oldest entries of the log, as many as are compacted in one go, and whether there are more."""
    query = select(LogEntry.id, LogEntry.points).where(LogEntry.run_id == run_id).order_by(LogEntry.id)
    rows = connection.execute(query).all()
    sums = np.cumsum([row.points for row in rows])
    size = int(np.searchsorted(sums, _AT_ONCE)) + 1
    return [row.id for row in rows[:size]], size < len(rows)


def _change(snapshot: Snapshot, entries: Sequence[int]) -> Change:
    change = Change(list(entries))
    newest_parts = []
    for attempt, (last_entry, block) in snapshot.entries(entries).items():
        chunked = block.counts >= _least(block)
        if chunked.any():
            bounds = block.offsets
            tails = _tails(snapshot, attempt, block.ids[chunked])
            for at in np.flatnonzero(chunked).tolist():
                points = block.points(int(bounds[at]), int(bounds[at + 1]))
                _add_series(change, attempt, int(block.ids[at]), points, tails)
            newest_parts.append(last_of(attempt, block.only(block.ids[chunked].tolist())))
        if not chunked.all():
            change.left.append(_left(last_entry, block.only(block.ids[~chunked].tolist()).tight()))
    change.latest = newest(newest_parts)
    return change


def _least(block: Block) -> int:
    """How many points a series must have for a chunk of its own."""
    for least in _LEAST:
        if int(block.counts[block.counts < least].sum()) <= _LEFT:
            return least
    return _LEAST[-1]


def _tails(snapshot: Snapshot, attempt: int, ids: IntArray) -> dict[int, tuple[ChunkRow, Points]]:
    """The newest chunk of each of these series in the attempt, where it is to be made anew."""
    newest = snapshot.newest_chunks(attempt, set(ids.tolist()))
    # what was thinned stays apart from what was not
    rows = [row for row in newest if row.points < _TAIL and row.points == row.logged]
    points = snapshot.points(rows)
    return {row.series_id: (row, points[row.id]) for row in rows}


def _add_series(
    change: Change, attempt: int, number: int, points: Points, tails: dict[int, tuple[ChunkRow, Points]]
) -> None:
    if number in tails:
        row, older = tails[number]
        change.tails.append(row)
        points = join([older, points])
    for start in range(0, len(points.step), CHUNK):
        change.chunks.append(_chunk(change, attempt, number, points, start))


def _chunk(change: Change, attempt: int, number: int, points: Points, start: int) -> dict[str, Any]:
    piece = Points._make(column[start : start + CHUNK] for column in points)
    key = digest(piece.step, piece.time)
    if key not in change.timelines:
        change.timelines[key] = encode_timeline(piece.step, piece.time)
    finite = piece.value[np.isfinite(piece.value)]
    return {
        "series_id": number,
        "attempt": attempt,
        "step_min": int(piece.step[0]),
        "step_max": int(piece.step[-1]),
        "points": len(piece.step),
        "logged": len(piece.step),
        "nonfinite": len(piece.step) - len(finite),
        "value_min": float(finite.min()) if len(finite) else None,
        "value_max": float(finite.max()) if len(finite) else None,
        "timeline_id": key,
        "pyramid": encode_pyramid(piece),
        "payload": encode_values(piece.value),
    }


def _left(entry: int, block: Block) -> dict[str, Any]:
    """What stays in the log, in the place of the newest entry it comes from: later writes remain newer."""
    return {
        "id": entry,
        "step_min": int(block.steps.min()),
        "step_max": int(block.steps.max()),
        "points": len(block.values),
        "payload": encode_entry(block.ids, encode_body(block)),
    }


def _apply(connection: Connection, run_id: int, change: Change) -> None:
    _replace_entries(connection, change)
    timelines = _add_timelines(connection, run_id, change.timelines)
    if change.chunks:
        rows = [row | {"timeline_id": timelines[row["timeline_id"]]} for row in change.chunks]
        connection.execute(insert(Chunk), rows)
    _delete_tails(connection, change.tails)
    blob = connection.scalar(select(Latest.payload).where(Latest.run_id == run_id))
    stored = newest_points.NOTHING if blob is None else newest_points.decode(blob)
    row = {"run_id": run_id, "payload": newest_points.encode(newest([stored, change.latest]))}
    upsert(connection, Latest.__table__, ("run_id",), [row])


def _replace_entries(connection: Connection, change: Change) -> None:
    kept = {row["id"] for row in change.left}
    gone = [number for number in change.entries if number not in kept]
    for row in change.left:
        values = {name: value for name, value in row.items() if name != "id"}
        connection.execute(update(LogEntry).where(LogEntry.id == row["id"]).values(values))
    for part in _parts(gone):
        if connection.execute(delete(LogEntry).where(LogEntry.id.in_(part))).rowcount != len(part):
            raise StoreError("another server has compacted these entries of the log")


def _add_timelines(connection: Connection, run_id: int, timelines: dict[bytes, bytes]) -> dict[bytes, int]:
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


def _delete_tails(connection: Connection, tails: Sequence[ChunkRow]) -> None:
    for part in _parts([row.id for row in tails]):
        if connection.execute(delete(Chunk).where(Chunk.id.in_(part))).rowcount != len(part):
            raise StoreError("these chunks have been replaced meanwhile")
    used = select(Chunk.id).where(Chunk.timeline_id == Timeline.id).exists()
    for part in _parts(sorted({row.timeline_id for row in tails})):
        connection.execute(delete(Timeline).where(Timeline.id.in_(part), ~used))


def _parts(values: Sequence[Any]) -> list[Sequence[Any]]:
    return [values[start : start + 500] for start in range(0, len(values), 500)]

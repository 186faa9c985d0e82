"""One moment of a run's points: log and chunks as they were together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, text, tuple_
from sqlalchemy.orm import aliased

from holter.attempts.superseded import AttemptSpan
from holter.server.models import Attempt, Chunk, LogEntry, SeriesRow, Timeline
from holter.server.store.cache import LruCache
from holter.server.store.encoding.block import PointBlock, SeriesPoints, decode_log_entry
from holter.server.store.encoding.chunk import decode_numbers, decode_timeline, decode_values
from holter.server.store.encoding.merge import merge_blocks
from holter.server.store.encoding.pyramid import Buckets, decode_pyramids, decompress_pyramid
from holter.server.store.errors import CorruptDataError
from holter.server.store.keys import labels_text, parse_series_key
from holter.types import FloatArray, IntArray, SeriesKey

_AT_ONCE = 500  # values in one statement

_ENTRY, _TIMELINE = "log entry {}".format, "timeline {}".format

T = TypeVar("T")


class ChunkRow(NamedTuple):
    """A chunk without its blobs."""

    id: int
    series_id: int
    attempt: int
    step_min: int
    step_max: int
    points: int
    logged: int
    nonfinite: int
    value_min: float | None
    value_max: float | None
    timeline_id: int


_VERSION = text(
    "SELECT coalesce(summary.generation, 0), run.revision FROM run "
    "LEFT JOIN summary ON summary.run_id = run.id WHERE run.id = :run"
)
_COLUMNS = [getattr(Chunk, name) for name in ChunkRow._fields]


class StepRange(NamedTuple):
    """A range of steps, both ends included; None: open."""

    first: int | None = None
    last: int | None = None

    def holds(self, row: ChunkRow) -> bool:
        """Whether all of a chunk lies within."""
        return (self.first is None or self.first <= row.step_min) and (
            self.last is None or row.step_max <= self.last
        )

    def within(self, points: SeriesPoints) -> SeriesPoints:
        """The points that lie within; their steps ascend."""
        begin = 0 if self.first is None else int(np.searchsorted(points.step, self.first))
        end = len(points.step) if self.last is None else int(np.searchsorted(points.step, self.last, "right"))
        if begin == 0 and end == len(points.step):
            return points
        return SeriesPoints._make(column[begin:end] for column in points)


class RunSnapshot:
    """Reads within one transaction. Blobs that are damaged raise CorruptDataError, which says where."""

    def __init__(self, connection: Connection, run_id: int, memory: LruCache | None = None) -> None:
        self.connection = connection
        self.run_id = run_id
        self._memory = memory or LruCache(0)
        self._timelines: dict[int, tuple[IntArray, FloatArray]] = {}
        self._names: dict[int, SeriesKey] = {}

    @cached_property
    def version(self) -> tuple[int, int]:
        """Generation and revision of the run: while they stay, nothing that is read of it changes."""
        generation, revision = self.connection.execute(_VERSION, {"run": self.run_id}).one_or_none() or (0, 0)
        return generation, revision

    def series(self, keys: Collection[SeriesKey] | None = None) -> dict[int, SeriesKey]:
        """The ids of the run's series, or of these among them, in the order of their keys."""
        query = select(SeriesRow.id, SeriesRow.metric, SeriesRow.labels)
        query = query.where(SeriesRow.run_id == self.run_id)
        if keys is None:
            rows = self.connection.execute(query).all()
        else:
            # no series has a name with NUL, and PostgreSQL refuses to look for one
            texts = sorted((key.metric, labels_text(key.labels)) for key in keys if "\0" not in key.metric)
            rows = list(self._in_parts(query, tuple_(SeriesRow.metric, SeriesRow.labels), texts))
        named = sorted((parse_series_key(row.metric, row.labels), row.id) for row in rows)
        self._names |= {number: key for key, number in named}
        return {number: key for key, number in named}

    def more_series(self, known: Mapping[int, SeriesKey]) -> Mapping[int, SeriesKey]:
        """The run's series, some of which are known already, in the order of their keys."""
        query = select(SeriesRow.id, SeriesRow.metric, SeriesRow.labels)
        query = query.where(SeriesRow.run_id == self.run_id, SeriesRow.id > max(known, default=0))
        rows = self.connection.execute(query)
        fresh = [(number, parse_series_key(metric, labels)) for number, metric, labels in rows]
        return dict(sorted([*known.items(), *fresh], key=itemgetter(1))) if fresh else known

    def spans(self) -> list[AttemptSpan]:
        """What each attempt covers."""
        query = select(Attempt.number, Attempt.first_step, Attempt.last_step)
        return [
            AttemptSpan(*row) for row in self.connection.execute(query.where(Attempt.run_id == self.run_id))
        ]

    def chunks(self, ids: Collection[int] | None = None, steps: StepRange | None = None) -> list[ChunkRow]:
        """The chunks of these series (None: of all) that reach into the steps, in the order of writing."""
        return sorted(ChunkRow._make(row) for row in self._chunks(ids, steps))

    def chunks_and_pyramids(
        self, ids: Collection[int], steps: StepRange
    ) -> tuple[list[ChunkRow], dict[int, bytes]]:
        """As `chunks`, with their encoded pyramids by the chunk's id."""
        rows = list(self._chunks(ids, steps, Chunk.pyramid))
        return [ChunkRow._make(row[:-1]) for row in rows], {row[0]: row[-1] for row in rows}

    def _chunks(self, ids: Collection[int] | None, steps: StepRange | None, *more: Any) -> Iterator[Any]:
        query = select(*_COLUMNS, *more)
        if steps is not None and steps.first is not None:
            query = query.where(Chunk.step_max >= steps.first)
        if steps is not None and steps.last is not None:
            query = query.where(Chunk.step_min <= steps.last)
        if ids is None:
            query = query.join(SeriesRow).where(SeriesRow.run_id == self.run_id)
            return iter(self.connection.execute(query))
        return self._in_parts(query, Chunk.series_id, sorted(ids))

    def log(
        self, ids: Collection[int] | None = None, steps: StepRange | None = None, *, until: int | None = None
    ) -> dict[int, PointBlock]:
        """What the log has of these series (None: of all), by attempt; steps are not cut to the range.

        `until`: the last entry that counts.
        """
        query = select(LogEntry.id, LogEntry.attempt, LogEntry.payload).where(LogEntry.run_id == self.run_id)
        if until is not None:
            query = query.where(LogEntry.id <= until)
        if steps is not None and steps.first is not None:
            query = query.where(LogEntry.step_max >= steps.first)
        if steps is not None and steps.last is not None:
            query = query.where(LogEntry.step_min <= steps.last)
        blocks: dict[int, list[PointBlock]] = {}
        for _, attempt, block in self._blocks(query.order_by(LogEntry.id)):
            block = block if ids is None else block.only(ids)
            if len(block.ids):
                blocks.setdefault(attempt, []).append(block)
        return {attempt: merge_blocks(found) for attempt, found in sorted(blocks.items())}

    def tail(self, after: int) -> tuple[int, dict[int, PointBlock]]:
        """What the log has after an entry, by attempt, and the last entry that there is."""
        query = select(LogEntry.id, LogEntry.attempt, LogEntry.payload)
        query = query.where(LogEntry.run_id == self.run_id, LogEntry.id > after).order_by(LogEntry.id)
        blocks: dict[int, list[PointBlock]] = {}
        for number, attempt, block in self._blocks(query):
            blocks.setdefault(attempt, []).append(block)
            after = number
        return after, {attempt: merge_blocks(found) for attempt, found in sorted(blocks.items())}

    def recent(self, ids: Collection[int], steps: StepRange) -> dict[int, dict[int, SeriesPoints]]:
        """What the log has of these series, by series and attempt; steps may lie beyond the range."""
        return log_points(self._whole_log() if self._memory.limit else self.log(ids, steps), ids)

    def _whole_log(self) -> dict[int, PointBlock]:
        """What the log has, by attempt: remembered, so that only what is new is read."""
        generation, _ = self.version
        held = self._memory.get(("log", self.run_id))
        if held is None or held[0] != generation:
            held = (generation, 0, {})
        _, before, known = held
        entry, fresh = self.tail(before)
        if entry == before:
            return dict(known)
        blocks = {
            attempt: merge_blocks([part[attempt] for part in (known, fresh) if attempt in part])
            for attempt in sorted(known.keys() | fresh.keys())
        }
        size = sum(block.size for block in blocks.values())
        self._memory.put(("log", self.run_id), (generation, entry, blocks), size)
        return blocks

    def _blocks(self, query: Any) -> Iterator[tuple[int, int, PointBlock]]:
        for number, attempt, payload in self.connection.execute(query):
            yield number, attempt, self.decoded(decode_log_entry, payload, partial(_ENTRY, number))

    def entries(self, numbers: Sequence[int]) -> dict[int, tuple[int, PointBlock]]:
        """These entries of the log by attempt: the newest one's id, and all of them merged."""
        query = select(LogEntry.id, LogEntry.attempt, LogEntry.payload)
        found: dict[int, dict[int, PointBlock]] = {}
        for number, attempt, payload in self._in_parts(query, LogEntry.id, numbers):
            block = self.decoded(decode_log_entry, payload, partial(_ENTRY, number))
            found.setdefault(attempt, {})[number] = block
        return {
            attempt: (max(blocks), merge_blocks([blocks[number] for number in sorted(blocks)]))
            for attempt, blocks in sorted(found.items())
        }

    def last_chunks(self, attempt: int) -> dict[int, ChunkRow]:
        """The chunk with the last steps of each of the run's series in an attempt, by the series' id."""
        other = aliased(Chunk)
        last = select(other.id).where(other.series_id == SeriesRow.id, other.attempt == attempt)
        last = last.order_by(other.step_min.desc()).limit(1)
        query = select(*_COLUMNS).select_from(SeriesRow).join(Chunk, Chunk.id == last.scalar_subquery())
        rows = self.connection.execute(query.where(SeriesRow.run_id == self.run_id))
        return {row.series_id: row for row in map(ChunkRow._make, rows)}

    def chunks_from(self, series_id: int, attempt: int, step: int) -> list[ChunkRow]:
        """The chunks of a series in an attempt that reach a step or beyond, in the order of their steps."""
        query = select(*_COLUMNS).where(Chunk.series_id == series_id, Chunk.attempt == attempt)
        rows = self.connection.execute(query.where(Chunk.step_max >= step).order_by(Chunk.step_min))
        return [ChunkRow._make(row) for row in rows]

    def points(self, rows: Sequence[ChunkRow]) -> dict[int, SeriesPoints]:
        """The points of chunks, by the chunk's id."""
        found = {}
        for row, payload in self._payloads(rows):
            values = self.decoded(decode_values, payload, partial(self._place, row))
            steps, times = self._timelines[row.timeline_id]
            self._agree(row, values, steps)
            found[row.id] = SeriesPoints(steps, times, values)
        return found

    def joined(self, groups: Collection[Sequence[ChunkRow]]) -> list[SeriesPoints]:
        """The points of each group of chunks together, one chunk after the other."""
        found: list[SeriesPoints] = []
        places: dict[int, SeriesPoints] = {}
        for rows in groups:
            bounds = [0, *accumulate(row.points for row in rows)]
            size = bounds[-1]
            found.append(SeriesPoints(np.empty(size, dtype=np.int64), np.empty(size), np.empty(size)))
            for row, start, stop in zip(rows, bounds, bounds[1:], strict=False):
                places[row.id] = SeriesPoints._make(column[start:stop] for column in found[-1])
        for row, payload in self._payloads([row for rows in groups for row in rows]):
            values = self.decoded(decode_numbers, payload, partial(self._place, row))
            steps, times = self._timelines[row.timeline_id]
            self._agree(row, values, steps)
            for place, column in zip(places[row.id], (steps, times, values), strict=True):
                place[:] = column
        return found

    def _payloads(self, rows: Sequence[ChunkRow]) -> Iterator[tuple[ChunkRow, bytes]]:
        """The encoded values of chunks, whose timelines are loaded."""
        self._load_timelines({row.timeline_id for row in rows})
        places = {row.id: row for row in rows}
        for number, payload in self._in_parts(select(Chunk.id, Chunk.payload), Chunk.id, sorted(places)):
            yield places[number], payload

    def _agree(self, row: ChunkRow, values: NDArray[Any], steps: IntArray) -> None:
        if not len(values) == len(steps) == row.points:
            raise CorruptDataError(
                f"{self._place(row)}: {len(values)} values, {len(steps)} steps, expected {row.points}"
            )

    def pyramids(
        self, rows: Sequence[ChunkRow], blobs: Mapping[int, bytes]
    ) -> dict[tuple[int, int], Buckets]:
        """The pyramids of chunks that have one, together by series and attempt."""
        opened: dict[tuple[int, int], list[tuple[int, bytes]]] = {}
        for row in rows:
            held = self.decoded(decompress_pyramid, blobs[row.id], partial(self._place, row))
            opened.setdefault((row.series_id, row.attempt), []).append(held)
        return {whose: decode_pyramids(held) for whose, held in opened.items()}

    def _load_timelines(self, ids: Collection[int]) -> None:
        missing = sorted(set(ids) - self._timelines.keys())
        query = select(Timeline.id, Timeline.payload)
        for number, payload in self._in_parts(query, Timeline.id, missing):
            self._timelines[number] = self.decoded(decode_timeline, payload, partial(_TIMELINE, number))

    def _place(self, row: ChunkRow) -> str:
        name = self._names.get(row.series_id)
        return f"series {name or row.series_id}, chunk {row.id} (steps {row.step_min} to {row.step_max})"

    def decoded(self, decode_pyramids: Callable[[bytes], T], blob: bytes, place: Callable[[], str]) -> T:
        """A blob decoded; an error says what of the run it is."""
        try:
            return decode_pyramids(blob)
        except CorruptDataError as error:
            raise CorruptDataError(f"run {self.run_id}, {place()}: {error}") from error

    def _in_parts(self, query: Any, column: Any, values: Sequence[Any]) -> Iterator[Any]:
        for start in range(0, len(values), _AT_ONCE):
            yield from self.connection.execute(query.where(column.in_(values[start : start + _AT_ONCE])))


def chunks_by_series(rows: Sequence[ChunkRow]) -> dict[int, list[ChunkRow]]:
    """Chunks by their series, in the order in which they are."""
    grouped: dict[int, list[ChunkRow]] = {}
    for row in rows:
        grouped.setdefault(row.series_id, []).append(row)
    return grouped


def log_points(
    log: Mapping[int, PointBlock], ids: Collection[int] | None = None
) -> dict[int, dict[int, SeriesPoints]]:
    """What the log has (of these series alone), by series and attempt; merged blocks."""
    found: dict[int, dict[int, SeriesPoints]] = {}
    for attempt, block in log.items():
        bounds = block.offsets
        wanted = block.ids if ids is None else np.fromiter(ids, dtype=np.int64, count=len(ids))
        places = np.searchsorted(block.ids, wanted)
        there = np.flatnonzero(block.ids[np.minimum(places, len(block.ids) - 1)] == wanted)
        for number, at in zip(wanted[there].tolist(), places[there].tolist(), strict=True):
            found.setdefault(number, {})[attempt] = block.points(int(bounds[at]), int(bounds[at + 1]))
    return found

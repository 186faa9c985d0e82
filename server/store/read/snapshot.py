"""Consistent reads of one run: log and chunks as of one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select, text, tuple_
from sqlalchemy.orm import aliased

from holter.attempts.superseded import AttemptSpan
from holter.server.models import Attempt, Chunk, LogEntry, SeriesRow, Timeline
from holter.server.store.cache import LruCache
from holter.server.store.encoding.block import PointBlock, SeriesPoints, decode_log_entry
from holter.server.store.encoding.chunk import decode_numbers, decode_steps, decode_timeline, decode_values
from holter.server.store.encoding.merge import merge_blocks
from holter.server.store.encoding.pyramid import Buckets, decode_pyramids, decompress_pyramid
from holter.server.store.errors import CorruptDataError
from holter.server.store.keys import labels_text, parse_series_key
from holter.server.store.read.memory import ReadMemory
from holter.types import FloatArray, IntArray, SeriesKey

_MAX_PARAMETERS = 500  # values in one statement

_ENTRY_NAME, _TIMELINE_NAME = "log entry {}".format, "timeline {}".format

T = TypeVar("T")


class ChunkRow(NamedTuple):
    """A row of the chunk table without its blobs."""

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


_SELECT_VERSION = text(
    "SELECT coalesce(summary.generation, 0), run.revision FROM run "
    "LEFT JOIN summary ON summary.run_id = run.id WHERE run.id = :run"
)
# built once, since every analysis pass runs them
_MORE_SERIES = select(SeriesRow.id, SeriesRow.metric, SeriesRow.labels).where(
    SeriesRow.run_id == bindparam("run"), SeriesRow.id > bindparam("last")
)
_LOG_AFTER = (
    select(LogEntry.id, LogEntry.attempt, LogEntry.payload)
    .where(LogEntry.run_id == bindparam("run"), LogEntry.id > bindparam("after"))
    .order_by(LogEntry.id)
)
_COLUMNS = [getattr(Chunk, name) for name in ChunkRow._fields]


class StepRange(NamedTuple):
    """A range of steps, both ends included; None: open."""

    first: int | None = None
    last: int | None = None

    def contains(self, row: ChunkRow) -> bool:
        """Whether the chunk is entirely within the range."""
        return (self.first is None or self.first <= row.step_min) and (
            self.last is None or row.step_max <= self.last
        )

    def clip(self, points: SeriesPoints) -> SeriesPoints:
        """The points within the range; their steps ascend."""
        begin = 0 if self.first is None else int(np.searchsorted(points.step, self.first))
        end = len(points.step) if self.last is None else int(np.searchsorted(points.step, self.last, "right"))
        if begin == 0 and end == len(points.step):
            return points
        return SeriesPoints._make(column[begin:end] for column in points)


class RunSnapshot:
    """Reads a run within one transaction. Damaged blobs raise CorruptDataError, which names them.

    Without `times` those of chunks are not decoded, and NaN. `memory`: where series are read into.
    """

    def __init__(
        self,
        connection: Connection,
        run_id: int,
        cache: LruCache | None = None,
        *,
        times: bool = True,
        memory: ReadMemory | None = None,
    ) -> None:
        self.connection = connection
        self.run_id = run_id
        self._times = times
        self._memory = memory
        self._decode_timeline = decode_timeline if times else _decode_without_times
        self._cache = cache or LruCache(0)
        self._timelines: dict[int, tuple[IntArray, FloatArray]] = {}
        self._names: dict[int, SeriesKey] = {}

    @cached_property
    def version(self) -> tuple[int, int]:
        """Generation and revision of the run: while both are unchanged, so is everything that is read of
        it.
        """
        generation, revision = self.connection.execute(
            _SELECT_VERSION, {"run": self.run_id}
        ).one_or_none() or (0, 0)
        return generation, revision

    def series(self, keys: Collection[SeriesKey] | None = None) -> dict[int, SeriesKey]:
        """The run's series by id, or these among them, in key order."""
        query = select(SeriesRow.id, SeriesRow.metric, SeriesRow.labels)
        query = query.where(SeriesRow.run_id == self.run_id)
        if keys is None:
            rows = self.connection.execute(query).all()
        else:
            # no series name contains NUL, and PostgreSQL rejects it in parameters
            names = sorted((key.metric, labels_text(key.labels)) for key in keys if "\0" not in key.metric)
            rows = list(self._in_batches(query, tuple_(SeriesRow.metric, SeriesRow.labels), names))
        ordered = sorted((parse_series_key(row.metric, row.labels), row.id) for row in rows)
        self._names |= {series_id: key for key, series_id in ordered}
        return {series_id: key for key, series_id in ordered}

    def more_series(self, known: Mapping[int, SeriesKey]) -> Mapping[int, SeriesKey]:
        """The run's series in key order, given those known already."""
        last = max(known, default=0)
        rows = self.connection.execute(_MORE_SERIES, {"run": self.run_id, "last": last})
        new = [(series_id, parse_series_key(metric, labels)) for series_id, metric, labels in rows]
        return dict(sorted([*known.items(), *new], key=itemgetter(1))) if new else known

    def spans(self) -> list[AttemptSpan]:
        """The step range of each attempt."""
        query = select(Attempt.number, Attempt.first_step, Attempt.last_step)
        return [
            AttemptSpan(*row) for row in self.connection.execute(query.where(Attempt.run_id == self.run_id))
        ]

    def chunks(self, ids: Collection[int] | None = None, steps: StepRange | None = None) -> list[ChunkRow]:
        """The chunks of these series (None: of all) that overlap the step range, in write order."""
        return sorted(ChunkRow._make(row) for row in self._chunks(ids, steps))

    def chunks_and_pyramids(
        self, ids: Collection[int], steps: StepRange
    ) -> tuple[list[ChunkRow], dict[int, bytes]]:
        """The chunks and their encoded pyramids by chunk id, see `chunks`."""
        rows = list(self._chunks(ids, steps, Chunk.pyramid))
        return [ChunkRow._make(row[:-1]) for row in rows], {row[0]: row[-1] for row in rows}

    def _chunks(self, ids: Collection[int] | None, steps: StepRange | None, *columns: Any) -> Iterator[Any]:
        query = select(*_COLUMNS, *columns)
        if steps is not None and steps.first is not None:
            query = query.where(Chunk.step_max >= steps.first)
        if steps is not None and steps.last is not None:
            query = query.where(Chunk.step_min <= steps.last)
        if ids is None:
            query = query.join(SeriesRow).where(SeriesRow.run_id == self.run_id)
            return iter(self.connection.execute(query))
        return self._in_batches(query, Chunk.series_id, sorted(ids))

    def log(
        self, ids: Collection[int] | None = None, steps: StepRange | None = None, *, until: int | None = None
    ) -> dict[int, PointBlock]:
        """The log's points of these series (None: of all) by attempt, not clipped to the step range.

        `until`: the last log entry to include.
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
        return {attempt: merge_blocks(parts) for attempt, parts in sorted(blocks.items())}

    def log_after(self, after: int, ids: Collection[int] | None = None) -> tuple[int, dict[int, PointBlock]]:
        """The last log entry, and the points of entries after the given one, by attempt.

        `ids`: the series wanted (None: all); nothing of the others stays in memory.
        """
        blocks: dict[int, list[PointBlock]] = {}
        for entry, attempt, block in self._blocks(_LOG_AFTER, {"run": self.run_id, "after": after}):
            wanted = block if ids is None else block.only(ids)
            if len(wanted.ids):
                blocks.setdefault(attempt, []).append(wanted)
            after = entry
        return after, {attempt: merge_blocks(parts) for attempt, parts in sorted(blocks.items())}

    def log_points(self, ids: Collection[int], steps: StepRange) -> dict[int, dict[int, SeriesPoints]]:
        """The log's points of these series by series and attempt; some may be outside the step range."""
        return log_points(self._cached_log() if self._cache.limit else self.log(ids, steps), ids)

    def _cached_log(self) -> dict[int, PointBlock]:
        """The complete log by attempt, cached, so that only new entries are decoded."""
        generation, _ = self.version
        cached = self._cache.get(("log", self.run_id))
        if cached is None or cached[0] != generation:
            cached = (generation, 0, {})
        _, last_entry, blocks_before = cached
        entry, fresh = self.log_after(last_entry)
        if entry == last_entry:
            return dict(blocks_before)
        blocks = {
            attempt: merge_blocks([part[attempt] for part in (blocks_before, fresh) if attempt in part])
            for attempt in sorted(blocks_before.keys() | fresh.keys())
        }
        size = sum(block.size for block in blocks.values())
        self._cache.put(("log", self.run_id), (generation, entry, blocks), size)
        return blocks

    def _blocks(
        self, query: Any, parameters: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[int, int, PointBlock]]:
        for entry, attempt, payload in self.connection.execute(query, parameters):
            yield entry, attempt, self.decoded(decode_log_entry, payload, partial(_ENTRY_NAME, entry))

    def entries(self, entry_ids: Sequence[int]) -> dict[int, tuple[int, PointBlock]]:
        """These log entries by attempt: the newest entry's id, and all of them merged."""
        query = select(LogEntry.id, LogEntry.attempt, LogEntry.payload)
        by_attempt: dict[int, dict[int, PointBlock]] = {}
        for entry, attempt, payload in self._in_batches(query, LogEntry.id, entry_ids):
            block = self.decoded(decode_log_entry, payload, partial(_ENTRY_NAME, entry))
            by_attempt.setdefault(attempt, {})[entry] = block
        return {
            attempt: (max(blocks), merge_blocks([blocks[entry] for entry in sorted(blocks)]))
            for attempt, blocks in sorted(by_attempt.items())
        }

    def last_chunks(self, attempt: int) -> dict[int, ChunkRow]:
        """The last chunk of each of the run's series in an attempt, by series id."""
        other = aliased(Chunk)
        last = select(other.id).where(other.series_id == SeriesRow.id, other.attempt == attempt)
        last = last.order_by(other.step_min.desc()).limit(1)
        query = select(*_COLUMNS).select_from(SeriesRow).join(Chunk, Chunk.id == last.scalar_subquery())
        rows = self.connection.execute(query.where(SeriesRow.run_id == self.run_id))
        return {row.series_id: row for row in map(ChunkRow._make, rows)}

    def chunks_from(self, series_id: int, attempt: int, step: int) -> list[ChunkRow]:
        """The chunks of a series in an attempt that reach a step or beyond, in step order."""
        query = select(*_COLUMNS).where(Chunk.series_id == series_id, Chunk.attempt == attempt)
        rows = self.connection.execute(query.where(Chunk.step_max >= step).order_by(Chunk.step_min))
        return [ChunkRow._make(row) for row in rows]

    def points(self, rows: Sequence[ChunkRow]) -> dict[int, SeriesPoints]:
        """The points of chunks, by chunk id."""
        result = {}
        for row, payload in self._payloads(rows):
            values = self.decoded(decode_values, payload, partial(self._describe, row))
            steps, times = self._timelines[row.timeline_id]
            self._check_lengths(row, values, steps)
            result[row.id] = SeriesPoints(steps, times, values)
        return result

    def joined(self, groups: Collection[Sequence[ChunkRow]]) -> list[SeriesPoints]:
        """The points of each group of chunks, concatenated."""
        chunks = [row for rows in groups for row in rows]
        bounds = [0, *accumulate(row.points for row in chunks)]
        columns = self._columns(bounds[-1])
        targets = {
            row.id: SeriesPoints._make(column[start:stop] for column in columns)
            for row, start, stop in zip(chunks, bounds, bounds[1:], strict=False)
        }
        for row, payload in self._payloads(chunks):
            values = self.decoded(decode_numbers, payload, partial(self._describe, row))
            steps, times = self._timelines[row.timeline_id]
            self._check_lengths(row, values, steps)
            target = targets[row.id]
            target.step[:], target.value[:] = steps, values
            if self._times:
                target.time[:] = times
        ends = [bounds[index] for index in accumulate((len(rows) for rows in groups), initial=0)]
        return [
            SeriesPoints._make(column[start:stop] for column in columns) for start, stop in pairwise(ends)
        ]

    def _columns(self, size: int) -> SeriesPoints:
        """Memory for so many points."""
        step, value = (ReadMemory() if self._memory is None else self._memory).columns(size)
        return SeriesPoints(step, np.empty(size) if self._times else np.broadcast_to(np.nan, size), value)

    def _payloads(self, rows: Sequence[ChunkRow]) -> Iterator[tuple[ChunkRow, bytes]]:
        """The encoded values of chunks, after loading their timelines."""
        self._load_timelines({row.timeline_id for row in rows})
        rows_by_id = {row.id: row for row in rows}
        for chunk_id, payload in self._in_batches(
            select(Chunk.id, Chunk.payload), Chunk.id, sorted(rows_by_id)
        ):
            yield rows_by_id[chunk_id], payload

    def _check_lengths(self, row: ChunkRow, values: NDArray[Any], steps: IntArray) -> None:
        if not len(values) == len(steps) == row.points:
            raise CorruptDataError(
                f"{self._describe(row)}: {len(values)} values, {len(steps)} steps, expected {row.points}"
            )

    def pyramids(
        self, rows: Sequence[ChunkRow], blobs: Mapping[int, bytes]
    ) -> dict[tuple[int, int], Buckets]:
        """The decoded pyramids of chunks that have one, by series and attempt."""
        opened: dict[tuple[int, int], list[tuple[int, bytes]]] = {}
        for row in rows:
            pyramid = self.decoded(decompress_pyramid, blobs[row.id], partial(self._describe, row))
            opened.setdefault((row.series_id, row.attempt), []).append(pyramid)
        return {key: decode_pyramids(pyramid) for key, pyramid in opened.items()}

    def _load_timelines(self, ids: Collection[int]) -> None:
        missing = sorted(set(ids) - self._timelines.keys())
        query = select(Timeline.id, Timeline.payload)
        for timeline_id, payload in self._in_batches(query, Timeline.id, missing):
            self._timelines[timeline_id] = self.decoded(
                self._decode_timeline, payload, partial(_TIMELINE_NAME, timeline_id)
            )

    def _describe(self, row: ChunkRow) -> str:
        name = self._names.get(row.series_id)
        return f"series {name or row.series_id}, chunk {row.id} (steps {row.step_min} to {row.step_max})"

    def decoded(self, decode: Callable[[bytes], T], blob: bytes, describe: Callable[[], str]) -> T:
        """Decode a blob; an error names the run and what `describe` returns."""
        try:
            return decode(blob)
        except CorruptDataError as error:
            raise CorruptDataError(f"run {self.run_id}, {describe()}: {error}") from error

    def _in_batches(self, query: Any, column: Any, values: Sequence[Any]) -> Iterator[Any]:
        for start in range(0, len(values), _MAX_PARAMETERS):
            yield from self.connection.execute(
                query.where(column.in_(values[start : start + _MAX_PARAMETERS]))
            )


def _decode_without_times(blob: bytes) -> tuple[IntArray, FloatArray]:
    steps = decode_steps(blob)
    return steps, np.broadcast_to(np.nan, len(steps))


def chunks_by_series(rows: Sequence[ChunkRow]) -> dict[int, list[ChunkRow]]:
    """Group chunks by series, keeping their order."""
    grouped: dict[int, list[ChunkRow]] = {}
    for row in rows:
        grouped.setdefault(row.series_id, []).append(row)
    return grouped


def log_points(
    log: Mapping[int, PointBlock], ids: Collection[int] | None = None
) -> dict[int, dict[int, SeriesPoints]]:
    """The log's points (of these series) by series and attempt; blocks are merged."""
    result: dict[int, dict[int, SeriesPoints]] = {}
    for attempt, block in log.items():
        bounds = block.offsets
        wanted = block.ids if ids is None else np.fromiter(ids, dtype=np.int64, count=len(ids))
        indices = np.searchsorted(block.ids, wanted)
        matches = np.flatnonzero(block.ids[np.minimum(indices, len(block.ids) - 1)] == wanted)
        for series_id, index in zip(wanted[matches].tolist(), indices[matches].tolist(), strict=True):
            result.setdefault(series_id, {})[attempt] = block.points(
                int(bounds[index]), int(bounds[index + 1])
            )
    return result

"""TensorBoard event files: scalars of TF1, TF2, torch, Keras, Lightning, Hugging Face, Megatron."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from holter.ingest.errors import ProblemBuffer
from holter.ingest.format import FormatRole
from holter.ingest.rows import batch_from_rows
from holter.ingest.tensorboard import protobuf
from holter.ingest.tensorboard.hparams import EventFileSettings
from holter.ingest.tensorboard.jit import Kernels, background_kernels
from holter.ingest.tensorboard.records import (
    HEADER,
    TRAILER,
    Records,
    RecordWalker,
    find_record,
    only_zeros,
    read_header,
    walk_through_damage,
)
from holter.ingest.tensorboard.scalars import ScalarDecoder, Scalars
from holter.plurals import counted
from holter.types import NO_CONFIG, Batch, Column, Config, IntArray, SeriesKey, Unreadable

BLOCK = 2 * 1024 * 1024
MAX_RECORD_BYTES = 16 * 1024 * 1024
MAX_BATCH_POINTS = 65_536
_AFTER_DAMAGE = 64 * 1024
"""Bytes of the block after damage, which is read through more damage; the blocks after it grow again."""
_TORN = 1024 * 1024  # damage up to this size at a file's end may be a write in progress
_WALL_TIME, _STEP, _SUMMARY = 1, 2, 5  # field numbers of event.proto


class EventFile:
    """`events.out.tfevents.*`. Points keep the file's order; a record counts once its checksums match.

    `kernels` returns the compiled functions for a number of bytes; reading without them gives the same.
    """

    name: ClassVar[str] = "tensorboard"
    role: ClassVar[FormatRole] = FormatRole()

    def __init__(self, kernels: Callable[[int], Kernels | None] = background_kernels) -> None:
        self._kernels = kernels

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """The name that every TensorBoard writer gives, or a valid header of a first record."""
        return "tfevents" in path.name or read_header(head[:HEADER]) is not None

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> EventFileReader:
        """A reader that resumes from `state`."""
        return EventFileReader(state, self._kernels)


class EventFileReader:
    """Reads one event file that is being written."""

    def __init__(self, state: Mapping[str, Any], kernels: Callable[[int], Kernels | None]) -> None:
        self._kernels = kernels
        self._walker = RecordWalker()
        self._decoder = ScalarDecoder(state.get("ignored", ()))
        self._restarts: bool = state.get("restarts", False)
        # settings after the first point cannot be distinguished from those of a new launch
        self._settings = None if state.get("rows") else EventFileSettings(state.get("statements", {}))
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """Ignored tags, whether a new launch was marked after the last point, whether there was a point."""
        pending = {} if self._settings is None else self._settings.state()
        return {
            **({"ignored": sorted(self._decoder.ignored)} if self._decoder.ignored else {}),
            **({"restarts": True} if self._restarts else {}),
            **({"rows": True} if self._settings is None else {}),
            **({"statements": pending} if pending else {}),
            **self._problems.state(),
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the scalars of every complete record; see `Reader`."""
        yield from self._problems.drain()
        size = usual = BLOCK
        while True:
            base = stream.tell()
            block = stream.read(size)
            at_end = len(block) < size
            kernels = self._kernels(len(block))
            records = kernels.walk(block) if kernels else self._walker.walk(block)
            gaps: list[tuple[int, int]] = []
            if records.damaged and size == _AFTER_DAMAGE:
                records, gaps = walk_through_damage(block, records)
            yield from self._batches(block, records, base, stream, kernels, gaps)
            yield from self._problems.drain()
            position = base + records.stop
            stream.seek(position)
            size = usual = _AFTER_DAMAGE if records.damaged else min(2 * usual, BLOCK)
            if records.damaged:
                if not self._recover(stream, position, records.length):
                    return
            elif at_end:
                return
            elif records.length is not None and HEADER + records.length + TRAILER > usual:
                size = HEADER + records.length + TRAILER
                if size > MAX_RECORD_BYTES:
                    if not self._skip_record(stream, position, size):
                        return
                    size = usual
            yield from self._problems.drain()

    def _batches(
        self,
        block: bytes,
        records: Records,
        base: int,
        stream: BinaryIO,
        kernels: Kernels | None,
        gaps: list[tuple[int, int]],
    ) -> Iterator[Batch]:
        """Batches of the records of a block, cut where a launch is marked and where they become too large.

        `gaps` are the spans of damage between the records, which are reported with the batch behind them.
        """
        if not len(records.start):
            self._report_gaps(gaps, base, records.stop)
            return
        scalars = self._decoder.decode(block, records.start, records.end, kernels)
        ends = records.end + (base + TRAILER)
        config = self._config_of(block, records, scalars)
        for first, last in _batch_spans(scalars):
            if first in scalars.starts:
                self._restarts = True
            for index in scalars.broken[(scalars.broken >= first) & (scalars.broken < last)].tolist():
                location = f"byte {base + int(records.start[index]) - HEADER}"
                self._problems.add(location, "expected a TensorBoard event, found a record that is not one")
            low, high = np.searchsorted(scalars.event, (first, last))
            if low == high:
                continue
            gaps = self._report_gaps(gaps, base, int(records.start[last - 1]))
            stream.seek(int(ends[last - 1]))
            restarts, self._restarts = self._restarts, False
            batch = _batch(scalars, int(low), int(high), restarts=restarts)
            yield replace(batch, config=config) if config else batch
            config = NO_CONFIG
        self._report_gaps(gaps, base, records.stop)
        stream.seek(base + records.stop)
        if config:
            yield batch_from_rows([], config=config)

    def _report_gaps(self, gaps: list[tuple[int, int]], base: int, end: int) -> list[tuple[int, int]]:
        """Report the spans of damage that end before byte `end` of a block; returns the others."""
        for start, stop in gaps:
            if stop <= end:
                self._problems.add(f"byte {base + start}", _passed_over("it is damaged", stop - start))
        return [gap for gap in gaps if gap[1] > end]

    def _config_of(self, block: bytes, records: Records, scalars: Scalars) -> Config:
        """The settings of the launch in a block, up to the first point of the file."""
        if self._settings is None:
            return NO_CONFIG
        before = int(scalars.event[0]) if len(scalars.event) else len(records.start)
        config = self._settings.read(block, records, before)
        if len(scalars.event):
            self._settings = None
        return config

    def _recover(self, stream: BinaryIO, position: int, length: int | None) -> bool:
        """Seek the next valid record after damage; False to wait, because the end may still be written."""
        following = find_record(stream, position + 1)
        if following is None:
            end = stream.seek(0, 2)
            if end - position <= _TORN or only_zeros(stream, position):
                stream.seek(position)
                return False
            following = end
        what = "its checksum does not match" if length is not None else "this is not the beginning of one"
        self._problems.add(f"byte {position}", _passed_over(what, following - position))
        stream.seek(following)
        return True

    def _skip_record(self, stream: BinaryIO, position: int, size: int) -> bool:
        """Skip a record that is too large, such as a graph or an image; False if it is not complete yet."""
        head = stream.read(64)
        end = stream.seek(0, 2)
        stream.seek(position)
        if end < position + size:
            return False
        fields = protobuf.fields(head[HEADER:], 0, size)
        kind = next((field.number for field in fields if field.number not in (_WALL_TIME, _STEP)), None)
        if kind == _SUMMARY:
            reason = f"expected a record of at most {MAX_RECORD_BYTES} bytes, found {size}"
            self._problems.add(f"byte {position}", reason)
        stream.seek(position + size)
        return True


def _passed_over(what: str, count: int) -> str:
    return f"expected a record, but {what}; {counted(count, 'byte')} were passed over"


def _batch_spans(scalars: Scalars) -> Iterator[tuple[int, int]]:
    """Spans of events that make one batch each: a marked launch begins one, and none has too many points."""
    size = len(scalars.steps)
    marks = {0, size, *scalars.starts.tolist()}
    if len(scalars.event) > MAX_BATCH_POINTS:
        marks.update(scalars.event[MAX_BATCH_POINTS::MAX_BATCH_POINTS].tolist())
    ordered = sorted(marks)
    yield from pairwise(ordered)


def _batch(scalars: Scalars, low: int, high: int, *, restarts: bool) -> Batch:
    """Points [low, high): a row per event, a column per tag."""
    # 16-bit integers are sorted by radix, several times as fast
    tags = scalars.tags[low:high].astype(np.uint16 if len(scalars.names) <= 2**16 else np.int64)
    order = np.argsort(tags, kind="stable")
    events, rows = _rows(scalars.event[low:high], tags, order)
    values = scalars.values[low:high][order]
    counts = np.bincount(tags)
    used, stops = np.flatnonzero(counts), np.cumsum(counts)
    columns = [
        Column(
            key=SeriesKey(scalars.names[code]),
            values=values[start:stop],
            rows=None if stop - start == len(events) else rows[start:stop],
        )
        for code, start, stop in zip(
            used.tolist(), (stops - counts)[used].tolist(), stops[used].tolist(), strict=True
        )
    ]
    return Batch(
        steps=scalars.steps[events],
        times=scalars.times[events],
        columns=tuple(columns),
        restarts=restarts,
    )


def _rows(event: IntArray, tags: NDArray[Any], order: IntArray) -> tuple[IntArray, IntArray]:
    """The event of each row, and the row of each point in the order given, which sorts them by tag.

    A tag that occurs several times in an event makes as many rows of it.
    """
    first = np.append(True, event[1:] != event[:-1])
    rows = (np.cumsum(first) - 1)[order]
    repeated = np.append(False, (rows[1:] == rows[:-1]) & (np.diff(tags[order]) == 0))
    if not repeated.any():
        return event[first], rows
    index = np.arange(len(rows))
    nth = index - np.maximum.accumulate(np.where(repeated, 0, index))
    most = int(nth.max()) + 1
    keys, rows = np.unique(event[order] * most + nth, return_inverse=True)
    return keys // most, rows

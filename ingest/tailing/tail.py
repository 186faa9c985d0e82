"""Tails one log: new records go to the sink, together with the cursor after them."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from holter.ingest.console.late_beginnings import reader_of_beginning
from holter.ingest.discovery.run_layout import RunAssignment
from holter.ingest.discovery.scanner import Source
from holter.ingest.errors import describe_error
from holter.ingest.file_tasks import file_task, report_progress
from holter.ingest.format import HoldingReader, Reader
from holter.ingest.names import FirstReports, without_invalid_names
from holter.ingest.open_log import OpenedLog, is_copy, open_log, uncompressed_name
from holter.ingest.tailing.file_identity import ContentSnapshot, identify, parse_identity, take_snapshot
from holter.ingest.tailing.rotation import OpenFile, contains_content, may_become_copy, successors
from holter.ingest.tailing.sink import Sink, SinkError
from holter.ingest.tailing.unended_lines import complete_rest
from holter.types import Batch, Cursor, Delivery, Unreadable

_log = logging.getLogger(__name__)

_FIRST_RETRY, _LAST_RETRY = 1.0, 300.0
"""Seconds before a log at which its format failed is read again if it has grown, doubled each time."""
_SETTLED_SECONDS = 60.0
"""After this time a file that is shorter than what was read of it counts as a new one. Until then it may be
in the middle of being rewritten, or a network file system may show an old size."""

_HELD_SECONDS = 30.0
"""After this time without new text, records that a reader holds back are passed on as they are, and so is a
last line that is complete but for its end."""


class TimeSlice:
    """How much of a file is read at a time: `size` bytes of its content, or `seconds` of processor time."""

    def __init__(self, size: int, seconds: float) -> None:
        self._size, self._seconds = size, seconds
        self._start, self._end, self._began = 0, 0, 0.0

    def begin(self, position: int, end: int) -> None:
        """Reading begins at a byte of a file that ends at another, in the calling thread."""
        self._start, self._end, self._began = position, end, time.thread_time()

    def is_over(self, position: int) -> bool:
        """Whether enough has been read up to a byte, and something is left."""
        if not self._start < position < self._end:
            return False
        return position - self._start >= self._size or time.thread_time() - self._began >= self._seconds


class UnreadableLogError(Exception):
    """The format of a log failed while reading it. It is reported, and tried again when the log has grown."""


class Tail:
    """A log and how far it has been read.

    Between two reads the file stays open until `close`, so that a log that is deleted, or moved to an unknown
    place, is read to its end. `names` returns the name of a path in cursors.
    """

    def __init__(
        self,
        source: Source,
        sink: Sink,
        *,
        project: str,
        names: Callable[[Path], str],
        clock: Callable[[], float],
    ) -> None:
        name = names(source.path)
        self._names = names
        self._open_file: OpenFile | None = None
        self._source, self._sink, self._project, self._clock = source, sink, project, clock
        self.name = name
        cursor = _call(sink.cursor, name)
        self._cursor: Cursor = cursor or Cursor(
            source=name, format=source.format.name, offset=0, identity="", state={}
        )
        # a run retains its name even if files that came later suggest another one
        self._assignment = _stored_assignment(self._cursor.state.get("place")) or source.assignment
        self._read_stat: tuple[int, int, int] | None = None
        self._name_reports = FirstReports()
        self._short_since: float | None = None
        self._held_since: float | None = None
        self._held_size = 0
        self._retry_at, self._retry_after = 0.0, _FIRST_RETRY
        self._read_at = clock()
        self.is_unfinished = False
        self._unfinished: tuple[tuple[int, int, int], OpenedLog] | None = None

    def backlog(self) -> tuple[int, float]:
        """Unread bytes, and for how many seconds there have been any; called from any thread."""
        try:
            stat = self._source.path.stat()
        except OSError:
            return 0, 0.0
        if _stat_key(stat) == self._read_stat:  # what is left is an incomplete record
            return 0, 0.0
        read = 0 if self._source.path.suffix == ".gz" else self._cursor.offset
        return max(0, stat.st_size - read), self._clock() - self._read_at

    @property
    def needs_recheck(self) -> bool:
        """Whether it must be read again even if the file does not change."""
        return self._short_since is not None or self._has_held_long

    @property
    def _has_held_long(self) -> bool:
        """Whether the reader has held records back for so long that no text is expected that decides."""
        return self._held_since is not None and self._clock() - self._held_since >= _HELD_SECONDS

    def has_changed(self) -> bool:
        """Whether a read may find anything new. Raises OSError if the file is gone."""
        if self._clock() < self._retry_at:
            return False
        return self.needs_recheck or _stat_key(self._source.path.stat()) != self._read_stat

    def growth(self) -> int:
        """Bytes by which the file has grown since it was read to its end; 0 if it was not. Raises OSError."""
        read = self._read_stat
        if read is None or self._source.path.suffix == ".gz" or self._clock() < self._retry_at:
            return 0
        stat = self._source.path.stat()
        return max(0, stat.st_size - read[1]) if stat.st_ino == read[0] else 0

    def read_new(self, *, final: bool = True, time_slice: TimeSlice | None = None) -> bool:
        """Read what is new and pass it to the sink; whether there was anything.

        With a `time_slice` it is read no further than that: then `has_changed` remains True.

        Raises OSError if the file cannot be read, SinkError if the sink fails; a later call resumes. Raises
        UnreadableLogError, once reported, if the format fails; the next attempt is made after a pause, when
        the file has changed. Raises MemoryError, without a report, if `final` is False: it is read again.
        """
        stat = self._source.path.stat()
        if self._clock() < self._retry_at or (_stat_key(stat) == self._read_stat and not self.needs_recheck):
            return False
        try:
            is_new = self._read_changed(stat, time_slice)
        except (OSError, SinkError):
            raise
        except Exception as error:
            if isinstance(error, MemoryError) and not final:
                raise
            self._report_failure(error)
            self._read_stat = _stat_key(stat)
            raise UnreadableLogError(describe_error(error)) from error
        self._retry_at, self._retry_after = 0.0, _FIRST_RETRY
        return is_new

    def _read_changed(self, stat: os.stat_result, time_slice: TimeSlice | None) -> bool:
        self._read_stat = None
        before = self._cursor
        task = file_task(
            self._source.path,
            "read",
            start=before.offset,
            name=self.name,
            run=self._assignment.run,
            format=self._source.format.name,
        )
        with task:
            return self._read_opened(self._take_unfinished(stat), stat, time_slice)

    def _take_unfinished(self, stat: os.stat_result) -> OpenedLog:
        """The opened log: the one that was unpacked for an earlier slice, if it has not changed since."""
        unfinished, self._unfinished = self._unfinished, None
        if unfinished is not None:
            key, opened = unfinished
            if key == _stat_key(stat):
                return opened
            opened.stream.close()
        return open_log(self._source.path)

    def _read_opened(
        self, opened: OpenedLog, stat: os.stat_result, time_slice: TimeSlice | None = None
    ) -> bool:
        before = self._cursor
        try:
            snapshot = take_snapshot(opened.stream, before.offset)
            if parse_identity(before.identity).agrees_with(snapshot):
                self._short_since = None
                complete = self._read(opened, stat.st_ino, snapshot, time_slice)
            elif self._is_replaced(opened.stream):
                self.finish()
                self._start_over()
                complete = self._read(opened, stat.st_ino, time_slice=time_slice)
            else:
                complete = False
        except BaseException:
            opened.stream.close()
            raise
        if complete:
            self._keep_open(opened.stream)
        elif self.is_unfinished and self._source.path.suffix == ".gz":
            self._unfinished = _stat_key(stat), opened
        else:
            opened.stream.close()
        self._read_stat = _stat_key(stat) if complete else None
        self._read_at = self._clock() if complete else self._read_at
        return self._cursor is not before

    def _report_failure(self, error: Exception) -> None:
        """Report an unexpected error once, also over restarts, and postpone the next attempt."""
        self._retry_at = self._clock() + self._retry_after
        self._retry_after = min(2 * self._retry_after, _LAST_RETRY)
        _log.debug("%s: the format %s fails", self.name, self._source.format.name, exc_info=error)
        reason = f"expected to read it as {self._source.format.name}: {describe_error(error)}"
        if self._cursor.state.get("failure") == reason:
            return
        _log.warning("%s: not read on, tried again when it grows: %s", self.name, reason)
        cursor = _with_state(self._cursor, failure=reason)
        self._report(Unreadable(location=f"byte {cursor.offset}", reason=reason), cursor)
        self._cursor = cursor

    def _is_replaced(self, stream: BinaryIO) -> bool:
        """Whether the file has other content now; a shorter file gets some time to regain the old one."""
        size = stream.seek(0, os.SEEK_END)
        if size >= self._cursor.offset or not parse_identity(self._cursor.identity).begins(stream):
            self._short_since = None
            return True
        if self._short_since is None:
            self._short_since = self._clock()
        if self._clock() - self._short_since < _SETTLED_SECONDS:
            return False
        self._short_since = None
        return True

    def is_intact(self) -> bool:
        """Whether its file still has the content that was read of it."""
        return contains_content(self._source.path, parse_identity(self._cursor.identity), self._cursor.offset)

    def finish(self) -> None:
        """Read the rest of a file that is no longer at its path: from the open file, or at its new path.

        The new path gets a cursor, so that it counts as read so far from then on.
        """
        if self._open_file is not None and self._open_file.has_left(self._source.path):
            with self._open_file.stream() as stream:
                if parse_identity(self._cursor.identity).holds(stream, self._cursor.offset):
                    self._read(OpenedLog(stream), parse_identity(self._cursor.identity).inode)
        self.close()
        if not self._cursor.offset:
            return
        for path in successors(self._source.path, parse_identity(self._cursor.identity).inode):
            if self.continue_at(path):
                return

    def continue_at(self, path: Path) -> bool:
        """Continue in a file that has the content that was read of this one; False if it has not."""
        if not self._cursor.offset or not contains_content(
            path, parse_identity(self._cursor.identity), self._cursor.offset
        ):
            return False
        # what was known under that name may have been rotated in turn
        there = replace(self._source, path=path)
        previous = Tail(there, self._sink, project=self._project, names=self._names, clock=self._clock)
        if previous.has_begun and not previous.is_intact():
            previous.finish()
        elif previous.has_begun and previous.is_ahead_of(self):
            return True
        opened, inode = open_log(path), path.stat().st_ino
        with opened.stream:
            self._read(opened, inode)
        identity = parse_identity(self._cursor.identity)._replace(inode=inode)
        _call(
            self._sink.save_cursor,
            replace(self._cursor, source=self._names(path), identity=str(identity)),
        )
        return True

    def is_another_file(self) -> bool:
        """Whether another file than the one that was read is at its path. Raises OSError."""
        return (
            self.has_begun and parse_identity(self._cursor.identity).inode != self._source.path.stat().st_ino
        )

    def is_ahead_of(self, other: Tail) -> bool:
        """Whether at least as much has been read of it as of another one with the same content."""
        return self._cursor.offset >= other._cursor.offset

    @property
    def has_begun(self) -> bool:
        """Whether anything has been read."""
        return self._cursor.offset > 0

    def may_be_copied_to(self, path: Path) -> bool:
        """Whether a file may become a copy of what was read."""
        return self.has_begun and may_become_copy(
            path, parse_identity(self._cursor.identity), self._cursor.offset
        )

    def _keep_open(self, stream: BinaryIO) -> None:
        self.close()
        if not is_copy(stream):
            self._open_file = OpenFile(stream)
        stream.close()

    def close(self) -> None:
        """Close the files that are open between reads."""
        if self._unfinished is not None:
            self._unfinished[1].stream.close()
            self._unfinished = None
        if self._open_file is not None:
            self._open_file.close()
            self._open_file = None

    def _start_over(self) -> None:
        state = {
            **self._cursor.state,
            "generation": self._generation + 1,
            "reader": {"rewritten": dict(self._cursor.state.get("reader", {}))},
        }
        self._cursor = Cursor(
            source=self.name, format=self._source.format.name, offset=0, identity="", state=state
        )

    @property
    def _generation(self) -> int:
        generation: int = self._cursor.state.get("generation", 0)
        return generation

    def _read(
        self,
        opened: OpenedLog,
        inode: int,
        snapshot: ContentSnapshot | None = None,
        time_slice: TimeSlice | None = None,
    ) -> bool:
        """Pass on every complete record from the cursor on; a `snapshot` agrees with the cursor's identity.

        False if the file was rewritten meanwhile, or where the time slice was over before (`is_unfinished`).

        The reader starts from the cursor each time: what the sink did not take is read again.
        """
        stream, format_ = opened.stream, self._source.format
        self.is_unfinished = False
        if time_slice is not None:
            time_slice.begin(self._cursor.offset, stream.seek(0, os.SEEK_END))
        if snapshot is None:
            snapshot = take_snapshot(stream, self._cursor.offset)
            if not parse_identity(self._cursor.identity).agrees_with(snapshot):
                return False  # it was rewritten since its identity was checked
        new_reader = format_.reader if self.has_begun else partial(reader_of_beginning, format_)
        reader = new_reader(uncompressed_name(self._source.path), self._cursor.state.get("reader", {}))
        begin = stream.seek(self._cursor.offset)
        for record in reader.read(stream):
            cursor = self._cursor_at(stream, reader.state(), inode)
            # a logger may have emptied the file between two reads: then the record mixes two contents
            if not snapshot.still_holds(stream, cursor.offset):
                return False
            stream.seek(cursor.offset)
            report_progress(cursor.offset)
            self._pass_on(record, cursor)
            if time_slice is not None and time_slice.is_over(cursor.offset):
                self.is_unfinished = True
                return False
        size = _size_of(stream)
        is_settled = self._has_held_long and (stream.tell(), size) == (begin, self._held_size)
        for record in self._last_records(reader, stream) if is_settled else ():
            self._pass_on(record, self._cursor_at(stream, reader.state(), inode))
        self._note_held(reader, size=size, has_rest=size > stream.tell(), is_settled=is_settled)
        cursor = self._cursor_at(stream, reader.state(), inode)
        if not snapshot.still_holds(stream, cursor.offset):
            return False
        if opened.problem is not None and not cursor.state.get("packing"):
            cursor = _with_state(cursor, packing=True)
            self._pass_on(opened.problem, cursor)
        elif (cursor.offset, cursor.state) != (self._cursor.offset, self._cursor.state):
            _call(self._sink.save_cursor, cursor)
            self._cursor = cursor
        return True

    def _last_records(self, reader: Reader, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """What is left of a text that has not grown: a last line without an end, records held back."""
        is_text = self._source.format.role.in_text
        if is_text and (rest := complete_rest(stream)) is not None:
            for record in reader.read(rest):
                stream.seek(min(rest.tell(), rest.size))
                yield record
            stream.seek(min(rest.tell(), rest.size))
        if isinstance(reader, HoldingReader):
            yield from reader.finish()

    def _note_held(self, reader: Reader, *, size: int, has_rest: bool, is_settled: bool) -> None:
        """Note since when the text has had its `size`, while a rest has no line end or records are held back.

        `is_settled`: for so long that these have been decided on.
        """
        is_text = self._source.format.role.in_text
        waits = (is_text and has_rest) or (isinstance(reader, HoldingReader) and reader.is_holding)
        if is_settled or not waits:
            self._held_since = None
        elif self._held_since is None or size != self._held_size:
            self._held_since, self._held_size = self._clock(), size

    def _cursor_at(self, stream: BinaryIO, state: Mapping[str, Any], inode: int) -> Cursor:
        """The cursor at the stream's position, which does not change."""
        offset = stream.tell()
        identity = identify(stream, offset, inode=inode)
        stream.seek(offset)
        cursor = Cursor(
            source=self.name,
            format=self._source.format.name,
            offset=offset,
            identity=str(identity),
            state={name: value for name, value in self._cursor.state.items() if name != "failure"},
        )
        mine = self._assignment
        return _with_state(
            cursor,
            place=[mine.run, mine.writer, mine.prefix, [list(label) for label in mine.labels]],
            generation=self._generation,
            reader=dict(state),
        )

    def _pass_on(self, record: Batch | Unreadable, cursor: Cursor) -> None:
        if isinstance(record, Unreadable):
            self._report(record, cursor)
        else:
            self._deliver(self._assignment.apply(record), cursor)
        self._cursor = cursor

    def _deliver(self, batch: Batch, cursor: Cursor) -> None:
        batch, refused = without_invalid_names(batch)
        for unreadable in self._name_reports.new(refused):
            self._report(unreadable, None)
        delivery = Delivery(
            project=self._project,
            run=self._assignment.run,
            writer=self._assignment.writer,
            batch_id=f"{self.name}:{self._generation}:{self._cursor.offset}-{cursor.offset}",
            batch=batch,
            cursor=cursor,
        )
        try:
            _call(self._sink.accept, delivery)
        except SinkError as error:
            if not isinstance(error.__cause__, ValueError):
                raise
            # every retry would be refused: it is reported and skipped
            location = f"bytes {self._cursor.offset} to {cursor.offset}"
            self._report(Unreadable(location=location, reason=str(error.__cause__)), cursor)

    def _report(self, unreadable: Unreadable, cursor: Cursor | None) -> None:
        unreadable = replace(unreadable, source=self.name, project=self._project, run=self._assignment.run)
        _call(self._sink.report_unreadable, unreadable, cursor=cursor)


def _size_of(stream: BinaryIO) -> int:
    """The size of a stream, whose position does not change."""
    position = stream.tell()
    size = stream.seek(0, os.SEEK_END)
    stream.seek(position)
    return size


def _stat_key(stat: os.stat_result) -> tuple[int, int, int]:
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _call(method: Callable[..., Any], *arguments: object, **named: object) -> Any:
    try:
        return method(*arguments, **named)
    except SinkError:  # its cause is in another process
        raise
    except Exception as error:
        raise SinkError(f"{type(error).__name__}: {error}") from error


def _with_state(cursor: Cursor, **state: object) -> Cursor:
    return replace(cursor, state={**cursor.state, **state})


def _stored_assignment(stored: object) -> RunAssignment | None:
    if not isinstance(stored, list | tuple) or len(stored) != 4:
        return None
    run, writer, prefix, labels = stored
    return RunAssignment(
        run=run, writer=writer, prefix=prefix, labels=tuple((str(name), str(value)) for name, value in labels)
    )

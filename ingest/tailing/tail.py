"""One log that is followed: what is new in it goes to the sink, together with the cursor after it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from holter.ingest.discovery.run_layout import RunAssignment
from holter.ingest.discovery.scanner import Source
from holter.ingest.names import FirstReports, without_invalid_names
from holter.ingest.open_log import OpenedLog, open_log, uncompressed_name
from holter.ingest.tailing.file_identity import identify, parse_identity, take_snapshot
from holter.ingest.tailing.rotation import OpenFile, contains_content, may_become_copy, successors
from holter.types import Batch, Cursor, Delivery, Unreadable

_SETTLED = 60.0
"""Seconds after which a file that is shorter than what was read of it is taken for a new one. Until then
it may be in the middle of being rewritten, or a network file system may be showing an old size."""


class Sink(Protocol):
    """Where batches go. Each call returns when what it was given is durable, or raises."""

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> object:
        """Keep a batch and its cursor, both or neither."""
        ...

    def cursor(self, source: str) -> Cursor | None:
        """The last cursor kept for a source."""
        ...

    def save_cursor(self, cursor: Cursor) -> None:
        """Keep a cursor alone: progress over what holds no points."""
        ...

    def report_unreadable(self, unreadable: Unreadable, *, cursor: Cursor | None = None) -> None:
        """Keep what could not be read, and the cursor after it."""
        ...


class SinkError(Exception):
    """The sink did not take what it was given; the cause is attached. The cursor has not moved."""


class Tail:
    """A log and how far it has been read.

    Between two looks it keeps the file open that it looked at, until `let_go`: a log that is deleted, or
    moved out of sight, is read to its end. `names` says what a path is called in cursors.
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
        self._held: OpenFile | None = None
        self._source, self._sink, self._project, self._clock = source, sink, project, clock
        self.name = name
        cursor = _call(sink.cursor, name)
        self._cursor: Cursor = cursor or Cursor(
            source=name, format=source.format.name, offset=0, identity="", state={}
        )
        # a run keeps its name even if later files would suggest another one
        self._place = _remembered(self._cursor.state.get("place")) or source.place
        self._seen: tuple[int, int, int] | None = None
        self._told = FirstReports()
        self._short_since: float | None = None
        self._read_at = clock()

    def behind(self) -> tuple[int, float]:
        """Bytes that are not read yet, and for how many seconds that has been so; asked from any thread."""
        try:
            stat = self._source.path.stat()
        except OSError:
            return 0, 0.0
        if (stat.st_ino, stat.st_size, stat.st_mtime_ns) == self._seen:  # a record may still be incomplete
            return 0, 0.0
        read = 0 if self._source.path.suffix == ".gz" else self._cursor.offset
        return max(0, stat.st_size - read), self._clock() - self._read_at

    @property
    def waiting(self) -> bool:
        """Whether it must be looked at again although nothing changes."""
        return self._short_since is not None

    def has_news(self) -> bool:
        """Whether a look may find anything. Raises OSError where the file is gone."""
        stat = self._source.path.stat()
        return self.waiting or (stat.st_ino, stat.st_size, stat.st_mtime_ns) != self._seen

    def look(self) -> bool:
        """Read what is new and hand it over; whether there was anything.

        Raises OSError where the file cannot be read, SinkError where the sink fails; a later look goes on.
        """
        stat = self._source.path.stat()
        seen = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        if seen == self._seen and not self.waiting:
            return False
        self._seen = None
        before = self._cursor
        opened = open_log(self._source.path)
        try:
            if parse_identity(before.identity).holds(opened.stream, before.offset):
                self._short_since = None
                whole = self._read(opened, stat.st_ino)
            elif self._is_replaced(opened.stream):
                self.finish()
                self._begin_anew()
                whole = self._read(opened, stat.st_ino)
            else:
                whole = False
        except BaseException:
            opened.stream.close()
            raise
        if whole:
            self._hold(opened.stream)
        else:
            opened.stream.close()
        self._seen = seen if whole else None
        self._read_at = self._clock() if whole else self._read_at
        return self._cursor is not before

    def _is_replaced(self, stream: BinaryIO) -> bool:
        """Whether another content stands in the file's place; a shorter file gets time to become it again."""
        size = stream.seek(0, os.SEEK_END)
        if size >= self._cursor.offset or not parse_identity(self._cursor.identity).begins(stream):
            self._short_since = None
            return True
        if self._short_since is None:
            self._short_since = self._clock()
        if self._clock() - self._short_since < _SETTLED:
            return False
        self._short_since = None
        return True

    def is_intact(self) -> bool:
        """Whether its file still holds what was read of it."""
        return contains_content(self._source.path, parse_identity(self._cursor.identity), self._cursor.offset)

    def finish(self) -> None:
        """Read the rest of what has gone from this place: from the open file, or where it stands now.

        Where it stands now under another name, it is known from then on as read so far.
        """
        if self._held is not None and self._held.has_left(self._source.path):
            with self._held.stream() as stream:
                if parse_identity(self._cursor.identity).holds(stream, self._cursor.offset):
                    self._read(OpenedLog(stream), parse_identity(self._cursor.identity).inode)
        self.let_go()
        if not self._cursor.offset:
            return
        for path in successors(self._source.path, parse_identity(self._cursor.identity).inode):
            if self.move(path):
                return

    def move(self, path: Path) -> bool:
        """Go on in a file that holds what was read of this one; False where it does not."""
        if not self._cursor.offset or not contains_content(
            path, parse_identity(self._cursor.identity), self._cursor.offset
        ):
            return False
        # what was known under that name may have gone on in turn
        there = replace(self._source, path=path)
        elder = Tail(there, self._sink, project=self._project, names=self._names, clock=self._clock)
        if elder.has_begun and not elder.is_intact():
            elder.finish()
        elif elder.has_begun and elder.is_beyond(self):
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
        """Whether another file than the one that was read stands in its place. Raises OSError."""
        return (
            self.has_begun and parse_identity(self._cursor.identity).inode != self._source.path.stat().st_ino
        )

    def is_beyond(self, other: Tail) -> bool:
        """Whether as much has been read of it as of another of the same content."""
        return self._cursor.offset >= other._cursor.offset

    @property
    def has_begun(self) -> bool:
        """Whether anything has been read."""
        return self._cursor.offset > 0

    def is_copied_to(self, path: Path) -> bool:
        """Whether a file seems about to become a copy of what was read."""
        return self.has_begun and may_become_copy(
            path, parse_identity(self._cursor.identity), self._cursor.offset
        )

    def _hold(self, stream: BinaryIO) -> None:
        self.let_go()
        if self._source.path.suffix != ".gz":
            self._held = OpenFile(stream)
        stream.close()

    def let_go(self) -> None:
        """Close what is held open."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def _begin_anew(self) -> None:
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

    def _read(self, opened: OpenedLog, inode: int) -> bool:
        """Hand over everything complete from the cursor on; False if the file was rewritten meanwhile.

        The reader starts from the cursor each time: what the sink did not take is simply read again.
        """
        stream, format_ = opened.stream, self._source.format
        snapshot = take_snapshot(stream, self._cursor.offset)
        reader = format_.reader(uncompressed_name(self._source.path), self._cursor.state.get("reader", {}))
        stream.seek(self._cursor.offset)
        for record in reader.read(stream):
            cursor = self._advanced(stream, reader.state(), inode)
            # a logger may have emptied the file between two reads: then the record is of neither content
            if not snapshot.still_holds(stream):
                return False
            stream.seek(cursor.offset)
            self._hand_over(record, cursor)
        cursor = self._advanced(stream, reader.state(), inode)
        if not snapshot.still_holds(stream):
            return False
        if opened.problem is not None and not cursor.state.get("packing"):
            cursor = _with(cursor, packing=True)
            self._hand_over(opened.problem, cursor)
        elif (cursor.offset, cursor.state) != (self._cursor.offset, self._cursor.state):
            _call(self._sink.save_cursor, cursor)
            self._cursor = cursor
        return True

    def _advanced(self, stream: BinaryIO, state: Mapping[str, Any], inode: int) -> Cursor:
        """The cursor at the stream's position; the stream stays where it is."""
        offset = stream.tell()
        identity = identify(stream, offset, inode=inode)
        stream.seek(offset)
        cursor = Cursor(
            source=self.name,
            format=self._source.format.name,
            offset=offset,
            identity=str(identity),
            state=self._cursor.state,
        )
        place = self._place
        return _with(
            cursor,
            place=[place.run, place.writer, place.prefix, [list(label) for label in place.labels]],
            generation=self._generation,
            reader=dict(state),
        )

    def _hand_over(self, record: Batch | Unreadable, cursor: Cursor) -> None:
        if isinstance(record, Unreadable):
            self._report(record, cursor)
        else:
            self._deliver(self._place.put(record), cursor)
        self._cursor = cursor

    def _deliver(self, batch: Batch, cursor: Cursor) -> None:
        batch, refused = without_invalid_names(batch)
        for unreadable in self._told.new(refused):
            self._report(unreadable, None)
        delivery = Delivery(
            project=self._project,
            run=self._place.run,
            writer=self._place.writer,
            batch_id=f"{self.name}:{self._generation}:{self._cursor.offset}-{cursor.offset}",
            batch=batch,
            cursor=cursor,
        )
        try:
            _call(self._sink.accept, delivery)
        except SinkError as error:
            if not isinstance(error.__cause__, ValueError):
                raise
            # it would be refused for ever: said, and left behind
            place = f"bytes {self._cursor.offset} to {cursor.offset}"
            self._report(Unreadable(location=place, reason=str(error.__cause__)), cursor)

    def _report(self, unreadable: Unreadable, cursor: Cursor | None) -> None:
        unreadable = replace(unreadable, source=self.name, project=self._project, run=self._place.run)
        _call(self._sink.report_unreadable, unreadable, cursor=cursor)


def _call(verb: Callable[..., Any], *arguments: object, **named: object) -> Any:
    try:
        return verb(*arguments, **named)
    except Exception as error:
        raise SinkError(f"{type(error).__name__}: {error}") from error


def _with(cursor: Cursor, **state: object) -> Cursor:
    return replace(cursor, state={**cursor.state, **state})


def _remembered(place: object) -> RunAssignment | None:
    if not isinstance(place, list | tuple) or len(place) != 4:
        return None
    run, writer, prefix, labels = place
    return RunAssignment(
        run=run, writer=writer, prefix=prefix, labels=tuple((str(name), str(value)) for name, value in labels)
    )

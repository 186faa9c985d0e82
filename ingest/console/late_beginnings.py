"""Texts that begin in a later epoch: how long epochs are is found further on, in what there is of the text.

So all of a text is at the same steps, whether it is read at once or followed from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import PurePath
from typing import Any, BinaryIO

from holter.ingest.console.console_reader import ConsoleReader
from holter.ingest.format import Format, Reader
from holter.types import Batch, Unreadable

_MOST_AHEAD = 32 * 2**20
"""Bytes behind the first record in which the next epoch is looked for."""

State = Mapping[str, Any]


def reader_of_beginning(format_: Format, path: PurePath, state: State) -> Reader:
    """A reader of a text that nothing has been read of so far."""
    reader = format_.reader(path, state)
    return _LookingAhead(format_, path, reader) if isinstance(reader, ConsoleReader) else reader


def state_at_beginning(format_: Format, path: PurePath, state: State, stream: BinaryIO) -> State:
    """A state of a text without a record so far, with how long epochs are if what follows has that first.

    The stream is left where it was.
    """
    begin, reader = stream.tell(), format_.reader(path, deepcopy(state))  # which it changes
    if not isinstance(reader, ConsoleReader):
        return state
    for record in reader.read(stream):
        is_known = isinstance(record, Batch) and record.points and not reader.waits_for_length
        if is_known or stream.tell() - begin > _MOST_AHEAD:
            break
    stream.seek(begin)
    return reader.with_lengths(state)


class _LookingAhead:
    """Reads a text; where its first record is of a later epoch, with what is found of epochs behind it."""

    def __init__(self, format_: Format, path: PurePath, reader: ConsoleReader) -> None:
        self._format, self._path, self._reader = format_, path, reader

    def state(self) -> State:
        """What another reader needs to resume."""
        return self._reader.state()

    @property
    def is_holding(self) -> bool:
        """Whether records are held back."""
        return self._reader.is_holding

    def finish(self) -> Iterator[Batch]:
        """Yield what is held back, where the text is known to end."""
        yield from self._reader.finish()

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield what the complete lines hold; see `Reader`."""
        begin, state = stream.tell(), self.state()
        records = self._reader.read(stream)
        for record in records:
            if self._reader.begins_late:
                end = stream.tell()
                stream.seek(begin)
                known = state_at_beginning(self._format, self._path, state, stream)
                if known != state and isinstance(
                    reader := self._format.reader(self._path, known), ConsoleReader
                ):
                    self._reader, records = reader, reader.read(stream)
                else:
                    stream.seek(end)
                    yield record
                break
            yield record
            if isinstance(record, Batch) and record.points:
                break
            begin, state = stream.tell(), self.state()
        yield from records

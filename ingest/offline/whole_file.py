"""A guess at what a file holds that was given by hand: a format that reads the complete file at once."""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar

from holter.ingest.format import Format, FormatRole, HoldingReader
from holter.ingest.text_encoding import decode_lines
from holter.types import Batch, Unreadable

_MAX_BYTES = 64 * 2**20
_GAP = 128
_LONG_GAP = re.compile(rf"\n{{{_GAP},}}")
"""Empty lines, of which so many separate what is above and below as well as any more: each costs time."""


class WholeFile(ABC):
    """A format of complete texts that is never recognised; `lines` reads what was made lines of a program."""

    name: ClassVar[str]
    role: ClassVar[FormatRole] = FormatRole()

    def __init__(self, lines: Format) -> None:
        self._lines = lines

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """Never: it is a guess, which only a person who names the file can confirm."""
        return False

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> _WholeFileReader:
        """A reader of a complete file."""
        return _WholeFileReader(path, self)

    @abstractmethod
    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """What the text of a file holds; nothing of other texts."""

    def read_lines(self, path: PurePath, text: bytes) -> Iterator[Batch | Unreadable]:
        """What a text holds as the lines of a program."""
        reader = self._lines.reader(path, {})
        yield from reader.read(io.BytesIO(text))
        if isinstance(reader, HoldingReader):
            yield from reader.finish()


class _WholeFileReader:
    def __init__(self, path: PurePath, guess: WholeFile) -> None:
        self._path = path
        self._guess = guess

    def state(self) -> Mapping[str, Any]:
        """Nothing: the file is read once."""
        return {}

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the records of the file."""
        text = decode_lines(stream.read(_MAX_BYTES)).removeprefix("\ufeff")
        yield from self._guess.records(self._path, _LONG_GAP.sub("\n" * _GAP, text))

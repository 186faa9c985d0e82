"""Tells a log that has grown from one that was replaced, by its first bytes and those before the cursor."""

from __future__ import annotations

import hashlib
from typing import BinaryIO, NamedTuple

_HEAD = 1024
_TAIL = 64
_START = 48


class FileIdentity(NamedTuple):
    """What is remembered of a file that has been read up to an offset. `inode` finds it under a new name."""

    inode: int = 0
    length: int = 0
    start: str = ""  # the very first bytes, as hexadecimal digits
    head: str = ""  # digest of the first `length` bytes
    tail: str = ""  # digest of the last bytes before the offset

    def __str__(self) -> str:
        return f"{self.inode}:{self.length}:{self.start}:{self.head}:{self.tail}"

    def holds(self, stream: BinaryIO, offset: int) -> bool:
        """Whether the file still begins, and still reads just before the offset, as it did."""
        return self[1:] == _look(stream, offset, self.length)

    def begins(self, stream: BinaryIO) -> bool:
        """Whether the file begins as it did, as far as it goes: it may be being rewritten."""
        stream.seek(0)
        found = stream.read(self.length)
        if len(found) == self.length:
            return _digest(found) == self.head
        return bytes.fromhex(self.start).startswith(found[:_START])


class ContentSnapshot(NamedTuple):
    """What a file held when reading began: its first bytes, and those before the offset."""

    offset: int
    head: bytes
    tail: bytes

    def still_holds(self, stream: BinaryIO) -> bool:
        """Whether the file holds them yet; it may have grown behind them. The stream is left elsewhere.

        One that was shorter than what is looked at must not have grown: just emptied, it may become anything.
        """
        return self == _snapshot(stream, self.offset, _HEAD)


def take_snapshot(stream: BinaryIO, offset: int) -> ContentSnapshot:
    """What a file holds now, as far as a rewrite of it would show. The stream is left elsewhere."""
    return _snapshot(stream, offset, _HEAD)


def _snapshot(stream: BinaryIO, offset: int, length: int) -> ContentSnapshot:
    stream.seek(0)
    head = stream.read(length)
    start = max(0, offset - _TAIL)
    stream.seek(start)
    return ContentSnapshot(offset, head, stream.read(offset - start))


def identify(stream: BinaryIO, offset: int, *, inode: int) -> FileIdentity:
    """The identity of a file read up to an offset. The stream is left elsewhere."""
    return FileIdentity(inode, *_look(stream, offset, min(offset, _HEAD)))


def parse_identity(text: str) -> FileIdentity:
    """The identity that `str` wrote; an empty one for text that is none."""
    parts = text.split(":")
    try:
        inode, length, start, head, tail = parts
        return FileIdentity(int(inode), int(length), bytes.fromhex(start).hex(), head, tail)
    except ValueError:
        return FileIdentity()


def _look(stream: BinaryIO, offset: int, length: int) -> tuple[int, str, str, str]:
    _, head, tail = _snapshot(stream, offset, length)
    return len(head), head[:_START].hex(), _digest(head), _digest(tail)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest() if content else ""

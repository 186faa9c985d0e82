"""Distinguishes a log that has grown from one that was replaced, by its first and its last read bytes."""

from __future__ import annotations

import hashlib
from typing import BinaryIO, NamedTuple

_HEAD_BYTES = 1024
_TAIL_BYTES = 64
_START_BYTES = 48


class FileIdentity(NamedTuple):
    """What identifies a file that was read up to an offset. `inode` finds it under a new name."""

    inode: int = 0
    length: int = 0
    start: str = ""  # the very first bytes, as hexadecimal digits
    head: str = ""  # digest of the first `length` bytes
    tail: str = ""  # digest of the last bytes before the offset

    def __str__(self) -> str:
        return f"{self.inode}:{self.length}:{self.start}:{self.head}:{self.tail}"

    def holds(self, stream: BinaryIO, offset: int) -> bool:
        """Whether the first bytes of the file, and those before the offset, are still the same."""
        return self[1:] == _fingerprint(stream, offset, self.length)

    def agrees_with(self, snapshot: ContentSnapshot) -> bool:
        """Whether a snapshot at the offset of this identity shows the same content."""
        return self[1:] == _fingerprint_of(snapshot.head[: self.length], snapshot.tail)

    def begins(self, stream: BinaryIO) -> bool:
        """Whether the file begins the same, as far as it goes: it may be in the middle of being rewritten."""
        stream.seek(0)
        content = stream.read(self.length)
        if len(content) == self.length:
            return _digest(content) == self.head
        return bytes.fromhex(self.start).startswith(content[:_START_BYTES])


class ContentSnapshot(NamedTuple):
    """The first bytes of a file when reading began, and those before the offset."""

    offset: int
    head: bytes
    tail: bytes

    def still_holds(self, stream: BinaryIO, end: int) -> bool:
        """Whether the file still has these bytes, and was read up to byte `end` as the same file.

        It may have grown after the compared bytes. A shorter file must not have grown: it was emptied and may
        become anything, also empty again after other content was read. Moves the stream's position.
        """
        if len(self.head) < _HEAD_BYTES and end > len(self.head):
            return False
        return self == _snapshot(stream, self.offset, _HEAD_BYTES)


def take_snapshot(stream: BinaryIO, offset: int) -> ContentSnapshot:
    """The bytes of a file that a rewrite would change. Moves the stream's position."""
    return _snapshot(stream, offset, _HEAD_BYTES)


def _snapshot(stream: BinaryIO, offset: int, length: int) -> ContentSnapshot:
    stream.seek(0)
    head = stream.read(length)
    start = max(0, offset - _TAIL_BYTES)
    stream.seek(start)
    return ContentSnapshot(offset, head, stream.read(offset - start))


def identify(stream: BinaryIO, offset: int, *, inode: int) -> FileIdentity:
    """The identity of a file that was read up to an offset. Moves the stream's position."""
    return FileIdentity(inode, *_fingerprint(stream, offset, min(offset, _HEAD_BYTES)))


def parse_identity(text: str) -> FileIdentity:
    """The identity that `str` wrote; an empty one for any other text."""
    parts = text.split(":")
    try:
        inode, length, start, head, tail = parts
        return FileIdentity(int(inode), int(length), bytes.fromhex(start).hex(), head, tail)
    except ValueError:
        return FileIdentity()


def _fingerprint(stream: BinaryIO, offset: int, length: int) -> tuple[int, str, str, str]:
    _, head, tail = _snapshot(stream, offset, length)
    return _fingerprint_of(head, tail)


def _fingerprint_of(head: bytes, tail: bytes) -> tuple[int, str, str, str]:
    return len(head), head[:_START_BYTES].hex(), _digest(head), _digest(tail)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest() if content else ""

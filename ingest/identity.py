"""Tells a log that has grown from one that was replaced, by its first bytes and those before the cursor."""

from __future__ import annotations

import hashlib
from typing import BinaryIO, NamedTuple

_HEAD = 1024
_TAIL = 64


class Identity(NamedTuple):
    """What is remembered of a file that has been read up to an offset. `inode` finds it under a new name."""

    inode: int = 0
    length: int = 0
    head: str = ""
    tail: str = ""

    def __str__(self) -> str:
        return f"{self.inode}:{self.length}:{self.head}:{self.tail}"

    def holds(self, stream: BinaryIO, offset: int) -> bool:
        """Whether the file still begins, and still reads just before the offset, as it did."""
        return self[1:] == _look(stream, offset, self.length)

    def begins(self, stream: BinaryIO) -> bool:
        """Whether the file begins as it did, as far as it goes: it may be being rewritten."""
        stream.seek(0)
        found = stream.read(self.length)
        return len(found) < self.length or _digest(found) == self.head


def identify(stream: BinaryIO, offset: int, *, inode: int) -> Identity:
    """The identity of a file read up to an offset. The stream is left elsewhere."""
    return Identity(inode, *_look(stream, offset, min(offset, _HEAD)))


def parse(text: str) -> Identity:
    """The identity that `str` wrote; an empty one for text that is none."""
    inode, _, rest = text.partition(":")
    parts = rest.split(":")
    if len(parts) != 3 or not inode.isdecimal() or not parts[0].isdecimal():
        return Identity()
    return Identity(int(inode), int(parts[0]), parts[1], parts[2])


def _look(stream: BinaryIO, offset: int, length: int) -> tuple[int, str, str]:
    stream.seek(0)
    head = stream.read(length)
    start = max(0, offset - _TAIL)
    stream.seek(start)
    tail = stream.read(offset - start)
    return len(head), _digest(head), _digest(tail)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest() if content else ""

"""Finds the content of a rotated log: renamed, copied before the file was emptied, or compressed."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from holter.ingest.open_log import open_log
from holter.ingest.tailing.file_identity import FileIdentity

_ROTATED = re.compile(
    r"(?P<base>.+?)"
    r"(?:(?P<mark>[.-])(?P<number>\d{1,4})"
    r"|[.-]\d{8}(?:[-T_]?\d{4,6})?|[.-]\d{4}-\d\d-\d\d(?:[-T_.]\d\d[-.:]?\d\d(?:[-.:]?\d\d)?)?"
    r"|\.(?:old|bak|prev))?(?:\.gz)?"
)
_MAX_COMPRESSED_BYTES = 1024**3
"""The largest compressed file that is decompressed in search of unread content."""


def predecessors(name: str) -> list[str]:
    """Names that the content of a file of this name may have had before a rotation."""
    match = _ROTATED.fullmatch(name)
    names = [name.removesuffix(".gz")]
    if match is not None:
        if match["number"] is not None and int(match["number"]) > 1:
            before = f"{match['base']}{match['mark']}{int(match['number']) - 1}"
            names += [before, f"{before}.gz"]
        names.append(match["base"])
    return [candidate for candidate in dict.fromkeys(names) if candidate != name]


def successors(path: Path, inode: int) -> Iterator[Path]:
    """Files next to one that may have its content after a rotation: first the same inode, then by name."""
    try:
        with os.scandir(path.parent) as entries:
            neighbours = [(entry.inode(), entry.name) for entry in entries if entry.name != path.name]
    except OSError:
        return
    yield from (path.parent / name for number, name in neighbours if number == inode)
    rotated = [name for number, name in neighbours if number != inode and path.name in predecessors(name)]
    yield from (path.parent / name for name in sorted(rotated))


def contains_content(path: Path, identity: FileIdentity, offset: int) -> bool:
    """Whether a file, whatever its name, has the content that was read up to an offset."""
    try:
        if path.suffix == ".gz" and path.stat().st_size > _MAX_COMPRESSED_BYTES:
            return False
        with open_log(path).stream as stream:
            return identity.holds(stream, offset)
    except OSError:
        return False


def may_become_copy(path: Path, identity: FileIdentity, offset: int) -> bool:
    """Whether a file may become a copy of that content: it begins the same and is still shorter."""
    try:
        with open_log(path).stream as stream:
            return stream.seek(0, os.SEEK_END) < offset and identity.begins(stream)
    except OSError:
        return False


class OpenFile:
    """A file that stays open whatever becomes of its name, and is closed with this object at the latest."""

    def __init__(self, stream: BinaryIO) -> None:
        self._descriptor = os.dup(stream.fileno())
        self.close = weakref.finalize(self, os.close, self._descriptor)

    def stream(self) -> BinaryIO:
        """A new stream of the file, to be closed by the caller."""
        return os.fdopen(os.dup(self._descriptor), "rb")

    def has_left(self, path: Path) -> bool:
        """Whether another file is at the path now, or none."""
        try:
            return path.stat().st_ino != os.fstat(self._descriptor).st_ino
        except FileNotFoundError:
            return True

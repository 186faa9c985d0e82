"""Where the content of a rotated log has gone: renamed, copied before it was emptied, packed."""

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
_LARGEST_PACKED = 1024**3
"""Bytes of a packed file that is unpacked to look for what was left unread."""


def predecessors(name: str) -> list[str]:
    """Names under which the content of a file of this name may have stood before a rotation."""
    found = _ROTATED.fullmatch(name)
    names = [name.removesuffix(".gz")]
    if found is not None:
        if found["number"] is not None and int(found["number"]) > 1:
            before = f"{found['base']}{found['mark']}{int(found['number']) - 1}"
            names += [before, f"{before}.gz"]
        names.append(found["base"])
    return [one for one in dict.fromkeys(names) if one != name]


def successors(path: Path, inode: int) -> Iterator[Path]:
    """Files beside one that may hold its content after a rotation: the very file first, then by name."""
    try:
        with os.scandir(path.parent) as entries:
            beside = [(entry.inode(), entry.name) for entry in entries if entry.name != path.name]
    except OSError:
        return
    yield from (path.parent / name for number, name in beside if number == inode)
    named = [name for number, name in beside if number != inode and path.name in predecessors(name)]
    yield from (path.parent / name for name in sorted(named))


def contains_content(path: Path, identity: FileIdentity, offset: int) -> bool:
    """Whether a file holds what was read up to an offset, whatever it is called."""
    try:
        if path.suffix == ".gz" and path.stat().st_size > _LARGEST_PACKED:
            return False
        with open_log(path).stream as stream:
            return identity.holds(stream, offset)
    except OSError:
        return False


def may_become_copy(path: Path, identity: FileIdentity, offset: int) -> bool:
    """Whether a file may be about to hold it: it begins the same and is still shorter."""
    try:
        with open_log(path).stream as stream:
            return stream.seek(0, os.SEEK_END) < offset and identity.begins(stream)
    except OSError:
        return False


class OpenFile:
    """A file that stays open whatever becomes of its name, closed with this object at the latest."""

    def __init__(self, stream: BinaryIO) -> None:
        self._descriptor = os.dup(stream.fileno())
        self.close = weakref.finalize(self, os.close, self._descriptor)

    def stream(self) -> BinaryIO:
        """The file, to be read and closed."""
        return os.fdopen(os.dup(self._descriptor), "rb")

    def has_left(self, path: Path) -> bool:
        """Whether another file stands in the path's place, or none."""
        try:
            return path.stat().st_ino != os.fstat(self._descriptor).st_ino
        except FileNotFoundError:
            return True

"""The spool: bodies waiting to be sent, in append-only files on local disk.

One folder per process, `HOST-PID-NONCE`:

    state              a line with the file number and offset acknowledged by the server, then a JSON header
                       (server, project, run); locked (flock) by the sending process, and released by the
                       system when that process dies
    00000001.spool     bodies, each preceded by its length and checksum; a full file is followed by the next
    rejected.jsonl     bodies the server rejected (base64), with the reason

An acknowledged file is removed. Sending a body again is harmless: every body has a batch_id, and the
server stores each once. Files are large, because creating one takes a millisecond on slow disks.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import json
import os
import shutil
import struct
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from holter.private_files import PRIVATE_FOLDER, create_private_folder, private_opener

SEGMENT_BYTES = 8 * 2**20
RECENT_BODIES = 8  # bodies cached in memory, so that they need not be read from disk
REQUEST_BODIES = 1000
HEADER = struct.Struct("<II")  # length of the body, its CRC-32


class Spool:
    """The spool of one process: one thread appends, one reads; they share only the files.

    `appended` and `freed` count bytes; each is written by one thread, so no lock is needed. The same
    holds for the ends of the cache of recently appended bodies (file number, offset, body).
    """

    def __init__(self, folder: Path, state: int, *, limit: int) -> None:
        # plain descriptors: file objects would lock, or flush when destroyed, in a forked child
        self.folder = folder
        self._state = state
        self._limit = limit
        self._segment_bytes = min(SEGMENT_BYTES, limit // 4)
        numbers = segment_numbers(folder)
        self.appended = sum(segment_path(folder, number).stat().st_size for number in numbers)
        self.freed = 0
        self._writing: int | None = None
        self._write_number = max(numbers, default=0)
        self._written = self._segment_bytes  # as in a full file: the first body begins one
        self._recent: deque[tuple[int, int, bytes]] = deque()
        self._reading: int | None = None
        self._read_number, self._offset = self._read_position(min(numbers, default=1))

    def _read_position(self, first: int) -> tuple[int, int]:
        words = os.pread(self._state, POSITION_BYTES, 0).split()
        if len(words) == 2 and all(word.isdigit() for word in words) and int(words[0]) >= first:
            return int(words[0]), int(words[1])
        return first, 0

    def append(self, body: bytes) -> bool:
        """Append one body; returns False if the size limit is reached. Raises OSError.

        A partially written body (disk full) is truncated again.
        """
        head = HEADER.pack(len(body), zlib.crc32(body))
        size = len(head) + len(body)
        if self.appended - self.freed + size > self._limit:
            return False
        if self._written >= self._segment_bytes:
            self._begin_segment()
        assert self._writing is not None
        try:
            if os.writev(self._writing, (head, body)) < size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder))
        except OSError:
            os.ftruncate(self._writing, self._written)
            raise
        if len(self._recent) < RECENT_BODIES:
            self._recent.append((self._write_number, self._written, body))
        self._written += size
        self.appended += size
        return True

    def _begin_segment(self) -> None:
        path = segment_path(self.folder, self._write_number + 1)
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if self._writing is not None:
            os.close(self._writing)
        self._writing, self._written = opened, 0
        self._write_number += 1

    def next(self) -> bytes | None:
        """Return the oldest unacknowledged body, None if there is none; unchanged until `acknowledge`."""
        while True:
            if (fresh := self._recent_body(self._offset)) is not None:
                return fresh
            if self._reading is None:
                try:
                    self._reading = os.open(segment_path(self.folder, self._read_number), os.O_RDONLY)
                except FileNotFoundError:
                    return None
            # checked first: bodies appended before the next file begins must still be read from this one
            complete = segment_path(self.folder, self._read_number + 1).exists()
            body = read_body_at(self._reading, self._offset)
            if body is not None:
                return body
            if not complete:
                return None
            self._remove_segment()

    def next_bodies(self, most: int) -> list[bytes]:
        """Return the oldest body and those after it in the same file, up to `most` bytes, at least one.

        At most REQUEST_BODIES, since a server accepts only some thousands in a request.
        """
        if (body := self.next()) is None:
            return []
        bodies, offset, size = [body], self._offset, len(body)
        while True:
            offset += HEADER.size + len(body)
            found = self._recent_body(offset)
            if found is None and self._reading is not None:
                found = read_body_at(self._reading, offset)
            if found is None or size + len(found) > most or len(bodies) == REQUEST_BODIES:
                return bodies
            size += len(found)
            bodies.append(body := found)

    def _recent_body(self, offset: int) -> bytes | None:
        """Return the body at an offset of the file being read, if it is cached."""
        while self._recent and self._recent[0] < (self._read_number, self._offset):
            self._recent.popleft()
        for number, at, body in tuple(self._recent):
            if (number, at) == (self._read_number, offset):
                return body
        return None

    def _remove_segment(self) -> None:
        """Remove a file whose bodies are all acknowledged (a torn last body was never complete)."""
        assert self._reading is not None
        size = os.fstat(self._reading).st_size
        os.close(self._reading)
        self._reading = None
        path = segment_path(self.folder, self._read_number)
        # the file of the written position is gone then, which means the first one that is left
        self._read_number, self._offset = self._read_number + 1, 0
        path.unlink(missing_ok=True)
        self.freed += size

    def acknowledge(self, *bodies: bytes) -> None:
        """Mark bodies returned by `next` or `next_bodies` as stored by the server."""
        self._offset += sum(HEADER.size + len(body) for body in bodies)
        self._write_position()

    def _write_position(self) -> None:
        with contextlib.suppress(OSError):  # the body is then sent again, which changes nothing
            os.pwrite(self._state, format_position(self._read_number, self._offset), 0)

    def reject(self, body: bytes, reason: str) -> Path:
        """Store a rejected body with its reason and skip it; returns the path of the file."""
        path = self.folder / "rejected.jsonl"
        with open(path, "a", opener=private_opener) as file:
            file.write(json.dumps({"reason": reason, "body": base64.b64encode(body).decode()}) + "\n")
        self.acknowledge(body)
        return path

    def start_run(self, header: Mapping[str, str | None]) -> None:
        """Reuse the spool, in which everything is acknowledged, for another run of this process."""
        encoded = encode_header(header)
        if not self.folder.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.folder))
        os.ftruncate(self._state, POSITION_BYTES)
        if os.pwrite(self._state, encoded, POSITION_BYTES) < len(encoded):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder))

    def waiting(self) -> int:
        """Return the number of unacknowledged bytes (approximate while another thread appends)."""
        return max(0, self.appended - self.freed - self._offset)

    @property
    def clean(self) -> bool:
        """Return whether no body was rejected."""
        return not (self.folder / "rejected.jsonl").exists()

    def close(self) -> None:
        """Close the files and release the lock; remove the folder if nothing is unsent or rejected."""
        empty = self.next() is None
        for descriptor in (self._writing, self._reading):
            if descriptor is not None:
                os.close(descriptor)
        if empty and self.clean:
            shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._state)

    def release_lock(self) -> None:
        """In a forked child: close its copy of the lock, so that it is released when the parent dies."""
        os.close(self._state)


def format_position(number: int, offset: int) -> bytes:
    """Encode the acknowledged position, the first line of the state file."""
    return b"%020d %020d\n" % (number, offset)


POSITION_BYTES = len(format_position(0, 0))


def encode_header(header: Mapping[str, str | None]) -> bytes:
    """Encode the header, which follows the position in the state file."""
    return json.dumps({**header, "began": time.time()}).encode()


def frame(body: bytes) -> bytes:
    """Return a body with its length and checksum."""
    return HEADER.pack(len(body), zlib.crc32(body)) + body


def read_body_at(descriptor: int, offset: int) -> bytes | None:
    """Return the body at `offset`; None if it is incomplete or invalid."""
    header = os.pread(descriptor, HEADER.size, offset)
    if len(header) < HEADER.size:
        return None
    length, checksum = HEADER.unpack(header)
    if not 0 < length <= os.fstat(descriptor).st_size - offset - HEADER.size:
        return None  # torn, or zeros after a power failure
    body = os.pread(descriptor, length, offset + HEADER.size)
    return body if len(body) == length and zlib.crc32(body) == checksum else None


def segment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}.spool"


def segment_numbers(folder: Path) -> list[int]:
    stems = (name.removesuffix(".spool") for name in os.listdir(folder) if name.endswith(".spool"))
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def create(root: Path, name: str, header: Mapping[str, str | None], *, limit: int) -> Spool:
    """Create a spool below `root`. Raises OSError if it cannot be written."""
    hidden = root / f".{name}"
    create_private_folder(root)
    hidden.mkdir(mode=PRIVATE_FOLDER)
    state = os.open(hidden / "state", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(state, fcntl.LOCK_EX | fcntl.LOCK_NB)
    content = format_position(1, 0) + encode_header(header)
    if os.write(state, content) < len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(hidden))
    folder = hidden.rename(root / name)  # visible to other processes only once it is locked
    return Spool(folder, state, limit=limit)


def take_over(folder: Path) -> Spool | None:
    """Lock a spool whose process has died; None if it is locked or not a spool."""
    try:
        state = os.open(folder / "state", os.O_RDWR)
    except OSError:
        return None
    try:
        fcntl.flock(state, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return Spool(folder, state, limit=0)  # nothing is appended any more
    except OSError:
        os.close(state)
        return None


def orphaned_spools(root: Path, wanted: Callable[[Mapping[str, Any]], bool]) -> Iterator[Spool]:
    """Yield, oldest first, the spools below `root` that no process has locked and whose header matches."""
    found: list[tuple[float, Path]] = []
    for name in os.listdir(root) if root.is_dir() else ():
        if not name.startswith("."):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # not a spool
                header = json.loads((root / name / "state").read_bytes()[POSITION_BYTES:])
                if wanted(header):
                    found.append((float(header["began"]), root / name))
    for _, folder in sorted(found):
        if (spool := take_over(folder)) is not None:
            yield spool

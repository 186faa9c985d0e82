"""The spool: what a process wants to send, in append-only files on local disk, until it is sent.

One folder a process, `HOST-PID-NONCE`:

    state              a line with file number and offset of what the server has acknowledged, then, in JSON,
                       whose it is: server, project, run; held (flock) by whoever sends, and freed by the
                       system when that process dies
    00000001.spool     bodies, each after its length and checksum; the next file begins when this one is full
    rejected.jsonl     bodies the server refused for good (in base64), with the reason it gave

An acknowledged file is removed. Reading again what was sent is harmless: every body carries its
batch_id, and the server takes each once. There are few files, for to make one takes a millisecond where
disks are slow.
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

SEGMENT_BYTES = 8 * 2**20
FRESH = 8  # bodies that are still in memory when it is their turn: they need not be read again
HEADER = struct.Struct("<II")  # length of the body, its CRC-32


class Spool:
    """One process's folder: one thread appends, one takes out; they share nothing but the files.

    `appended` and `freed` count bytes; each is written by one side only, so that no lock is needed. So
    are the ends of `fresh`: what was appended last, with the file and the offset at which it stands.
    """

    def __init__(self, folder: Path, state: int, *, limit: int) -> None:
        # bare descriptors: a forked child must find nothing that locks, or flushes when it is destroyed
        self.folder = folder
        self._state = state
        self._limit = limit
        self._segment_bytes = min(SEGMENT_BYTES, max(1, limit // 4))
        numbers = segments(folder)
        self.appended = sum(segment(folder, number).stat().st_size for number in numbers)
        self.freed = 0
        self._writing: int | None = None
        self._write_number = max(numbers, default=0)
        self._written = 0
        self._fresh: deque[tuple[int, int, bytes]] = deque()
        self._reading: int | None = None
        self._read_number, self._offset = self._recall(min(numbers, default=1))

    def _recall(self, first: int) -> tuple[int, int]:
        words = os.pread(self._state, PLACE_BYTES, 0).split()
        if len(words) == 2 and all(word.isdigit() for word in words) and int(words[0]) >= first:
            return int(words[0]), int(words[1])
        return first, 0

    def append(self, body: bytes) -> bool:
        """Write one body. False when the bound of the spool is reached; OSError as it comes.

        A body that could be written in part only (disk full) is cut off again.
        """
        head = HEADER.pack(len(body), zlib.crc32(body))
        size = len(head) + len(body)
        if self.appended - self.freed + size > self._limit:
            return False
        if self._writing is None or self._written >= self._segment_bytes:
            self._begin_segment()
        assert self._writing is not None
        try:
            if os.writev(self._writing, (head, body)) < size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder))
        except OSError:
            os.ftruncate(self._writing, self._written)
            raise
        if len(self._fresh) < FRESH:
            self._fresh.append((self._write_number, self._written, body))
        self._written += size
        self.appended += size
        return True

    def _begin_segment(self) -> None:
        path = segment(self.folder, self._write_number + 1)
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if self._writing is not None:
            os.close(self._writing)
        self._writing, self._written = opened, 0
        self._write_number += 1

    def next(self) -> bytes | None:
        """The oldest body not acknowledged, None when there is none (yet). The same until `done`."""
        while True:
            if (fresh := self._still_fresh(self._offset)) is not None:
                return fresh
            if self._reading is None:
                try:
                    self._reading = os.open(segment(self.folder, self._read_number), os.O_RDONLY)
                except FileNotFoundError:
                    return None
            # looked at first: what is appended before the next file begins must still be read here
            complete = segment(self.folder, self._read_number + 1).exists()
            body = body_at(self._reading, self._offset)
            if body is not None:
                return body
            if not complete:
                return None
            self._leave_segment()

    def following(self, most: int) -> list[bytes]:
        """As `next`, with those after it in the same file: up to `most` bytes, but one at least."""
        if (body := self.next()) is None:
            return []
        bodies, offset = [body], self._offset
        while True:
            offset += HEADER.size + len(body)
            found = self._still_fresh(offset)
            if found is None and self._reading is not None:
                found = body_at(self._reading, offset)
            if found is None or sum(map(len, bodies)) + len(found) > most:
                return bodies
            bodies.append(body := found)

    def _still_fresh(self, offset: int) -> bytes | None:
        """The body that stands at an offset of the file that is read, if it is in memory."""
        while self._fresh and self._fresh[0][:2] < (self._read_number, self._offset):
            self._fresh.popleft()
        for number, at, body in tuple(self._fresh):
            if (number, at) == (self._read_number, offset):
                return body
        return None

    def _leave_segment(self) -> None:
        """Everything in the file is acknowledged (a torn last one was never complete): remove it."""
        assert self._reading is not None
        size = os.fstat(self._reading).st_size
        os.close(self._reading)
        self._reading = None
        path = segment(self.folder, self._read_number)
        self._read_number, self._offset = self._read_number + 1, 0
        self._remember()
        path.unlink(missing_ok=True)
        self.freed += size

    def done(self, *bodies: bytes) -> None:
        """Acknowledge what `next` or `following` gave."""
        self._offset += sum(HEADER.size + len(body) for body in bodies)
        self._remember()

    def _remember(self) -> None:
        with contextlib.suppress(OSError):  # forgotten, it is sent once more, which changes nothing
            os.pwrite(self._state, place(self._read_number, self._offset), 0)

    def put_aside(self, body: bytes, reason: str) -> Path:
        """Keep a refused body with its reason, and go on behind it; returns where it is kept."""
        path = self.folder / "rejected.jsonl"
        with path.open("a") as file:
            file.write(json.dumps({"reason": reason, "body": base64.b64encode(body).decode()}) + "\n")
        self.done(body)
        return path

    def begin(self, header: Mapping[str, str | None]) -> None:
        """Another run of this process goes on with the spool, everything in which is acknowledged."""
        said = headed(header)
        if not self.folder.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.folder))
        os.ftruncate(self._state, PLACE_BYTES)
        if os.pwrite(self._state, said, PLACE_BYTES) < len(said):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder))

    def waiting(self) -> int:
        """Bytes not acknowledged yet (about: another thread may be appending)."""
        return max(0, self.appended - self.freed - self._offset)

    @property
    def clean(self) -> bool:
        """Whether nothing in it was refused."""
        return not (self.folder / "rejected.jsonl").exists()

    def close(self) -> None:
        """Let go of the folder; remove it when nothing in it is left to send or to look at."""
        empty = self.next() is None
        for descriptor in (self._writing, self._reading):
            if descriptor is not None:
                os.close(descriptor)
        if empty and self.clean:
            shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._state)

    def let_go(self) -> None:
        """In a forked child: close its copy of the lock, which is then freed when the parent dies."""
        os.close(self._state)


def place(number: int, offset: int) -> bytes:
    """What has been acknowledged, as the state begins."""
    return b"%020d %020d\n" % (number, offset)


PLACE_BYTES = len(place(0, 0))


def headed(header: Mapping[str, str | None]) -> bytes:
    """Whose a spool is, as its state says after the place."""
    return json.dumps({**header, "began": time.time()}).encode()


def framed(body: bytes) -> bytes:
    """A body as it stands in a file."""
    return HEADER.pack(len(body), zlib.crc32(body)) + body


def body_at(descriptor: int, offset: int) -> bytes | None:
    """The body that begins at `offset`, None where it does not stand there whole (yet)."""
    header = os.pread(descriptor, HEADER.size, offset)
    if len(header) < HEADER.size:
        return None
    length, checksum = HEADER.unpack(header)
    if not 0 < length <= os.fstat(descriptor).st_size - offset - HEADER.size:
        return None  # torn, or the zeros that a power failure leaves
    body = os.pread(descriptor, length, offset + HEADER.size)
    return body if len(body) == length and zlib.crc32(body) == checksum else None


def segment(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}.spool"


def segments(folder: Path) -> list[int]:
    stems = (name.removesuffix(".spool") for name in os.listdir(folder) if name.endswith(".spool"))
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def create(root: Path, name: str, header: Mapping[str, str | None], *, limit: int) -> Spool:
    """A new spool below `root`. Raises OSError where no file can be written."""
    hidden = root / f".{name}"
    hidden.mkdir(parents=True, mode=0o700)
    state = os.open(hidden / "state", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(state, fcntl.LOCK_EX | fcntl.LOCK_NB)
    content = place(1, 0) + headed(header)
    if os.write(state, content) < len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(hidden))
    folder = hidden.rename(root / name)  # others see the folder only once it is locked
    return Spool(folder, state, limit=limit)


def take_over(folder: Path) -> Spool | None:
    """A spool whose process is gone; None while someone holds it, or when it is none."""
    try:
        state = os.open(folder / "state", os.O_RDWR)
    except OSError:
        return None
    try:
        fcntl.flock(state, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return Spool(folder, state, limit=0)  # nothing is added to it any more
    except OSError:
        os.close(state)
        return None


def left_behind(root: Path, wanted: Callable[[Mapping[str, Any]], bool]) -> Iterator[Spool]:
    """The spools below `root` that no living process holds and whose header is `wanted`, oldest first."""
    found: list[tuple[float, Path]] = []
    for name in os.listdir(root) if root.is_dir() else ():
        if not name.startswith("."):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # it is no spool
                header = json.loads((root / name / "state").read_bytes()[PLACE_BYTES:])
                if wanted(header):
                    found.append((float(header["began"]), root / name))
    for _, folder in sorted(found):
        if (spool := take_over(folder)) is not None:
            yield spool

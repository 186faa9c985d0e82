"""Opens logs for reading; decompresses those that are packed with gzip, and recodes those in UTF-16 as UTF-8.

What is decompressed or recoded is a copy, and positions are those in the copy. Windows' shells write UTF-16.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import zlib
from collections.abc import Generator
from contextlib import closing, suppress
from pathlib import Path, PurePath
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, NamedTuple, cast

from typing_extensions import Buffer

from holter.ingest.array_lines import MOST_BYTES, without_open_array
from holter.types import Unreadable

HEAD_BYTES = 64 * 1024
MAX_UNPACKED_BYTES = 8 * 1024**3
_IN_MEMORY = 64 * 1024 * 1024
_CHUNK = 1024 * 1024
_HOLE = re.compile(rb"\0{64,}+|(?<=\n)\0++")
"""Zeros in a text: many, or at the beginning of a line. Other encodings have more of them elsewhere."""
_GZIP = 31  # zlib: the largest window, with gzip's header and trailer


class OpenedLog(NamedTuple):
    """A seekable stream of a log's bytes, and the problem of decompressing it, if there was one."""

    stream: BinaryIO
    problem: Unreadable | None = None


def open_log(path: Path) -> OpenedLog:
    """Open a log; a .gz is decompressed first, as far as it is intact, so that seeking in it is quick.

    Raises OSError where the file cannot be opened.
    """
    if path.suffix != ".gz":
        file = path.open("rb", buffering=0)
        codec = _codec(file)  # without a buffer, which would keep what a file had before it was rewritten
        stream = io.BufferedReader(file)
        return OpenedLog(stream if codec is None else _recoded(stream, codec))
    unpacked = cast(BinaryIO, SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 - the caller closes it
    problem, size = None, 0
    try:
        for chunk in _unpack(path):
            size += unpacked.write(chunk)
            if size > MAX_UNPACKED_BYTES:
                raise EOFError(f"it unpacks to more than {MAX_UNPACKED_BYTES} bytes")
    except (EOFError, zlib.error) as error:
        problem = Unreadable(
            location=f"unpacked byte {size}", reason=f"expected a complete gzip file: {error}"
        )
    except BaseException:
        unpacked.close()
        raise
    unpacked.seek(0)
    return OpenedLog(unpacked, problem)


def open_beginning(path: Path, size: int) -> tuple[OpenedLog, bool]:
    """Open the first `size` bytes of a log as if it ended there, decompressed; and whether there are more.

    Raises OSError where the file cannot be opened.
    """
    if path.suffix != ".gz":
        file = path.open("rb", buffering=0)
        is_longer = file.seek(0, os.SEEK_END) > size
        raw = _Beginning(file, size)
        codec, beginning = _codec(raw), io.BufferedReader(raw)
        return OpenedLog(beginning if codec is None else _recoded(beginning, codec)), is_longer
    unpacked = cast(BinaryIO, SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 - the caller closes it
    problem, is_longer = None, False
    try:
        with closing(_unpack(path)) as chunks:
            while not is_longer and (chunk := next(chunks, None)) is not None:
                unpacked.write(chunk)
                is_longer = unpacked.tell() > size
    except (EOFError, zlib.error) as error:
        location = f"unpacked byte {unpacked.tell()}"
        problem = Unreadable(location=location, reason=f"expected a complete gzip file: {error}")
    except BaseException:
        unpacked.close()
        raise
    if is_longer:
        unpacked.truncate(size)
    unpacked.seek(0)
    return OpenedLog(unpacked, problem), is_longer


def is_copy(stream: IO[bytes]) -> bool:
    """Whether a stream that was opened here has the content of a log, but is not its file."""
    return isinstance(stream, SpooledTemporaryFile)


def _codec(file: BinaryIO | io.RawIOBase) -> str | None:
    """The encoding that a mark at the beginning of a file states, None for UTF-8; it seeks there."""
    mark = file.read(4) or b""
    is_wide = mark.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and mark[2:4] != b"\0\0"
    file.seek(0)
    return "utf-16" if is_wide else None


def _recoded(file: BinaryIO, codec: str) -> BinaryIO:
    """The text of a file in UTF-8, up to the last complete character; the file is closed."""
    text = cast(BinaryIO, SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 - the caller closes it
    decoder = codecs.getincrementaldecoder(codec)("replace")
    with file:
        while chunk := file.read(_CHUNK):
            text.write(decoder.decode(chunk).encode("utf-8", "replace"))
    text.seek(0)
    return text


class WithLineEnd(io.RawIOBase):
    """A text that is complete, with an end of its last line or of an array if these have none."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._at = file, 0
        self._size = file.seek(0, os.SEEK_END)
        file.seek(max(0, self._size - MOST_BYTES))
        last = file.read(MOST_BYTES)
        self._end = b"" if last.endswith((b"\n", b"\r")) or not last else b"\n"
        if without_open_array(last + self._end) != last + self._end:
            self._end += b"]\n"

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer)
        self._file.seek(min(self._at, self._size))
        data = self._file.read(min(len(view), max(0, self._size - self._at)))
        if not data and self._at == self._size:
            data = self._end[: len(view)]
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size + len(self._end)}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        self._file.close()
        super().close()


class _Beginning(io.RawIOBase):
    """The first bytes of a file, as if it ended there."""

    def __init__(self, file: io.FileIO, size: int) -> None:
        self._file, self._size = file, min(size, file.seek(0, os.SEEK_END))
        file.seek(0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int | None:
        left = max(0, self._size - self._file.tell())
        return self._file.readinto(memoryview(buffer)[:left])

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        if whence == os.SEEK_END:
            offset, whence = self._size + offset, os.SEEK_SET
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()


def _unpack(path: Path) -> Generator[bytes, None, None]:
    """The content of a gzip file, every byte up to where it is cut off, which the gzip module would withhold.

    Raises zlib.error if it is damaged, EOFError if it ends too early.
    """
    decompressor = zlib.decompressobj(_GZIP)
    with path.open("rb") as packed:
        while chunk := packed.read(_CHUNK):
            while chunk:
                if decompressor.eof:  # a file may have several members, and zeros after the last one
                    chunk = chunk.lstrip(b"\0")
                    if not chunk:
                        break
                    decompressor = zlib.decompressobj(_GZIP)
                yield decompressor.decompress(chunk, _CHUNK)
                chunk = decompressor.unused_data if decompressor.eof else decompressor.unconsumed_tail
    if not decompressor.eof:
        raise EOFError("it ends in the middle")


def without_holes(head: bytes) -> bytes:
    """A part of a file in which runs of zeros that are in no other file than a text are empty lines.

    Where a log is emptied while a program writes to it, what it writes next is where it was, behind zeros.
    A few of them are between the lines of two programs that write to one file. Positions stay.
    """
    return _HOLE.sub(lambda hole: b"\n" * len(hole[0]), head) if b"\0" in head else head


def read_head(path: Path) -> bytes:
    """The first 64 KiB of a log, decompressed, as far as they are intact, `without_holes`."""
    return without_holes(_read_head(path))


def _read_head(path: Path) -> bytes:
    if path.suffix != ".gz":
        with path.open("rb") as file:
            codec = _codec(file)
            head = file.read(HEAD_BYTES)
        return head if codec is None else codecs.getincrementaldecoder(codec)("replace").decode(head).encode()
    head = b""
    with suppress(EOFError, zlib.error), closing(_unpack(path)) as chunks:
        for chunk in chunks:
            head += chunk
            if len(head) >= HEAD_BYTES:
                break
    return head[:HEAD_BYTES]


def uncompressed_name(path: PurePath) -> PurePath:
    """The path that formats get: without the suffix of its compression."""
    return path.with_suffix("") if path.suffix == ".gz" else path

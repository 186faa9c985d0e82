"""Opens logs for reading, and decompresses those that are packed with gzip."""

from __future__ import annotations

import zlib
from collections.abc import Generator
from contextlib import closing, suppress
from pathlib import Path, PurePath
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, NamedTuple, cast

from holter.types import Unreadable

HEAD_BYTES = 64 * 1024
MAX_UNPACKED_BYTES = 8 * 1024**3
_IN_MEMORY = 64 * 1024 * 1024
_CHUNK = 1024 * 1024
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
        return OpenedLog(path.open("rb"))
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


def read_head(path: Path) -> bytes:
    """The first 64 KiB of a log, decompressed, as far as they are intact."""
    if path.suffix != ".gz":
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
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

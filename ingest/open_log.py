"""Opens a log for reading, unpacking it where it is compressed."""

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
_GZIP = 31  # zlib's word for its largest window with gzip's header and trailer


class OpenedLog(NamedTuple):
    """A log ready to be read and sought in, and what was wrong with its packing, if anything."""

    stream: BinaryIO
    problem: Unreadable | None = None


def open_log(path: Path) -> OpenedLog:
    """Open a log; a .gz is unpacked first, as far as it is whole, so that it can be sought in quickly.

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
        problem = Unreadable(location=f"unpacked byte {size}", reason=f"expected a whole gzip file: {error}")
    except BaseException:
        unpacked.close()
        raise
    unpacked.seek(0)
    return OpenedLog(unpacked, problem)


def _unpack(path: Path) -> Generator[bytes, None, None]:
    """What a gzip file holds, every byte up to where it is torn, which the gzip module would keep back.

    Raises zlib.error where it is damaged, EOFError where it ends too early.
    """
    machine = zlib.decompressobj(_GZIP)
    with path.open("rb") as packed:
        while chunk := packed.read(_CHUNK):
            while chunk:
                if machine.eof:  # members may follow one another, and zeros the last
                    chunk = chunk.lstrip(b"\0")
                    if not chunk:
                        break
                    machine = zlib.decompressobj(_GZIP)
                yield machine.decompress(chunk, _CHUNK)
                chunk = machine.unused_data if machine.eof else machine.unconsumed_tail
    if not machine.eof:
        raise EOFError("it ends in the middle")


def read_head(path: Path) -> bytes:
    """The first 64 KiB of a log, unpacked; as far as they are whole."""
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
    """The path as formats see it: without the ending of its packing."""
    return path.with_suffix("") if path.suffix == ".gz" else path

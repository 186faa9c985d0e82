"""Opens a log for reading, unpacking it where it is compressed."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path, PurePath
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, NamedTuple, cast

from holter.types import Unreadable

HEAD = 64 * 1024
LARGEST_UNPACKED = 8 * 1024**3
_IN_MEMORY = 64 * 1024 * 1024
_CHUNK = 1024 * 1024


class Opened(NamedTuple):
    """A log ready to be read and sought in, and what was wrong with its packing, if anything."""

    stream: BinaryIO
    problem: Unreadable | None = None


def open_log(path: Path) -> Opened:
    """Open a log; a .gz is unpacked first, as far as it is whole, so that it can be sought in quickly.

    Raises OSError where the file cannot be opened.
    """
    if path.suffix != ".gz":
        return Opened(path.open("rb"))
    unpacked = cast(BinaryIO, SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 - the caller closes it
    problem = None
    size = 0
    try:
        with gzip.open(path) as packed:
            while chunk := packed.read(_CHUNK):
                size += unpacked.write(chunk)
                if size > LARGEST_UNPACKED:
                    raise gzip.BadGzipFile(f"it unpacks to more than {LARGEST_UNPACKED} bytes")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problem = Unreadable(place=f"unpacked byte {size}", reason=f"expected a whole gzip file: {error}")
    except BaseException:
        unpacked.close()
        raise
    unpacked.seek(0)
    return Opened(unpacked, problem)


def read_head(path: Path) -> bytes:
    """The first 64 KiB of a log, unpacked; empty where it is not a whole gzip block yet."""
    if path.suffix != ".gz":
        with path.open("rb") as file:
            return file.read(HEAD)
    try:
        with gzip.open(path) as packed:
            return packed.read(HEAD)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return b""


def plain_name(path: PurePath) -> PurePath:
    """The path as formats see it: without the ending of its packing."""
    return path.with_suffix("") if path.suffix == ".gz" else path

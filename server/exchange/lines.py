"""Lines of exported files, in bounded memory, and where in them something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import msgspec

AT_ONCE = 32_768
"""Points that are read together: as Python's objects they are large."""

LONGEST = 256 * 2**20
"""Bytes of a line, and of a document that must be read as a whole."""


def lines(file: BinaryIO) -> Iterator[bytes]:
    """Line by line. Raises ValueError where one is longer than any that an export has."""
    number = 0
    while line := file.readline(LONGEST):
        number += 1
        if len(line) == LONGEST:
            raise ValueError(f"line {number} has more than {LONGEST // 2**20} MiB")
        yield line


@contextmanager
def at(what: str, number: int) -> Iterator[None]:
    """Says where something was wrong, e.g. in which line: raises ValueError."""
    try:
        yield
    except KeyError as error:
        raise ValueError(f"{what} {number}: there is no {error}") from error
    except (msgspec.DecodeError, ValueError, TypeError, OverflowError, AttributeError) as error:
        raise ValueError(f"{what} {number}: {error}") from error

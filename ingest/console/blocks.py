"""Complete lines of a growing text in large blocks; progress bars end their lines with carriage returns."""

from __future__ import annotations

from typing import BinaryIO

from holter.ingest.lines import BLOCK, LONGEST_LINE


def read_text(stream: BinaryIO) -> bytes | None:
    """The next complete lines from the stream's position on, None if there is none yet.

    About `BLOCK` bytes. The stream is left right after them, or where it was. A line beyond
    `LONGEST_LINE` comes in pieces: nothing that says something is that long.
    """
    start = stream.tell()
    data = stream.read(BLOCK)
    while (end := _last_end(data)) == 0 and len(data) < LONGEST_LINE:
        more = stream.read(BLOCK)
        if not more:
            stream.seek(start)
            return None
        data += more
    if end == 0 or _last_end(data[:LONGEST_LINE]) == 0:
        end = LONGEST_LINE
    stream.seek(start + end)
    return data[:end]


def _last_end(data: bytes) -> int:
    """Where the last line that is complete ends, 0 without any."""
    return max(data.rfind(b"\n"), data.rfind(b"\r")) + 1

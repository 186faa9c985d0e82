"""Complete lines of a file that is being written, in bounded blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from holter.ingest.array_lines import join_arrays, without_open_array
from holter.ingest.decimal_commas import with_decimal_points
from holter.ingest.errors import ProblemBuffer
from holter.ingest.wrapped_lines import unwrap_lines

BLOCK = 128 * 1024
LONGEST_LINE = 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class LineBlock:
    """Some complete lines without their line ends; line `i` begins at byte `offsets[i]` of the stream.

    `offsets` has one entry more than there are lines: where the next line begins. `overlong`: the block
    stands for a single line (or a part of one) beyond `LONGEST_LINE`, which is not in `lines`; `ended` is
    False while the end of that line has not been reached.
    """

    lines: list[bytes]
    offsets: list[int]
    overlong: bool = False
    ended: bool = True


def read_block(stream: BinaryIO) -> LineBlock | None:
    """The next complete lines from the stream's position on, None if there is no complete line yet.

    A block has about `BLOCK` bytes, more only for a single long line. The stream is left right after the
    block, or where it was.
    """
    start = stream.tell()
    data = stream.read(BLOCK)
    while b"\n" not in data:
        if len(data) > LONGEST_LINE:
            return LineBlock(lines=[], offsets=[stream.tell()], overlong=True, ended=False)
        more = stream.read(BLOCK)
        if not more:
            stream.seek(start)
            return None
        data += more
    first, cut = data.find(b"\n"), data.rfind(b"\n")
    if first > LONGEST_LINE:
        stream.seek(start + first + 1)
        return LineBlock(lines=[], offsets=[start + first + 1], overlong=True)
    lines = data[:cut].split(b"\n")
    offsets = [start]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    stream.seek(offsets[-1])
    return LineBlock(lines=lines, offsets=offsets)


def skip_line(stream: BinaryIO) -> bool:
    """Skip the rest of a line that is too long to read; False if its end is not written yet."""
    while data := stream.read(BLOCK):
        if (cut := data.find(b"\n")) >= 0:
            stream.seek(stream.tell() - len(data) + cut + 1)
            return True
    return False


class LineBlocks:
    """Reads the blocks of a file one after another; a line that is too long is reported and skipped.

    `number` is that of the last line read; the caller advances it over the lines of each block.
    """

    def __init__(self, state: Mapping[str, Any], *, expected: str) -> None:
        self.number: int = state.get("line", 0)
        self._skipping: bool = state.get("skipping", False)
        self._expected = expected

    def state(self) -> dict[str, Any]:
        """The line number, and whether reading stopped in the middle of a line that is too long."""
        return {"line": self.number, **({"skipping": True} if self._skipping else {})}

    def next(self, stream: BinaryIO, problems: ProblemBuffer) -> LineBlock | None:
        """The next complete lines, None if there are none yet; a line that is too long counts as read."""
        if self._skipping and not skip_line(stream):
            return None
        self._skipping = False
        block = read_block(stream)
        if block is not None and block.overlong:
            self.number += 1
            self._skipping = not block.ended
            problems.add(f"line {self.number}", f"expected {self._expected}, found a line longer than 1 MiB")
        return block


def read_text_block(stream: BinaryIO) -> bytes | None:
    """The bytes of the next lines that a newline or a carriage return ends, None if there are none yet.

    A block has about `BLOCK` bytes; lines in records of log collectors are unwrapped, see `unwrap_lines`, and
    those of an array are one, see `join_arrays`. The stream is left right after it, or where it was. A line
    beyond `LONGEST_LINE` comes in pieces: no line that is worth parsing is that long. Progress bars end their
    lines with carriage returns. A zero is a newline: runs of them are where a log was emptied while a program
    wrote to it.
    """
    start = stream.tell()
    data = stream.read(BLOCK)
    while (end := _last_line_end(data)) == 0 and len(data) < LONGEST_LINE:
        more = stream.read(BLOCK)
        if not more:
            stream.seek(start)
            return None
        data += more
    if end == 0 or _last_line_end(data[:LONGEST_LINE]) == 0:
        end = LONGEST_LINE
    text = data[:end].replace(b"\0", b"\n") if b"\0" in data else data[:end]
    text = without_open_array(text)
    stream.seek(start + len(text))
    return as_printed(text) if text else None


def as_printed(text: bytes) -> bytes:
    """Complete lines as programs mean them: unwrapped, with arrays in one line and with decimal points."""
    return with_decimal_points(join_arrays(unwrap_lines(text)))


def line_around(text: bytes, first: int, last: int, begin: int = 0) -> tuple[int, int]:
    """Where the lines with the bytes from `first` to `last` begin and end, in a text `with_newlines`.

    `begin` is the beginning of a line before them: nothing before it is searched.
    """
    start, end = text.rfind(b"\n", begin, first) + 1, text.find(b"\n", last)
    return max(start, begin), len(text) if end < 0 else end


def _last_line_end(data: bytes) -> int:
    """Where the last complete line ends, 0 without any."""
    return max(data.rfind(b"\n"), data.rfind(b"\r")) + 1

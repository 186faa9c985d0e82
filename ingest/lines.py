"""Complete lines of a growing file, in bounded blocks that know where they end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from holter.ingest.errors import ProblemBuffer

BLOCK = 128 * 1024
LONGEST_LINE = 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class LineBlock:
    """Some complete lines without their line ends; line `i` begins at byte `offsets[i]` of the stream.

    `offsets` has one entry more than there are lines: where the next line begins. `overlong` says that
    the block stands for a single line (or a piece of one) beyond `LONGEST_LINE`, left out of `lines`;
    `ended` is False while the end of that line has not been seen.
    """

    lines: list[bytes]
    offsets: list[int]
    overlong: bool = False
    ended: bool = True


def read_block(stream: BinaryIO) -> LineBlock | None:
    """The next complete lines from the stream's position on, None if there is no complete line yet.

    About `BLOCK` bytes, more only for a single long line. The stream is left right after them, or where
    it was.
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
    """Pass over the rest of a line too long to read; False if its end is not there yet."""
    while data := stream.read(BLOCK):
        if (cut := data.find(b"\n")) >= 0:
            stream.seek(stream.tell() - len(data) + cut + 1)
            return True
    return False


class LineBlocks:
    """The blocks of a file, one after another; what is too long to be a line is told and passed over.

    `number` is that of the last line passed; who reads a block moves it on.
    """

    def __init__(self, state: Mapping[str, Any], *, expected: str) -> None:
        self.number: int = state.get("line", 0)
        self._skipping: bool = state.get("skipping", False)
        self._expected = expected

    def state(self) -> dict[str, Any]:
        """The line number, and whether it is in the middle of a line that is too long."""
        return {"line": self.number, **({"skipping": True} if self._skipping else {})}

    def next(self, stream: BinaryIO, problems: ProblemBuffer) -> LineBlock | None:
        """The next complete lines, None if there are none yet; a line too long counts as passed."""
        if self._skipping and not skip_line(stream):
            return None
        self._skipping = False
        block = read_block(stream)
        if block is not None and block.overlong:
            self.number += 1
            self._skipping = not block.ended
            problems.add(f"line {self.number}", f"expected {self._expected}, found a line longer than 1 MiB")
        return block

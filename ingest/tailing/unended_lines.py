"""Whether a last line without a line end is complete: `loss 2.3` may be the beginning of `loss 2.31`.

It is if lines above it have the same layout and end as it does: behind other text than a number, or with a
number of as many decimals. A bar that may be drawn once more is not.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from typing import BinaryIO

_MOST_BYTES = 16 * 1024
"""Of a last line, and of those above it that it is compared with."""
_LEAST_ALIKE = 3
"""Lines above that end with a number of so many decimals."""
_NUMBER = re.compile(rb"\d[\d.,:]*(?:[eE][-+]?\d+)?")


class EndedRest(io.BytesIO):
    """What is left of a text from a position on, with a line end; at the same positions as in the text.

    The text may still grow: the rest is a copy of it as it was when it was found complete. A text that
    is known to be complete has a `WithLineEnd` around it.
    """

    def __init__(self, rest: bytes, begin: int) -> None:
        super().__init__(rest + b"\n")
        self._begin, self.size = begin, begin + len(rest)

    def tell(self) -> int:
        return self._begin + super().tell()

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._begin + super().seek(offset - (whence == os.SEEK_SET) * self._begin, whence)


def complete_rest(stream: BinaryIO) -> EndedRest | None:
    """What is left of a text if that is one complete line; the position of the stream does not change."""
    position = stream.tell()
    rest = stream.read(_MOST_BYTES + 1)
    stream.seek(max(0, position - _MOST_BYTES))
    above = stream.read(position - stream.tell())
    is_line = rest.strip() and len(rest) <= _MOST_BYTES and b"\n" not in rest and above.endswith(b"\n")
    is_complete = is_line and _is_complete(rest, above.split(b"\n")[:-1])
    return EndedRest(rest, position) if is_complete else None


def _is_complete(line: bytes, above: Sequence[bytes]) -> bool:
    layout = _layout(line)
    others = [(other, _layout(other)) for other in above]
    alike = [other for other, its_layout in others if its_layout == layout]
    if not alike or any(its.startswith(layout) and its != layout for _, its in others):
        return False
    if not layout.endswith(b"0"):
        return True
    decimals = {_decimals(other) for other in alike}
    return len(alike) >= _LEAST_ALIKE and decimals == {_decimals(line)} and decimals != {0}


def _layout(line: bytes) -> bytes:
    """A line with the same number in place of each of its numbers, without spaces."""
    return _NUMBER.sub(b"0", line.translate(None, b" \t\r"))


def _decimals(line: bytes) -> int:
    """How long the last number of a line is behind its point; 0 if it is a whole one."""
    last = _NUMBER.findall(line)[-1]
    return len(last.rpartition(b".")[2]) if b"." in last else 0

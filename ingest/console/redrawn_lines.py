"""Which lines of a text were drawn over the one before them: a carriage return alone is between the two."""

from __future__ import annotations

import re

_RETURN_ALONE = re.compile(rb"\r(?!\n)")


class RedrawnLines:
    """The lines of a block that were drawn over others; `is_next` says whether the next one will be."""

    def __init__(self, *, is_next: bool) -> None:
        self.is_next = is_next
        self._block, self._begin = b"", 0
        self.has_any = is_next

    def begin_block(self, block: bytes, begin: int) -> None:
        """The lines of a block come next; it begins at this position of the stream."""
        self._block, self._begin = block, begin
        self.has_any = self.is_next or _RETURN_ALONE.search(block) is not None

    def end_block(self, size: int) -> None:
        """So many bytes of the block were read."""
        self.is_next = self._block[size - 1 : size] == b"\r" if size else self.is_next

    def is_at(self, start: int) -> bool:
        """Whether the line that begins there in the stream was drawn over another."""
        if not self.has_any or start < self._begin:
            return False
        place = start - self._begin
        return self._block[place - 1 : place] == b"\r" if place else self.is_next

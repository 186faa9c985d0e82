"""Lines that programs draw again, such as bars: what a launcher prints stands before the first alone.

`trainer-1  | ` comes once before all that is drawn up to the next newline, whoever reads the text in pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from holter.ingest.console.stored_state import labels_from_json
from holter.ingest.console.text.prefixes import CleanLine, strip_prefixes
from holter.types import Labels

_NEWLINE, _RETURN = b"\n\r"
_FIRST = re.compile(rb"[^\r\n]{0,4096}")
"""What was drawn first."""
_REDRAWN = re.compile(rb"\r(?!\n)")


class RedrawnLines:
    """Which lines are drawn over others, and the labels before the first of those that are drawn in one.

    `_open` are those of the line that the text before ended in, None behind a newline. The block, which
    begins at `_offset` of the text, is looked at up to `_position`, where a line with `_labels` continues.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._open = labels_from_json(state.get("redrawn"))
        self._block, self._offset, self._position = b"", 0, 0
        self._labels: Labels = ()
        self.has_any = False

    def state(self) -> dict[str, Any]:
        """What is known of a line that continues, as JSON-able values."""
        return {} if self._open is None else {"redrawn": self._open}

    def begin_block(self, block: bytes, offset: int) -> None:
        """The next block of the text, at this offset of it, is read from its beginning."""
        self._block, self._offset, self._position = block, offset, 0
        self._labels = self._open or ()
        self.has_any = self._open is not None or _REDRAWN.search(block) is not None

    def is_at(self, place: int) -> bool:
        """Whether the line that begins there in the text is drawn over another."""
        position = place - self._offset
        if not self.has_any or position < 0:
            return False
        return self._block[position - 1] == _RETURN if position else self._open is not None

    def with_labels(self, line: CleanLine, place: int) -> CleanLine:
        """A line at a place of the text with the labels before the first of those that it is drawn with."""
        labels = line.labels or self._labels_at(place)
        return line if labels is line.labels else line._replace(labels=labels)

    def _labels_at(self, place: int) -> Labels:
        """The labels of the line that is drawn again at a place of the text; none of any other line."""
        position = place - self._offset
        if self._block[position - 1] == _NEWLINE if position else self._open is None:
            return ()
        self._advance(position)
        return self._labels

    def parts(
        self, parts: Iterable[tuple[int, int, Labels]], places: Sequence[int]
    ) -> list[tuple[int, int, Labels]]:
        """Parts of lines with the same labels, those of lines that are drawn again by what is before these.

        Each is the number of its first line, and that behind its last one; the lines are at these places.
        """
        lines = [(line, labels) for first, last, labels in parts for line in range(first, last)]
        labelled = (
            (line, labels or self._labels_at(place))
            for (line, labels), place in zip(lines, places, strict=True)
        )
        groups = [[*group] for _, group in groupby(labelled, key=itemgetter(1))]
        return [(group[0][0], group[-1][0] + 1, group[0][1]) for group in groups]

    def end_block(self, size: int) -> None:
        """So much of the block was read: the next one begins there.

        Lines that are read later, as those that waited for their counter, are of no block.
        """
        if size:
            self._advance(size)
            self._open = None if self._block[size - 1] == _NEWLINE else self._labels
        self._block, self.has_any = b"", False

    def _advance(self, position: int) -> None:
        """Look for the line that continues at a position of the block."""
        begin = self._block.rfind(b"\n", self._position, position) + 1
        if begin or (not self._position and self._open is None):
            first = _FIRST.match(self._block, begin, max(begin, position))
            self._labels = strip_prefixes(first[0]).labels if first is not None else ()
        self._position = position

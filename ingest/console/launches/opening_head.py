"""The parts of the lines above the first record, of which those that are printed once show another launch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from holter.ingest.console.launches.opening_lines import piece_of

_MAX_BYTES = 32 * 1024
"""Of the text above the first record; what is below them is none of the opening of a program."""
_MAX_PIECES = 12
_MAX_SHORT = 3
_SHORT = re.compile(rb"[ \t]*[A-Za-z][\w./:-]{2,39}[ \t]*")
"""A line of one word."""


class OpeningPieces(NamedTuple):
    """The opening lines that later ones are compared with.

    Where each was printed several times, it `is_repeated`: by launches that printed no record, or by workers
    that print what their parent does. `first` is the first line of the program, if it was printed several
    times and others once. Where all lines are short, such as the name of a model, it `is_short`.
    """

    pieces: list[bytes]
    first: bytes = b""
    is_repeated: bool = False
    is_short: bool = False


class OpeningHead:
    """How often each part of these lines was printed; `_short` are lines of one word."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._counts = {piece.encode("latin-1"): count for piece, count in state.get("head", ())}
        self._short = [piece.encode("latin-1") for piece in state.get("short head", ())]
        self._size: int = state.get("size", 0)

    def state(self) -> dict[str, Any]:
        """What later lines are compared with, as JSON-able values; nothing if no line was read."""
        if not self._size:
            return {}
        known: dict[str, Any] = {"size": self._size}
        if self._counts:
            known["head"] = [[piece.decode("latin-1"), count] for piece, count in self._counts.items()]
        if self._short:
            known["short head"] = [piece.decode("latin-1") for piece in self._short]
        return known

    @property
    def has_pieces(self) -> bool:
        """Whether any part of a line is known."""
        return bool(self._counts)

    @property
    def is_complete(self) -> bool:
        """Whether further lines are none of the opening."""
        return self._size >= _MAX_BYTES

    def end(self) -> None:
        """Note that further lines are none of the opening: an epoch begins."""
        self._size = _MAX_BYTES

    def pass_over(self, line: bytes) -> None:
        """Note a line of which no part is compared, or which is counted below."""
        self._size += len(line)

    def count(self, line: bytes) -> bool:
        """Count the part of a line; returns whether it has none that could be counted, and is not known."""
        known = [piece for piece in self._counts if piece in line]
        for piece in known:
            self._counts[piece] += 1
        if known or len(self._counts) >= _MAX_PIECES:
            return False
        if piece := piece_of(line):
            self._counts[piece] = 1
            return False
        if len(self._short) < _MAX_SHORT and _SHORT.fullmatch(line) is not None:
            self._short.append(line)
        return True

    def pieces(self) -> OpeningPieces:
        """The lines that later ones are compared with, at the first record."""
        once = [piece for piece, count in self._counts.items() if count == 1]
        if once:
            first = next(iter(self._counts))
            return OpeningPieces(once, first=b"" if first in once else first)
        if self._counts or not self._short:
            return OpeningPieces([*self._counts], is_repeated=True)
        return OpeningPieces(self._short, is_short=True)

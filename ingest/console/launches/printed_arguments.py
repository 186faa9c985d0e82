"""The arguments that a program prints as it starts, and whether other ones are printed below its records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.ingest.console.launches.opening_lines import ARGUMENTS, arguments_of


class PrintedArguments:
    """How often arguments were printed above the first record, and a digest of the last ones."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._count, self._last = state.get("arguments", (0, 0))

    def state(self) -> dict[str, Any]:
        """What later lines are compared with, as JSON-able values."""
        return {"arguments": [self._count, self._last]} if self._count else {}

    def count(self, line: bytes) -> None:
        """Note a line above the first record."""
        if ARGUMENTS in line:
            self._count, self._last = self._count + 1, arguments_of(line)

    def came_again(self, block: bytes, begin: int, end: int) -> bool:
        """Whether a part of a block states arguments: others, or the ones that were printed once so far.

        Workers that import the program, for each epoch anew, may print those of their parent.
        """
        if not self._count:
            return False
        while (at := block.find(ARGUMENTS, begin, end)) >= 0:
            begin = at + len(ARGUMENTS)
            line = block[at : (block.find(b"\n", at, end) + 1 or end)]
            if self._count == 1 or arguments_of(line) != self._last:
                return True
        return False

"""Many patterns searched for in one pass over a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import re2  # type: ignore[import-untyped]


class AtOnce:
    """Which of some patterns a text holds, by one automaton of all of them.

    A search for each by itself costs a pass over the text a pattern; there are dozens, and most texts
    hold one or none. What RE2 has no word for (a look ahead, a search that is no pattern) may be anywhere.
    """

    def __init__(self, patterns: Sequence[object]) -> None:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        self._set: Any = re2.Set.SearchSet(options)
        self._members: list[int] = []
        self._others: list[int] = []
        for place, pattern in enumerate(patterns):
            (self._members if self._add(pattern) else self._others).append(place)
        if self._members:
            self._set.Compile()

    def _add(self, pattern: object) -> bool:
        if not isinstance(pattern, re.Pattern):
            return False
        if pattern.flags and not pattern.pattern.startswith(b"(?"):  # flags that its text does not tell
            return False
        try:
            self._set.Add(pattern.pattern)
        except re2.error:
            return False
        return True

    def within(self, text: bytes) -> list[int]:
        """Which patterns may be found in a text, by their places, ascending; none that is there lacks."""
        found = (self._set.Match(text) or ()) if self._members else ()
        return sorted([*(self._members[member] for member in found), *self._others])

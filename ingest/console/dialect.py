"""What a framework prints: the kinds of its lines that say something, each with how it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from holter.types import Labels

Memory = dict[str, Any]
"""What earlier lines said that later ones rest on, e.g. the step of a block; JSON-able values."""


class Said(NamedTuple):
    """What one line says: values at a step. `time` is Unix seconds, NaN where the line has no clock.

    `labels` are those of the values where the line says itself whose they are, beside its printer's rank.
    """

    step: int
    values: Mapping[str, float]
    time: float = float("nan")
    labels: Labels | None = None


@dataclass(frozen=True, kw_only=True)
class LineKind:
    """One kind of line.

    `mark` is searched for in whole blocks of text, so it begins with a few plain characters, which is
    what makes the search fast. `read` gets the line without colours and prefixes; None where it says
    nothing after all.
    """

    mark: re.Pattern[bytes]
    read: Callable[[str, Memory], Said | list[Said] | None]


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """One framework's way of printing.

    A text is taken for it where `tell` is found in it, `times` times. `kinds` are tried in their order:
    the first whose mark a line bears reads it.
    """

    name: str
    tell: re.Pattern[bytes]
    kinds: tuple[LineKind, ...]
    times: int = 1

    def speaks_in(self, text: bytes) -> bool:
        """Whether a text is in this dialect."""
        return len(list(islice(self.tell.finditer(text), self.times))) == self.times

    def beside(self, *others: Dialect) -> Dialect:
        """This dialect in programs that print lines of others as well."""
        return replace(self, kinds=(*self.kinds, *(kind for other in others for kind in other.kinds)))

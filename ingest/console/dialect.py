"""What a framework prints: the kinds of its lines that say something, each with how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, Protocol

from holter.types import ConfigValue, Labels

DialectState = dict[str, Any]
"""What earlier lines said that later ones rest on, e.g. the step of a block; JSON-able values."""


class LineValues(NamedTuple):
    """What one line says: values at a step. `time` is Unix seconds, NaN where the line has no clock.

    `labels` are those of the values where the line says itself whose they are, beside its printer's rank.
    """

    step: int
    values: Mapping[str, float]
    time: float = float("nan")
    labels: Labels | None = None


class TextMatch(Protocol):
    """A place in a text, as `re.Match` tells it."""

    def start(self) -> int:
        """Its first byte."""
        ...

    def end(self) -> int:
        """The byte after it."""
        ...


class TextPattern(Protocol):
    """What finds places in a text: a compiled pattern, or what does as one."""

    def finditer(self, string: bytes, /) -> Iterator[TextMatch]:
        """Every place, in their order."""
        ...

    def search(self, string: bytes, /) -> TextMatch | None:
        """The first one."""
        ...


class LineSettings(NamedTuple):
    """What one line says of the launch itself: names of settings with their values.

    Without `labels` they are the job's, and of processes that print the same the first one's word counts;
    what may differ between processes is stated with labels, e.g. its rank.
    """

    config: Mapping[str, ConfigValue]
    labels: Labels | None = None


LineResult = (
    LineValues | LineSettings | list[LineValues] | list[LineSettings] | list[LineValues | LineSettings] | None
)
"""What a line says; None where it says nothing after all."""


@dataclass(frozen=True, kw_only=True)
class LineKind:
    """One kind of line.

    `mark` is searched for in whole blocks of text, so it begins with a few plain characters, which is
    what makes the search fast. `read` gets the line without colours and prefixes. One that may return
    `Stated` is marked with `states`: what stands behind it speaks of the launch that it announces. What
    such a kind says besides, and all that one says which is `aside`, has steps of its own. One that wants
    the line `whole` gets it with what stands before it.

    One `of_job` speaks for all processes, whoever prints it: it rests on what the run's voice said, and its
    labels are complete.
    """

    pattern: TextPattern
    parse: Callable[[str, DialectState], LineResult]
    yields_settings: bool = False
    own_steps: bool = False
    job_wide: bool = False
    with_prefixes: bool = False


@dataclass(frozen=True, kw_only=True)
class ConsoleDialect:
    """One framework's way of printing.

    A text is taken for it where `tell` is found in it, `times` times. One that `is_supplement` has what other
    logs of a run lack (see `Content.SUPPLEMENT`). `kinds` are tried in their order:
    the first whose mark a line bears reads it.
    """

    name: str
    signature: TextPattern
    kinds: tuple[LineKind, ...]
    min_matches: int = 1
    is_supplement: bool = False

    def matches(self, text: bytes) -> bool:
        """Whether a text is in this dialect."""
        return len(list(islice(self.signature.finditer(text), self.min_matches))) == self.min_matches

    def followed_by(self, *others: ConsoleDialect) -> ConsoleDialect:
        """This dialect in programs that print lines of others as well."""
        return replace(self, kinds=(*self.kinds, *(kind for other in others for kind in other.kinds)))

    def preceded_by(self, *others: ConsoleDialect) -> ConsoleDialect:
        """This dialect where lines of others are read as theirs first."""
        return replace(self, kinds=(*(kind for other in others for kind in other.kinds), *self.kinds))

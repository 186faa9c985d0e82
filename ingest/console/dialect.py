"""Dialects of console logs: the lines that a framework prints, and the functions that parse them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, Protocol

from holter.ingest.console.layouts.line_layouts import LineLayout
from holter.ingest.console.text.messages import LineTexts, texts_alone
from holter.ingest.console.text.prefixes import CleanLine
from holter.ingest.rows import LogRow
from holter.ingest.text_encoding import decode_line
from holter.types import ConfigValue, Labels

DialectState = dict[str, Any]
"""What earlier lines stated and later ones depend on, e.g. the step of a block; JSON-able values."""


class LineValues(NamedTuple):
    """Values at a step, from one line. `time` is in Unix seconds, NaN where the line has no clock.

    `labels` are those that the line itself gives its values, in addition to the rank of the process that
    printed it; None where it gives none. `is_late`: an earlier line had them, so that their step, which goes
    back, shows no restart. `is_running`: they are those of a step that is not complete, and replaced later.
    `is_provisional`: those of a later line replace them, or they replace those of the line before. `begins`:
    another process printed them, so that they are the first ones of another launch.
    """

    step: int
    values: Mapping[str, float]
    time: float = float("nan")
    labels: Labels | None = None
    is_late: bool = False
    is_running: bool = False
    is_provisional: bool = False
    begins: bool = False

    @property
    def may_go_back(self) -> bool:
        """Whether the series of the first process may have later points; labels are of another training."""
        return self.is_running or (self.is_late and not self.labels)


class LineSettings(NamedTuple):
    """Settings of a launch by name, from one line.

    Without `labels` they are those of the whole job: if several processes print the same setting, the first
    one counts. A setting that may differ between processes has labels, e.g. its rank.
    """

    config: Mapping[str, ConfigValue]
    labels: Labels | None = None


LineResult = (
    LineValues | LineSettings | list[LineValues] | list[LineSettings] | list[LineValues | LineSettings] | None
)
"""What a line was parsed into; None where it holds nothing after all."""


class TextMatch(Protocol):
    """The position of a match in a text, as `re.Match` gives it."""

    def start(self) -> int:
        """The first byte of the match."""
        ...

    def end(self) -> int:
        """The byte after the match."""
        ...


class TextPattern(Protocol):
    """A compiled pattern, or an object that searches texts like one."""

    def finditer(self, string: bytes, /) -> Iterator[TextMatch]:
        """All matches, in their order."""
        ...

    def search(self, string: bytes, /) -> TextMatch | None:
        """The first match."""
        ...


class EpochLines(NamedTuple):
    """What lines count within epochs, each with its total, and hold; `inner` is None for an evaluation."""

    epochs: Sequence[tuple[int, int]]
    inner: Sequence[tuple[int, int]] | None
    times: Sequence[float]
    values: Sequence[Mapping[str, float]]


class LineTable(Protocol):
    """Lines of one layout in their order, whose numbers are parsed; steps depend on the lines around."""

    @property
    def has_values(self) -> bool:
        """Whether the lines have values, so that each is a record if it has a step."""
        ...

    @property
    def announces_steps(self) -> bool:
        """Whether the lines have no values and announce steps, which the next line with values forgets."""
        ...

    def rows(self, first: int, last: int, state: DialectState) -> list[LogRow | None]:
        """What the lines from `first` to `last` hold, None for a line that holds nothing after all.

        Lines of any layout are asked for in their order; `state` is that of the process that printed these.
        """
        ...

    def counts_on(self, state: DialectState) -> bool:
        """Whether each line has values and counts its step, and this state has nothing else about it."""
        ...

    @property
    def steady_rows(self) -> Sequence[LogRow]:
        """What all lines hold, where they count on."""
        ...

    @property
    def within_epochs(self) -> EpochLines | None:
        """The lines, where they count steps within epochs, or are of an evaluation and count none."""
        ...

    def step_of(self, line: int) -> int:
        """The step that a line counts, where lines count these alone."""
        ...

    def by_process(self, first: int, last: int) -> Sequence[tuple[int, int, Labels]]:
        """The lines from `first` to `last` in parts with the same labels in their prefixes."""
        ...

    def of_lines(self, lines: Sequence[int]) -> LineTable:
        """Some of these lines, as a table of their own."""
        ...


LinesOfProcess = tuple[LineTable, int, int, Labels]
"""Lines of a table with the same labels: the first one, the one behind the last, and the labels."""


class LineColumns(Protocol):
    """Parses many lines of one layout at once, with the same result as parsing each by itself."""

    def layout_of(self, line: bytes) -> LineLayout | None:
        """The layout of a line as it was printed; None if its lines must be parsed by themselves."""
        ...

    def table(self, layout: LineLayout, rows: Sequence[tuple[bytes, ...]]) -> LineTable:
        """The lines of a layout; `rows` are the groups of its pattern in each of them."""
        ...


@dataclass(frozen=True, kw_only=True)
class LineKind:
    """One kind of line.

    `pattern` is searched for in large blocks of text, so it begins with a few literal characters, which is
    what makes the search fast, and takes linear time in any text. `parse` gets the line without colours and
    prefixes; `with_prefixes`: as it was printed. What `parse` raises is reported as that line being
    unreadable, and reading continues behind it. `of_message`: the message alone, without what loggers print
    before it, either. The pattern is searched for in such lines, too.

    `yields_settings`: `parse` may return `LineSettings`. What follows such a line belongs to the launch that
    it announces. The values of such a kind, and those of one with `own_steps`, have steps of their own.

    `job_wide`: the line speaks for all processes, whoever prints it. It is parsed with the state of the
    process whose series are unlabelled, and its labels are complete.

    `in_blocks`: lines of such kinds below one another belong together; `parse` finds in the state whether the
    line `is near` the one before.

    `collects`: the lines are parts of a record that a later line completes, so that none opens a launch.

    `may_be_above`: the lines may belong to a counter below them, or have such a counter.

    `names_training`: the lines name the training below them; of all processes where the one that printed a
    line has no label, such as the one that starts the others.

    `columns` parses lines below one another that differ in their numbers alone. `any_program`: its pattern is
    that of many lines, most of which hold nothing.

    `begin_launch` removes from the state what does not hold for another launch of the program; `may_begin`
    notes that one may have begun. `release` removes records that wait for a line that states their step, and
    returns them at the most likely one.
    """

    pattern: TextPattern
    parse: Callable[[str, DialectState], LineResult]
    yields_settings: bool = False
    own_steps: bool = False
    job_wide: bool = False
    with_prefixes: bool = False
    of_message: bool = False
    columns: LineColumns | None = None
    any_program: bool = False
    in_blocks: bool = False
    collects: bool = False
    names_training: bool = False
    may_be_above: bool = False
    begin_launch: Callable[[DialectState], None] | None = None
    may_begin: Callable[[DialectState], None] | None = None
    release: Callable[[DialectState], list[LineValues]] | None = None

    def __hash__(self) -> int:
        return hash(self.parse)  # of all fields, it would take longer than to read a small file

    def searched(self, texts: LineTexts) -> bytes:
        """The text that the pattern is searched for in."""
        if self.with_prefixes:
            return texts.printed
        return texts.messages if self.of_message else texts.bare

    def parsed_text(self, printed: bytes, line: CleanLine) -> str:
        """What is parsed of a line."""
        if self.with_prefixes:
            return decode_line(printed)
        return line.message if self.of_message else line.text

    @property
    def is_apart(self) -> bool:
        """Whether values of a line are at steps of their own, or among settings: they begin no launch."""
        return self.yields_settings or self.own_steps


@dataclass(frozen=True, kw_only=True)
class ConsoleDialect:
    """The lines that one framework prints.

    A text is in this dialect if `signature` matches it at least `min_matches` times. A dialect that
    `is_supplement` has what other logs of a run lack (see `Content.SUPPLEMENT`). `kinds` are tried in their
    order: the first whose pattern matches a line parses it. `of_messages`: the signature is that of messages,
    without what stands before them.
    """

    name: str
    signature: TextPattern
    kinds: tuple[LineKind, ...]
    min_matches: int = 1
    is_supplement: bool = False
    of_messages: bool = False

    def __hash__(self) -> int:
        return hash(self.name)  # see `LineKind`

    @cached_property
    def numbers(self) -> Mapping[LineKind, int]:
        """The kinds in their order, with their numbers."""
        return {kind: number for number, kind in enumerate(self.kinds)}

    def matches(self, text: bytes) -> bool:
        """Whether a text is in this dialect."""
        searched = self.searched(texts_alone(text))
        return len(list(islice(self.signature.finditer(searched), self.min_matches))) == self.min_matches

    def searched(self, texts: LineTexts) -> bytes:
        """The text that the signature is searched for in."""
        return texts.messages if self.of_messages else texts.bare

    def of_any_logger(self) -> ConsoleDialect:
        """This dialect of lines that any launcher or logger may print something before."""
        kinds = (kind if kind.with_prefixes else replace(kind, of_message=True) for kind in self.kinds)
        return replace(self, kinds=tuple(kinds), of_messages=True)

    def followed_by(self, *others: ConsoleDialect) -> ConsoleDialect:
        """This dialect extended by the lines of others, which are tried after its own."""
        return replace(self, kinds=(*self.kinds, *(kind for other in others for kind in other.kinds)))

    def preceded_by(self, *others: ConsoleDialect) -> ConsoleDialect:
        """This dialect extended by the lines of others, which are tried before its own."""
        return replace(self, kinds=(*(kind for other in others for kind in other.kinds), *self.kinds))

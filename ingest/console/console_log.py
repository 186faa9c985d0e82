"""Console logs: the lines of a program's output that tell of a step, whatever stands between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import PurePath
from typing import Any, BinaryIO

from holter.attempts.config_values import config_from_json, config_to_json
from holter.ingest.console.blocks import read_text
from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineSettings, LineValues
from holter.ingest.console.pattern_search import line_matcher
from holter.ingest.console.prefixes import CleanLine, strip_prefixes
from holter.ingest.format import Content, FormatRole
from holter.ingest.redaction import without_secrets
from holter.ingest.rows import LogRow, batch_from_rows
from holter.ingest.step_columns import LARGEST_STEP
from holter.types import Batch, ConfigKey, ConfigValue, Labels, Unreadable, labels_of

_OTHERS = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".yaml", ".yml", ".toml", ".xml", ".html"})
_PRINTERS = 4096
"""Prefixes whose lines are told apart; further ones share what they remember."""


class ConsoleLog:
    """What a program prints in one framework's dialect, into a file of any name."""

    def __init__(self, dialect: ConsoleDialect, before: tuple[ConsoleDialect, ...] = ()) -> None:
        self._dialect = dialect
        self._before = before

    @property
    def name(self) -> str:
        """The dialect's name."""
        return self._dialect.name

    @property
    def role(self) -> FormatRole:
        """Text with the run's own curves, or with what its other logs lack."""
        content = Content.SUPPLEMENT if self._dialect.is_supplement else Content.TRAINING
        return FormatRole(content=content, in_text=True)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """Text with a line of this dialect, and none of a dialect that comes before it."""
        if path.suffix.lower() in _OTHERS or b"\0" in head or not self._dialect.matches(head):
            return False
        return not any(other.matches(head) for other in self._before)

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> ConsoleReader:
        """A reader that goes on from `state`."""
        return ConsoleReader(self._dialect, {} if "rewritten" in state else state)


@dataclass(slots=True)
class ParsedLines:
    """What some lines say: rows, and what was stated of their launch before them.

    `told`: some of the rows tell of a launch, so that what is stated behind them is of what follows.
    """

    rows: list[LogRow] = field(default_factory=list)
    config: dict[ConfigKey, ConfigValue] = field(default_factory=dict)
    told: bool = False

    def batches(self) -> Iterator[Batch]:
        """What was heard as a batch, none for nothing."""
        if self.rows or self.config:
            yield batch_from_rows(self.rows, config=self.config)


class ConsoleReader:
    """Reads one growing text.

    Ranks that print side by side give each series a rank; the first process that speaks is the run's
    voice: its series carry no label, and once others speak it appears among the ranks as well. What is
    stated of the whole job is taken from the first process that does so.
    """

    def __init__(self, dialect: ConsoleDialect, state: Mapping[str, Any]) -> None:
        self._marks = line_matcher(dialect.kinds)
        self._memories: dict[str, DialectState] = {
            printer: dict(memory) for printer, memory in state.get("memories", {}).items()
        }
        self._voice = _labels(state.get("voice"))
        self._herald = _labels(state.get("herald"))
        self._several: bool = state.get("several", False)
        self._announced = config_from_json(
            state.get("announced", ())
        )  # stated of what follows, not given yet

    def state(self) -> Mapping[str, Any]:
        """What earlier lines said that later ones rest on, and who speaks."""
        announced = {"announced": config_to_json(self._announced)} if self._announced else {}
        return {
            "memories": {printer: dict(memory) for printer, memory in self._memories.items() if memory},
            "voice": self._voice,
            "herald": self._herald,
            "several": self._several,
            **announced,
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield what the complete lines say; see `Reader`."""
        while (block := read_text(stream)) is not None:
            heard = ParsedLines()
            taken = self.hear(block, heard)
            if taken < len(block):
                stream.seek(stream.tell() - len(block) + taken)
            yield from heard.batches()
        yield from self.last().batches()

    def last(self) -> ParsedLines:
        """What was stated of a launch of which nothing else is known yet."""
        heard, self._announced = ParsedLines(config=self._announced), {}
        return heard

    def hear(self, block: bytes, heard: ParsedLines) -> int:
        """Take in what some complete lines say; how many bytes of them.

        Those are fewer where a line states something behind rows that tell of a launch: it is the last one
        then, and what it states comes with what follows.
        """
        heard.config |= self._announced
        self._announced = {}
        for start, line, kind in self._marks.lines(block):
            found = strip_prefixes(line)
            text = line.decode("utf-8", "replace") if kind.with_prefixes else found.text
            memory = self._memory((self._voice or ()) if kind.job_wide else found.labels)
            try:
                words = kind.parse(text, memory)
            except OverflowError:  # a number that no float holds: no framework printed that
                continue
            for one in words if isinstance(words, list) else (words,):
                if isinstance(one, LineSettings):
                    if not kind.yields_settings:
                        raise TypeError(f"{kind} states {one.config}, expected `yields_settings=True`")
                    self._state(one, found, self._announced if heard.told else heard.config)
                elif one is not None and one.values and abs(one.step) <= LARGEST_STEP:
                    # a line's own clock tells no zone
                    time = one.time if isnan(found.time) else found.time
                    for labels in self._labels_of(one, kind, found):
                        heard.rows.append(LogRow(one.step, time, one.values, labels))
                    heard.told |= not (kind.yields_settings or kind.own_steps)
            if self._announced:
                return min(len(block), start + len(line) + 1)
        return len(block)

    def _state(self, stated: LineSettings, line: CleanLine, config: dict[ConfigKey, ConfigValue]) -> None:
        if stated.labels is not None:
            labels = _own(stated, line)
        else:
            labels = ()
            if self._herald is None:
                self._herald = line.labels
            if line.labels != self._herald:
                return
        for name, value in without_secrets(stated.config).items():
            config[ConfigKey(name, labels)] = value

    def _labels_of(self, said: LineValues, kind: LineKind, line: CleanLine) -> tuple[Labels, ...]:
        if kind.job_wide:
            return (said.labels or (),)
        return self._kept(line.labels) if said.labels is None else (_own(said, line),)

    def _memory(self, printer_labels: Labels) -> DialectState:
        printer = "/".join(value for _, value in printer_labels)
        if printer not in self._memories and len(self._memories) >= _PRINTERS:
            printer = ""
        return self._memories.setdefault(printer, {})

    def _kept(self, labels: Labels) -> tuple[Labels, ...]:
        """The labels under which the values of the process with these labels are kept."""
        if self._voice is None:
            self._voice = labels
        if labels != self._voice:
            self._several = True
            return (labels,)
        return ((), labels) if self._several and labels else ((),)


def _labels(stored: Sequence[Sequence[str]] | None) -> Labels | None:
    return None if stored is None else tuple((name, value) for name, value in stored)


def _own(said: LineValues | LineSettings, line: CleanLine) -> Labels:
    """The labels that a line gives its values itself; the rank that its launcher names is the job's."""
    labels = said.labels or ()
    rank = next((label for label in line.labels if label[0] == "rank"), None)
    return labels if rank is None or rank in labels else labels_of({**dict(labels), rank[0]: rank[1]})

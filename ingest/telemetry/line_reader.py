"""Reading lines that tell of machines, one after the other, with what the machines are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

from holter.ingest.errors import ProblemBuffer
from holter.ingest.lines import LineBlocks
from holter.ingest.rows import LogRow, batch_from_rows
from holter.ingest.telemetry.timestamped import Counted, LocalClock
from holter.types import Batch, ConfigKey, ConfigValue, Unreadable

_MOST_STATED = 4096


class LineReader(ABC):
    """Reads one growing text line by line; see `Reader`.

    `clock` reads its times, `counted` numbers what has none, `problems` takes what cannot be read.
    """

    expected = "a line"

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.lines = LineBlocks(state, expected=self.expected)
        self.problems = ProblemBuffer(state)
        self.clock, self.counted = LocalClock(state), Counted(state)
        self._stated: dict[str, ConfigValue] = dict(state.get("stated", {}))
        self._fresh: dict[ConfigKey, ConfigValue] = {}

    @abstractmethod
    def rows(self, line: str) -> Iterator[LogRow]:
        """What a line says."""

    @abstractmethod
    def own_state(self) -> Mapping[str, Any]:
        """What later lines rest on, beside the clock and the counts."""

    def state(self) -> Mapping[str, Any]:
        """The line number, the clock, what has been stated of machines, and what is still to be told."""
        stated = {"stated": dict(self._stated)} if self._stated else {}
        parts = self.lines, self.problems, self.clock, self.counted
        return {
            **self.own_state(),
            **stated,
            **{name: what for part in parts for name, what in part.state().items()},
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield what the complete lines say; see `Reader`."""
        yield from self.problems.drain()
        while (block := self.lines.next(stream, self.problems)) is not None:
            rows: list[LogRow] = []
            for line in block.lines:
                self.lines.number += 1
                rows += self.rows(line.decode("utf-8", "replace").rstrip("\r"))
            stream.seek(block.offsets[-1])
            if rows or self._fresh:
                config, self._fresh = self._fresh, {}
                yield replace(batch_from_rows(rows), config=config)
            yield from self.problems.drain()

    def blame(self, reason: str) -> None:
        """The line just read cannot be read."""
        self.problems.add(f"line {self.lines.number}", reason)

    def state_that(self, key: ConfigKey, value: ConfigValue) -> None:
        """Something that the text says of a machine; once said it is said again only when it changes."""
        name = str(key)
        if self._stated.get(name) == value or (
            name not in self._stated and len(self._stated) >= _MOST_STATED
        ):
            return
        self._stated[name] = self._fresh[key] = value

"""Base classes of telemetry readers: one for lines, one for consecutive JSON documents."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

import msgspec

from holter.ingest.errors import ProblemBuffer
from holter.ingest.lines import LineBlocks
from holter.ingest.rows import LogRow, batch_from_rows
from holter.ingest.telemetry.timestamped import SampleCounter, TimestampParser
from holter.types import Batch, ConfigKey, ConfigValue, Unreadable

_MAX_SETTINGS = 4096


class LineReader(ABC):
    """Reads one text that is being written, line by line; see `Reader`.

    `timestamps` parses its times, `samples` counts the samples without a time, `problems` collects lines that
    cannot be read.
    """

    expected = "a line"

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.lines = LineBlocks(state, expected=self.expected)
        self.problems = ProblemBuffer(state)
        self.timestamps, self.samples = TimestampParser(state), SampleCounter(state)
        self._stated: dict[str, ConfigValue] = dict(state.get("stated", {}))
        self._changed: dict[ConfigKey, ConfigValue] = {}

    @abstractmethod
    def rows(self, line: str) -> Iterator[LogRow]:
        """The rows of a line."""

    @abstractmethod
    def own_state(self) -> Mapping[str, Any]:
        """State of the subclass that later lines depend on, as JSON-able values."""

    def state(self) -> Mapping[str, Any]:
        """The line number, the last time, the settings read so far, and the problems not reported yet."""
        stated = {"stated": dict(self._stated)} if self._stated else {}
        parts = self.lines, self.problems, self.timestamps, self.samples
        return {
            **self.own_state(),
            **stated,
            **{name: value for part in parts for name, value in part.state().items()},
        }

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the rows and settings of the complete lines; see `Reader`."""
        yield from self.problems.drain()
        while (block := self.lines.next(stream, self.problems)) is not None:
            rows: list[LogRow] = []
            for line in block.lines:
                self.lines.number += 1
                try:
                    rows += self.rows(line.decode("utf-8", "replace").rstrip("\r"))
                except Exception as error:
                    self.problems.add_failure(f"line {self.lines.number}", self.expected, error)
            stream.seek(block.offsets[-1])
            if rows or self._changed:
                config, self._changed = self._changed, {}
                yield replace(batch_from_rows(rows), config=config)
            yield from self.problems.drain()

    def report(self, reason: str) -> None:
        """Report that the current line cannot be read."""
        self.problems.add(f"line {self.lines.number}", reason)

    def add_setting(self, key: ConfigKey, value: ConfigValue) -> None:
        """Yield a setting of a machine with the next batch, unless it has this value already."""
        name = str(key)
        if self._stated.get(name) == value or (
            name not in self._stated and len(self._stated) >= _MAX_SETTINGS
        ):
            return
        self._stated[name] = self._changed[key] = value


_MAX_DOCUMENT_LENGTH = 512 * 1024
_decode = msgspec.json.Decoder().decode


class JsonDocumentReader(LineReader):
    """Reads one text of JSON documents, each of one line or more, that begin and end with a line.

    A date on a line between two documents is the time of those below it.
    """

    expected = "a document"

    def __init__(self, state: Mapping[str, Any]) -> None:
        super().__init__(state)
        self.time: float = state.get("moment", float("nan"))
        self._partial: str = state.get("begun", "")

    @abstractmethod
    def document_rows(self, document: Any) -> Iterator[LogRow]:
        """The rows of a document."""

    def own_state(self) -> Mapping[str, Any]:
        """The last time between documents, and the part of an incomplete document."""
        time = {} if math.isnan(self.time) else {"moment": self.time}
        return {**time, **({"begun": self._partial} if self._partial else {})}

    def rows(self, line: str) -> Iterator[LogRow]:
        """The rows of the document that this line completes."""
        if line[:1] in ("{", "["):
            if self._partial:
                self.report("expected the end of the document above, found the beginning of another")
            self._partial = ""
        elif not self._partial:
            time = self.timestamps.parse(line[:100])
            self.time = self.time if math.isnan(time) else time
            return
        self._partial += line + "\n"
        if len(self._partial) > _MAX_DOCUMENT_LENGTH:
            self._partial = ""
            self.report(f"expected a document of at most {_MAX_DOCUMENT_LENGTH} characters")
        elif line[-1:] in ("}", "]") and line[:1] in ("{", "[", "}", "]"):
            text, self._partial = self._partial, ""
            try:
                document = _decode(text)
            except (msgspec.DecodeError, RecursionError) as error:
                self.report(f"expected a document; {error}"[:200])
                return
            yield from self.document_rows(document)

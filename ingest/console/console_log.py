"""Console logs: the printed lines of a program that state a step, whatever other text is between them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from holter.ingest.console.console_reader import ConsoleReader
from holter.ingest.console.dialect import ConsoleDialect
from holter.ingest.format import Content, FormatRole
from holter.ingest.lines import as_printed
from holter.ingest.wrapped_lines import is_wrapped

_OTHER_SUFFIXES = frozenset(
    {".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".yaml", ".yml", ".toml", ".xml", ".html"}
)


class ConsoleLog:
    """The output of a program in one framework's dialect, in a file of any name."""

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
        """Text in this dialect, and in none of those that come before it."""
        if b"\0" in head or (path.suffix.lower() in _OTHER_SUFFIXES and not is_wrapped(head)):
            return False
        head = _unwrapped_head(head)
        if not self._dialect.matches(head):
            return False
        return not any(other.matches(head) for other in self._before)

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> ConsoleReader:
        """A reader that resumes from `state`."""
        return ConsoleReader(self._dialect, {} if "rewritten" in state else state)


@lru_cache(maxsize=2)
def _unwrapped_head(head: bytes) -> bytes:
    """Text as `read_text_block` has it."""
    return as_printed(head)

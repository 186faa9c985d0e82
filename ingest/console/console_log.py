"""Console logs: the printed lines of a program that state a step, whatever other text is between them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from holter.ingest.console.console_reader import ConsoleReader
from holter.ingest.console.dialect import ConsoleDialect
from holter.ingest.console.search.pattern_search import possible_dialects
from holter.ingest.console.text.messages import texts_alone
from holter.ingest.format import Content, FormatRole
from holter.ingest.lines import as_printed
from holter.ingest.wrapped_lines import is_wrapped

_OTHER_SUFFIXES = frozenset(
    {".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".yaml", ".yml", ".toml", ".xml", ".html"}
)


class ConsoleLog:
    """The output of a program in one framework's dialect, in a file of any name.

    A text in several of the dialects `among` which this one is tried is in the first of them.
    """

    def __init__(self, dialect: ConsoleDialect, among: tuple[ConsoleDialect, ...] = ()) -> None:
        self._dialect = dialect
        self._among = among or (dialect,)

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
        """Text in this dialect, and in none of those that are tried before it."""
        if b"\0" in head or (path.suffix.lower() in _OTHER_SUFFIXES and not is_wrapped(head)):
            return False
        return _first_dialect(self._among, _unwrapped_head(head)) == self._dialect.name

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> ConsoleReader:
        """A reader that resumes from `state`."""
        return ConsoleReader(self._dialect, {} if "rewritten" in state else state)


@lru_cache(maxsize=2)
def _unwrapped_head(head: bytes) -> bytes:
    """Text as `read_text_block` has it."""
    return as_printed(head)


@lru_cache(maxsize=4)  # each of the dialects asks
def _first_dialect(dialects: tuple[ConsoleDialect, ...], text: bytes) -> str:
    """The name of the first of some dialects that a text is in; nothing if it is in none."""
    possible = possible_dialects(dialects, texts_alone(text))
    return next((dialect.name for dialect in possible if dialect.matches(text)), "")

"""Custom formats: lines that are parsed by the patterns of a user's settings (docs/formats.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holter.custom_format import LABEL_GROUPS, METRIC, STEP, TIME, VALUE, CustomFormat, compiled
from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues, TextMatch
from holter.ingest.console.text.prefixes import strip_prefixes
from holter.ingest.console.text.values import parse_number, parse_time
from holter.ingest.names import storable_label
from holter.types import Labels, labels_of

_NOT_METRICS = frozenset({STEP, TIME, METRIC, VALUE}) | LABEL_GROUPS
_COLOURED_LINE = re.compile(rb"(?m)^[^\n\x1b]*+\x1b[^\n]*+")
_MAX_SECONDS = 1e11
"""Unix seconds; larger numbers are milliseconds."""


def custom_dialect(custom: CustomFormat) -> ConsoleDialect:
    """A dialect of console logs whose lines are those that match the patterns of a custom format."""
    kinds = tuple(_line_kind(pattern, custom) for pattern in custom.every_pattern)
    steps = [pattern for pattern in custom.every_pattern if STEP in compiled(pattern).groupindex]
    return ConsoleDialect(name=f"house/{custom.name}", signature=UnanchoredPattern(steps[0]), kinds=kinds)


def _line_kind(pattern: str, custom: CustomFormat) -> LineKind:
    search = compiled(pattern.encode())  # a pattern of text would encode the line for each search
    groups = tuple((name.decode(), number) for name, number in search.groupindex.items())
    return LineKind(pattern=UnanchoredPattern(pattern), parse=_PatternParser(search, groups, custom))


class UnanchoredPattern:
    """Searches for a pattern in a block of lines that may still have a launcher's prefixes and colours."""

    def __init__(self, pattern: str) -> None:
        # a prefix may come before what `^` refers to, a carriage return after what `$` refers to
        unanchored = pattern.removeprefix("^")
        if unanchored.endswith("$") and not unanchored.endswith(r"\$"):
            unanchored = unanchored[:-1]
        self._pattern = compiled(unanchored.encode(), in_lines=True)

    def finditer(self, text: bytes, /) -> Iterator[TextMatch]:
        """The positions where it may match; of lines with colours, these lines."""
        lines, end = text.replace(b"\r", b"\n"), 0
        for coloured in _COLOURED_LINE.finditer(lines) if b"\x1b" in text else ():
            yield from self._pattern.finditer(lines, end, coloured.start())
            end = coloured.end()
            if self._pattern.search(strip_prefixes(coloured[0]).text.encode()) is not None:
                yield coloured
        yield from self._pattern.finditer(lines, end)

    def search(self, text: bytes, /) -> TextMatch | None:
        """The first of these positions."""
        return next(self.finditer(text), None)


@dataclass(frozen=True)
class _PatternParser:
    """Parses a line by the groups of a pattern."""

    pattern: Any
    groups: tuple[tuple[str, int], ...]
    custom: CustomFormat

    def __call__(self, line: str, state: DialectState) -> LineValues | None:
        match = self.pattern.search(line.encode("utf-8", "replace"))
        if match is None:
            return None
        groups = {name: match[number].decode() for name, number in self.groups if match[number] is not None}
        step = _step(groups.get(STEP), state)
        if step is None:
            return None
        values = dict(_values(groups, self.custom))
        return LineValues(step, values, _time(groups.get(TIME), line), _labels(groups, self.custom.labels))


def _step(text: str | None, state: DialectState) -> int | None:
    """The step in a line, else the last one of an earlier line; None if there is none."""
    if text is None:
        last: int | None = state.get(STEP)
        return last
    value = parse_number(text)
    if value is None or value != value // 1:
        return None
    state[STEP] = int(value)
    return int(value)


def _values(groups: Mapping[str, str], custom: CustomFormat) -> Iterator[tuple[str, float]]:
    texts = {
        custom.names.get(name, name): text
        for name, text in groups.items()
        if name not in _NOT_METRICS and name not in custom.labels
    }
    if METRIC in groups and VALUE in groups:
        texts[groups[METRIC]] = groups[VALUE]
    for name, text in texts.items():
        value = parse_number(text.rstrip(",;"))
        if value is not None:
            yield name, value


def _time(text: str | None, line: str) -> float:
    """Unix seconds; without a group for the time the first date of the line, as in all dialects."""
    if text is None:
        return parse_time(line)
    value = parse_number(text)
    if value is None:
        return parse_time(text)
    return value / 1000 if value > _MAX_SECONDS else value


def _labels(groups: Mapping[str, str], names: Sequence[str]) -> Labels | None:
    """The labels in the line itself; None if it has none and its values get those of the printing process."""
    labels = {name: groups[name] for name in (*LABEL_GROUPS, *names) if groups.get(name)}
    if "rank" in labels and labels["rank"].isdecimal():
        labels["rank"] = str(int(labels["rank"]))
    return labels_of({name: storable_label(text) for name, text in labels.items()}) or None

"""A house's own lines, as patterns of its settings say them (docs/formats.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holter.custom_format import LABEL_GROUPS, METRIC, STEP, TIME, VALUE, HouseFormat, compiled
from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues, TextMatch
from holter.ingest.console.prefixes import strip_prefixes
from holter.ingest.console.values import parse_number, parse_time
from holter.ingest.names import storable_label
from holter.types import Labels, labels_of

_NOT_METRICS = frozenset({STEP, TIME, METRIC, VALUE}) | LABEL_GROUPS
_LINE = re.compile(rb"[^\r\n]+")
_LATEST = 1e11
"""Unix seconds; larger numbers are milliseconds."""


def custom_dialect(house: HouseFormat) -> ConsoleDialect:
    """A dialect of console logs whose lines are those that the patterns fit."""
    kinds = tuple(_kind(pattern, house) for pattern in house.every_pattern)
    steps = [pattern for pattern in house.every_pattern if STEP in compiled(pattern).groupindex]
    return ConsoleDialect(name=f"house/{house.name}", signature=UnanchoredPattern(steps[0]), kinds=kinds)


def _kind(pattern: str, house: HouseFormat) -> LineKind:
    searched = compiled(pattern.encode())  # text would be encoded for each search
    groups = tuple((name.decode(), at) for name, at in searched.groupindex.items())
    return LineKind(pattern=UnanchoredPattern(pattern), parse=_Reading(searched, groups, house))


class UnanchoredPattern:
    """Finds a pattern in a block of lines that may still have a launcher's prefixes and colours."""

    def __init__(self, pattern: str) -> None:
        # a prefix stands before what `^` means, a carriage return may stand behind what `$` means
        unbound = pattern.removeprefix("^")
        if unbound.endswith("$") and not unbound.endswith(r"\$"):
            unbound = unbound[:-1]
        self._pattern = compiled(unbound.encode(), in_lines=True)

    def finditer(self, text: bytes, /) -> Iterator[TextMatch]:
        """The places where it may fit; of lines with colours between, the whole line."""
        if b"\x1b" not in text:
            yield from self._pattern.finditer(text.replace(b"\r", b"\n"))
            return
        for line in _LINE.finditer(text):
            if self._pattern.search(strip_prefixes(line[0]).text.encode()) is not None:
                yield line

    def search(self, text: bytes, /) -> TextMatch | None:
        """The first of them."""
        return next(self.finditer(text), None)


@dataclass(frozen=True)
class _Reading:
    """Reads a line by a pattern's groups."""

    pattern: Any
    groups: tuple[tuple[str, int], ...]
    house: HouseFormat

    def __call__(self, line: str, state: DialectState) -> LineValues | None:
        match = self.pattern.search(line.encode("utf-8", "replace"))
        if match is None:
            return None
        groups = {name: match[at].decode() for name, at in self.groups if match[at] is not None}
        step = _step(groups.get(STEP), state)
        if step is None:
            return None
        values = dict(_values(groups, self.house))
        return LineValues(step, values, _time(groups.get(TIME), line), _labels(groups, self.house.labels))


def _step(text: str | None, state: DialectState) -> int | None:
    """The step that a line names, else the one before it; None where there is none."""
    if text is None:
        before: int | None = state.get(STEP)
        return before
    value = parse_number(text)
    if value is None or value != value // 1:
        return None
    state[STEP] = int(value)
    return int(value)


def _values(groups: Mapping[str, str], house: HouseFormat) -> Iterator[tuple[str, float]]:
    told = {
        house.names.get(name, name): text
        for name, text in groups.items()
        if name not in _NOT_METRICS and name not in house.labels
    }
    if METRIC in groups and VALUE in groups:
        told[groups[METRIC]] = groups[VALUE]
    for name, text in told.items():
        value = parse_number(text.rstrip(",;"))
        if value is not None:
            yield name, value


def _time(text: str | None, line: str) -> float:
    """Unix seconds; without a group for it the first date of the line, as everywhere."""
    if text is None:
        return parse_time(line)
    value = parse_number(text)
    if value is None:
        return parse_time(text)
    return value / 1000 if value > _LATEST else value


def _labels(groups: Mapping[str, str], more: Sequence[str]) -> Labels | None:
    """The labels that a line gives its values itself, None for none: then they are its printer's."""
    own = {name: groups[name] for name in (*LABEL_GROUPS, *more) if groups.get(name)}
    if "rank" in own and own["rank"].isdecimal():
        own["rank"] = str(int(own["rank"]))
    return labels_of({name: storable_label(text) for name, text in own.items()}) or None

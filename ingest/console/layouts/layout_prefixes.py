"""The prefixes of lines of one layout: their labels and times, as columns.

Lines of many ranks, or with the time of a container runtime or a logger before them, are of one layout: the
digits of their prefixes are slots like the numbers behind them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from math import isnan

from holter.ingest.console.layouts.layout_slots import Piece, PrefixSlot, StampSlot
from holter.ingest.console.text.prefixes import COLOUR, CleanLine, parse_stamp, strip_prefixes
from holter.ingest.console.text.values import begins_with_year, find_time, parse_time, parse_year_first
from holter.types import Labels

_DIGIT = re.compile(r"[0-9]")
_ANY_STAMP = "2026-01-01T00:00:00"
_MAX_PREFIXES = 4096


@dataclass(frozen=True, slots=True, eq=False)
class LinePrefix:
    """What the prefixes of lines of one layout are; `groups` of the layout's pattern belong to them.

    `rest` is what follows the prefix of one of the lines. Without groups of a launcher, all of them have
    `labels`. What a logger printed is in another group behind these, if `clock` states where its time is.
    """

    of_launcher: int
    labels: Labels
    rest: str
    zone: str
    clock: slice | None = None
    is_logged: bool = False
    _known: dict[tuple[bytes, ...], Labels] = field(default_factory=dict)

    def labels_of(self, columns: Sequence[Sequence[bytes]]) -> list[Labels] | None:
        """The labels of some lines by the groups of their prefixes; None if those are the same for all."""
        if not self.of_launcher:
            return None
        keys = (
            zip(columns[0], strict=True)
            if self.of_launcher == 1
            else zip(columns[0], columns[2], strict=True)
        )
        return [self._known[key] if key in self._known else self._labels(key) for key in keys]

    def times_of(self, columns: Sequence[Sequence[bytes]]) -> list[float] | None:
        """The times in the prefixes, in Unix seconds, NaN for those that are none; None without times."""
        if self.of_launcher < 3:
            return None
        stamps = map(bytes.decode, columns[1])
        return [parse_stamp(stamp[:19], stamp[19:], self.zone) for stamp in stamps]

    def logged_times(self, columns: Sequence[Sequence[bytes]]) -> list[float] | None:
        """The times that a logger printed, which state no zone; None without any."""
        if self.clock is None:
            return None
        times = [text[self.clock] for text in columns[self.of_launcher]]
        if begins_with_year(times[0].decode()):
            return list(map(parse_year_first, times))
        return [parse_time(time.decode()) for time in times]

    def times_around(self, columns: Sequence[Sequence[bytes]], own: list[float]) -> list[float]:
        """The times of some lines, whose messages have their `own`, NaN without any.

        Those of a launcher count first, as they state their zone, and those of a logger last.
        """
        if (logged := self.logged_times(columns)) is not None:
            own = [time if isnan(stated) else stated for time, stated in zip(logged, own, strict=True)]
        if (stamps := self.times_of(columns)) is not None:
            own = [time if isnan(stamp) else stamp for stamp, time in zip(stamps, own, strict=True)]
        return own

    @property
    def groups(self) -> int:
        """How many of the groups belong to it."""
        return self.of_launcher + self.is_logged

    def _labels(self, key: tuple[bytes, ...]) -> Labels:
        if len(self._known) >= _MAX_PREFIXES:
            self._known.clear()
        parts = [part.decode() for part in key]
        prefix = parts[0] if len(parts) == 1 else f"{parts[0]}{_ANY_STAMP}{self.zone}{parts[1]}"
        labels = self._known[key] = strip_prefixes((prefix + self.rest).encode()).labels
        return labels


class PrefixedLines:
    """Who printed the lines of a layout."""

    def __init__(self, prefix: LinePrefix, columns: Sequence[Sequence[bytes]]) -> None:
        self._labels, self._of_lines = prefix.labels, prefix.labels_of(columns)
        self._are_labelled = bool(self._labels or (self._of_lines and self._of_lines[0]))

    def by_process(self, first: int, last: int) -> Sequence[tuple[int, int, Labels]]:
        """The lines from `first` to `last` in parts with the same labels."""
        labels = self._of_lines
        if labels is None or not self._are_labelled:
            return ((first, last, self._labels),)
        if last - first == 1:
            return ((first, last, labels[first]),)
        ends = [line for line in range(first + 1, last) if labels[line] is not labels[line - 1]]
        return [(begin, end, labels[begin]) for begin, end in zip([first, *ends], [*ends, last], strict=True)]

    def of_lines(self, lines: Sequence[int]) -> PrefixedLines:
        """Some of these lines."""
        some = copy(self)
        if self._of_lines is not None:
            some._of_lines = [self._of_lines[line] for line in lines]
        return some


def prefix_shape(line: CleanLine) -> str:
    """The prefix of a line with zeros for its digits, and without the fraction of its second."""
    prefix = line.prefix
    if line.stamp is not None:
        begin, zone, _ = line.stamp
        prefix = prefix[: begin + len(_ANY_STAMP)] + prefix[zone:]
    return _DIGIT.sub("0", f"{prefix}\n{line.logged}")


def with_prefix_slots(pieces: Sequence[Piece], line: CleanLine) -> tuple[list[Piece], LinePrefix] | None:
    """The pieces of a line with slots in its prefix, and what these are; None where there is nothing to vary.

    The prefix of a line with colours in it stays as it is; one may come before it.
    """
    first, rest = pieces[0], line.text
    if not isinstance(first, str):
        return None
    colour = COLOUR.match(first)
    before = colour[0] if colour is not None else ""
    first = first[len(before) :]
    is_plain = first.startswith(line.prefix)
    size = len(line.prefix) if is_plain else _printed_size(first, len(line.prefix))
    end = _printed_size(first, len(line.prefix) + len(line.logged))
    logged, clock = first[size:end], None
    is_logged = _DIGIT.search(logged) is not None
    behind: list[Piece] = [PrefixSlot(logged) if is_logged else logged, first[end:], *pieces[1:]]
    if is_logged and (time := find_time(logged)) is not None:
        clock = slice(len(logged[: time.start()].encode()), len(logged[: time.end()].encode()))
    if not is_plain or _DIGIT.search(line.prefix) is None:
        fixed = LinePrefix(0, line.labels, rest, "", clock, is_logged)
        return ([before, first[:size], *behind], fixed) if is_logged and line.stamp is None else None
    if line.stamp is None:
        return [before, PrefixSlot(line.prefix), *behind], LinePrefix(1, (), rest, "", clock, is_logged)
    begin, zone_begin, zone_end = line.stamp
    zone = line.prefix[zone_begin:zone_end]
    slots: list[Piece] = [
        before,
        PrefixSlot(line.prefix[:begin]),
        StampSlot(line.prefix[begin:zone_begin], zone),
        PrefixSlot(line.prefix[zone_end:]),
    ]
    return [*slots, *behind], LinePrefix(3, (), rest, zone, clock, is_logged)


def _printed_size(text: str, size: int) -> int:
    """How many characters the first ones of a text take with the colours between them."""
    for colour in COLOUR.finditer(text):
        if colour.start() >= size:
            break
        size += len(colour[0])
    return size


def fixed_prefix(line: CleanLine) -> LinePrefix:
    """That of lines that all have the same prefix."""
    return LinePrefix(0, line.labels, line.text, "")

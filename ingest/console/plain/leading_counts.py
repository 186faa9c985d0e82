"""Rows that begin with a bare number that counts, between other lines: `12 | loss 8.4`, `12, loss = 8.4`.

The number may as well be that of the process which printed the row. It counts if it rises from row to row
beyond what processes in turn have: evenly in steps of more than one, behind a bar or a comma, or for longer
than a node has processes. The rows before that is known wait for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from holter.ingest.console.dialect import DialectState, LineKind, LineResult, LineValues
from holter.ingest.console.line.line_settings import is_row_of_model
from holter.ingest.console.plain.plain_line import axis_state

_ROW = re.compile(
    r"[ \t]{0,12}(?P<count>\d{1,9})"
    r"(?:[ \t]{0,4}(?P<sign>[|,>])[ \t]{0,4}(?=[A-Za-z])"
    r"|[ \t]{1,4}(?=[A-Za-z][\w/.-]{0,40}(?: ?[:=])? ?[-+.\d]))"
    r"(?P<rest>.*)"
)
"""Behind a blank alone the name of a value follows: `3 correct, loss: 0.5` is about three of something."""
_LEAST_SHOWN = 3
"""Rows that show that their numbers count, where those of processes are not written so."""
_LEAST_RISING = 9
"""The same elsewhere: one more than a node usually has processes."""
_COUNTS = "counts ahead"
_POSITIONS_ABOVE = ("announced", "heading")
"""What the state has below a line that states the position of the rows."""


def or_counted(kind: LineKind, parse_record: Callable[[str, DialectState], LineResult]) -> LineKind:
    """A kind whose lines may begin with what they count where it reads nothing from them.

    `parse_record` parses such a line once its count has a name: `step 12 | loss 8.4`.
    """

    def parse(line: str, state: DialectState) -> LineResult:
        match = _ROW.match(line)
        if match is None or is_row_of_model(line):
            return kind.parse(line, state)
        counts = state.setdefault(_COUNTS, {"waiting": [], "shown": False})
        if counts["shown"]:
            return parse_record(_with_name(match), state)
        found = kind.parse(line, state)
        axis = axis_state(state)
        if found is not None and not axis.keys().isdisjoint(_POSITIONS_ABOVE):
            counts["waiting"] = []
            return found
        _note(match, counts)
        if not counts["shown"]:
            return found
        *first, last = counts.pop("waiting")
        earlier = [] if found else [values for row in first for values in _listed(parse_record(row, state))]
        return [
            *(values._replace(is_late=True) for values in earlier),
            *_listed(parse_record(last, state)),
        ]

    return replace(kind, parse=parse)


def _with_name(match: re.Match[str]) -> str:
    return f"step {match['count']} {match['sign'] or ','} {match['rest']}"


def _note(match: re.Match[str], counts: dict[str, Any]) -> None:
    """Note what a row begins with, and whether the rows so far show that it counts."""
    number, last = int(match["count"]), counts.get("last", -1)
    if number <= last:
        counts["waiting"] = []
    counts["waiting"].append(_with_name(match))
    counts["far"] = len(counts["waiting"]) == 1 or (counts["far"] and number - last > 1)
    counts["last"] = number
    is_marked = match["sign"] in ("|", ",") or counts["far"]
    counts["shown"] = len(counts["waiting"]) >= (_LEAST_SHOWN if is_marked else _LEAST_RISING)


def _listed(found: LineResult) -> list[LineValues]:
    """The values in what was parsed."""
    several = found if isinstance(found, list) else [found]
    return [each for each in several if isinstance(each, LineValues)]

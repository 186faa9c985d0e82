"""The history that Flower prints behind all rounds: losses line by line, and lists of rounds and values."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineResult, LineValues
from holter.ingest.console.text.values import parse_numbers, parse_time

_STATE = "history of rounds"
_HEADING = re.compile(r"History \((loss|metrics), (\w{1,20})(?:, (\w{1,20}))?\):")
_ROUND = re.compile(r"\bround (\d{1,9}): ([-+.\w]{1,40})\s*$")
_KEY = re.compile(r"['\"]([^'\"]{1,80})['\"]: \[")
_PAIR = re.compile(r"\((\d{1,9}), (?:np\.float\d\d\()?([-+.\w]{1,40})\)?\)(\])?")


def _heading(line: str, state: DialectState) -> None:
    """`History (metrics, distributed, evaluate):`, what the values below are of."""
    match = _HEADING.search(line)
    if match is not None:
        of = "/".join(filter(None, match.groups()[1:]))
        state[_STATE] = [of, "loss" if match[1] == "loss" else ""]


def _loss(line: str, state: DialectState) -> LineResult:
    """`round 3: 0.25`, below the heading of the losses."""
    match = _ROUND.search(line)
    of, name = state.get(_STATE, ("", ""))
    if match is None or not name:
        return None
    return LineValues(
        int(match[1]), parse_numbers([(f"{of}/{name}", match[2])]), parse_time(line), is_late=True
    )


def _pairs(line: str, state: DialectState) -> LineResult:
    """`{'accuracy': [(1, 0.25),` and `(2, 0.5)]}` below it: rounds and the values of a metric."""
    of, name = state.get(_STATE, ("", ""))
    if not of:
        return None
    key = _KEY.search(line)
    if key is not None:
        name = key[1]
        state[_STATE] = [of, name]
    if not name:
        return None
    return [
        LineValues(int(pair[1]), parse_numbers([(f"{of}/{name}", pair[2])]), parse_time(line), is_late=True)
        for pair in _PAIR.finditer(line)
    ]


HISTORY = {
    re.compile(rb"History \((?:loss|metrics), \w{1,20}(?:, \w{1,20})?\):"): _heading,
    re.compile(rb"\tround \d{1,9}: [-\d]"): _loss,
    # behind a tab: lists of pairs are printed by many
    re.compile(rb"\t[{ ]{0,80}(?:'[^'\n]{1,80}': \[)?\(\d{1,9}, (?:np\.float\d\d\()?[-\d]"): _pairs,
}
"""Patterns of the lines, and what reads each."""

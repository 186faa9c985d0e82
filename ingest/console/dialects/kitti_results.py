"""KITTI's results, which libraries of 3D detection print: a class above rows with a number per difficulty.

`Car AP_R40@0.70, 0.50, 0.50:` above `bev  AP:90.6, 89.3, 88.6`, the easy, moderate and hard objects. They
have no step: they are at the last one of the training.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.steps.positions import position
from holter.ingest.console.text.values import parse_numbers

_CLASS = re.compile(
    r"(?P<name>[A-Z]\w{1,30} AP(?:_R\d\d)?@\d\.\d\d)(?P<more>(?:, \d\.\d\d){2}):\s*$",
)
_ROW = re.compile(r"^\s*(?P<name>bbox|bev|3d|aos) {1,4}AP: ?(?P<values>[\d.]{1,8}(?:, ?[\d.]{1,8}){2})\s*$")
_DIFFICULTIES = ("easy", "moderate", "hard")


def _begin(line: str, state: DialectState) -> None:
    """Note the class of the rows below, and the overlaps from which on an object counts as found."""
    match = _CLASS.search(line)
    if match is not None:
        state["kitti"] = match["name"] + match["more"].replace(" ", "")


def _row(line: str, state: DialectState) -> LineValues | None:
    """The precision of a class in each difficulty."""
    match, step = _ROW.match(line), position(axis_state(state))
    if match is None or "kitti" not in state or step is None:
        return None
    names = (f"val/{state['kitti']}/{match['name']} {difficulty}" for difficulty in _DIFFICULTIES)
    return LineValues(step, parse_numbers(zip(names, match["values"].split(","), strict=True)))


KITTI_RESULTS = (
    LineKind(pattern=re.compile(rb"[A-Z]\w{1,30} AP(?:_R\d\d)?@\d\.\d\d, \d"), parse=_begin),
    LineKind(pattern=re.compile(rb"(?m)^[ \t]{0,8}(?:bbox|bev|3d|aos) {1,4}AP: ?\d"), parse=_row),
)

"""Results to copy into a table, which detectors of objects print: `copypaste: AP,AP50`, then numbers.

The task is above them: `copypaste: Task: bbox`. They are at the last step of the training.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.steps.positions import position
from holter.ingest.console.text.values import parse_numbers, parse_time

_TASK = re.compile(r"copypaste: Task: (?P<task>[\w./-]{1,60})\s*$")
_CELLS = re.compile(r"copypaste: (?P<cells>[^\s,]{1,60}(?:,[^\s,]{1,60}){0,99})\s*$")
_NUMBER = re.compile(r"-?\d[\d.e+-]{0,30}|-?nan|-?inf")


def _line(line: str, state: DialectState) -> LineValues | None:
    """Note the task and the names of results; the results themselves below these."""
    if (task := _TASK.search(line)) is not None:
        state["task of results"] = task["task"]
        state.pop("names of results", None)
        return None
    found = _CELLS.search(line)
    if found is None:
        return None
    cells = found["cells"].split(",")
    if not all(map(_NUMBER.fullmatch, cells)):
        state["names of results"] = cells
        return None
    names, step = state.pop("names of results", []), position(axis_state(state))
    if step is None or len(names) != len(cells):
        return None
    data = f"val/{state['task of results']}" if "task of results" in state else "val"
    named = ((f"{data}/{name}", cell) for name, cell in zip(names, cells, strict=True))
    return LineValues(step, parse_numbers(named), parse_time(line))


COPIED_RESULTS = LineKind(pattern=re.compile(rb"\bcopypaste: "), parse=_line)

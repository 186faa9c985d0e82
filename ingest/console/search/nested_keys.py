"""What lines above state of the names of values: keys of dictionaries that are printed over several lines.

`"Angioectasia": {` above `"precision": 0.77,` is `Angioectasia/precision`. So is the name of a metric above
lines of nothing but data: `Loss` above `Train: 0.5` is `Loss/Train`.
"""

from __future__ import annotations

import re
from typing import Any

from holter.ingest.console.dialect import DialectState, LineKind
from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.positions import position

_KEY = re.compile(r"\s*['\"](?P<key>[\w .@/-]{1,60})['\"]\s?:\s?\{\s*")
_MOST_KEYS = 4


def _note(line: str, state: DialectState) -> None:
    """Note a key whose dictionary begins, or that one ends."""
    axis: dict[str, Any] = state.setdefault("plain lines", {})
    keys: list[str] = axis.get("keys", [])
    if (match := _KEY.fullmatch(line)) is not None:
        axis["keys"] = [*keys, match["key"]][-_MOST_KEYS:]
    elif "}" in line and keys:
        axis["keys"] = keys[:-1]
    else:
        axis.pop("keys", None)


NESTED_KEYS = LineKind(
    pattern=LinearPattern(
        rb"(?m)^[ \t]{0,40}['\x22][\w .@/-]{1,60}['\x22] ?: ?\{[ \t\r]{0,8}$|^[ \t]{0,40}\}[,)]?[ \t\r]{0,8}$"
        rb"|^[^\n]{0,120}[^'\x22\n]\{[ \t\r]{0,8}$|^\{[ \t\r]{0,8}$"
    ),
    parse=_note,
    any_program=True,
)
"""Lines at which a dictionary within a dictionary begins or ends."""


def note_measure(name: str, state: DialectState) -> None:
    """Note the name of a metric on a line of its own."""
    state["measure"] = [name, position(state)]


def measure_above(name: str, state: DialectState) -> str:
    """The metric that a line above names, where a value has nothing but the data for its name; else ""."""
    if "measure" not in state or DATA_SPLIT.fullmatch(name) is None:
        return ""
    measure, at = state["measure"]
    return str(measure) if at == position(state) else ""


def nested_name(name: str, state: DialectState) -> str:
    """The name of a value with the keys of the dictionaries that it is in, or the metric above it."""
    measure = measure_above(name, state)
    return "/".join((*state.get("keys", ()), *([measure] if measure else ()), name))


def forget_keys(state: DialectState) -> None:
    """Forget dictionaries that did not end, and the metric above: the training continues."""
    state.pop("keys", None)
    state.pop("measure", None)

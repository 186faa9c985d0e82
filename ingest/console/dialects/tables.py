"""Tables of two columns, as Stable-Baselines3 prints them: `|    total_timesteps | 4096 |`.

RLCard's tables have no outer bars. A line of dashes ends a table. Names of sections, which end in "/", are
prefixes, as in its TensorBoard files.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.values import parse_number

_ROW = re.compile(r"^(?:\|\s{1,60}|\s{0,60})(?P<name>[^|]{1,80})\|(?P<value>[^|]{1,80})\|?\s*$")
_STEPS = (
    "total_timesteps",
    "timesteps",
    "timestep",
    "total_steps",
    "global_step",
    "step",
    "steps",
    "iterations",
    "epoch",
    "episode",
)
_MAX_ROWS = 500


def _row(line: str, state: DialectState) -> LineValues | None:
    match = _ROW.match(line)
    if match is None:
        return None
    table = state.setdefault("table", {"section": "", "values": {}})
    name, text = match["name"].strip(), match["value"].strip()
    if name.endswith("/") and not text:
        table["section"] = name
    elif (value := parse_number(text)) is not None and len(table["values"]) < _MAX_ROWS:
        # names in a section are indented further
        indented = match["name"].startswith(" ") or line.startswith("|  ")
        table["values"][(table["section"] if indented else "") + name] = value
    return None


def _end(line: str, state: DialectState) -> LineValues | None:
    """The values of the table that ends here, at its step."""
    if line.strip().strip("-+="):
        return None
    values = state.pop("table", {}).get("values", {})
    for step in _STEPS:
        for name, value in values.items():
            if name.rpartition("/")[2].lower() == step and value == value // 1:
                return LineValues(int(value), {key: number for key, number in values.items() if key != name})
    return None


DIALECT = ConsoleDialect(
    name="table",
    signature=re.compile(
        rb"(?i)\| {1,20}(?:[a-z]{1,20}/)?"
        rb"(?:(?:total_)?timesteps|(?:global_)?step|epoch) {1,60}\| {0,60}\d+ {0,60}\|"
        rb"|-{20}\r?\n  (?:timestep|step|episode|epoch) {1,60}\|  \d+ {0,60}\r?\n"
    ),
    kinds=(
        LineKind(pattern=re.compile(rb"\| {1,40}[A-Za-z][^|\n]{0,80}\|[^|\n]{0,80}\|"), parse=_row),
        LineKind(pattern=re.compile(rb"(?m)^  \w{1,30} {1,40}\|  -?\d[^|\n]{0,80}$"), parse=_row),
        LineKind(pattern=re.compile(rb"-{20}"), parse=_end),
    ),
)

"""Tables of two columns, as Stable-Baselines3 prints them: `|    total_timesteps | 4096 |`.

RLCard's tables have no outer bars, those of rllab, rlkit and garage none at all: `AverageReturn  12.3`
between lines of two groups of dashes. A line of dashes ends a table. Names of sections, which end in "/", are
prefixes, as in its TensorBoard files.
"""

from __future__ import annotations

import re
from typing import Any

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.steps.rounded_steps import step_of_rounded
from holter.ingest.console.text.values import parse_number

_ROW = re.compile(r"^(?:\|\s{1,60}|\s{0,60})(?P<name>[^|]{1,80})\|(?P<value>[^|]{1,80})\|?\s*$")
_BARE_ROW = re.compile(r"(?P<name>[A-Za-z][^|]{0,100}?) {2,}(?P<value>[-+.\w]{1,40})\s*$")
_PREFIX = re.compile(r"^[^|]{1,80}\| (?:\[[^]]{1,80}\] )?")
"""What rllab prints before each line: `2017-06-21 12:11:11.123 PDT | [trpo] `."""
_STEPS = (
    *("total_timesteps", "timesteps", "timestep", "timesteps_so_far", "timestepssofar", "total_env_steps"),
    *("totalenvsteps", "cum_steps", "cumsteps", "total_steps", "global_step", "step", "steps"),
    *("iterations", "iteration", "itr", "nupdates", "epoch", "epochs", "episode", "episodes"),
    *("total_frames", "frames", "frame"),
)
"""Names of what counts, in lower case and with `_` between words, the most reliable first."""
_MAX_ROWS = 500


def _row(line: str, state: DialectState) -> LineValues | None:
    match = _ROW.match(line)
    if match is None:
        return None
    table = _table(state)
    name, text = match["name"].strip(), match["value"].strip()
    if name.endswith("/") and not text:
        table["section"] = name
    elif (value := parse_number(text)) is not None and len(table["values"]) < _MAX_ROWS:
        # names in a section are indented further
        indented = match["name"].startswith(" ") or line.startswith("|  ")
        name = (table["section"] if indented else "") + name
        table["values"][name] = value
        if "e+" in text:
            table.setdefault("rounded", {})[name] = text
    return None


def _bare_row(line: str, state: DialectState) -> LineValues | None:
    """A row without bars, which is one between lines of dashes alone."""
    match = _BARE_ROW.match(_PREFIX.sub("", line))
    value = None if match is None or "table" not in state else parse_number(match["value"])
    if match is not None and value is not None and len(state["table"]["values"]) < _MAX_ROWS:
        state["table"]["values"][match["name"].strip()] = value
    return None


def _table(state: DialectState) -> dict[str, Any]:
    """The table that the rows below a line of dashes belong to."""
    table: dict[str, Any] = state.setdefault("table", {"section": "", "values": {}})
    return table


def _end(line: str, state: DialectState) -> LineValues | None:
    """The values of the table that ends here, at its step; a table may begin here as well."""
    if _PREFIX.sub("", line).strip().strip("-+= "):
        return None
    table = state.pop("table", {})
    values, rounded = table.get("values", {}), table.get("rounded", {})
    if not values:
        _table(state)
        return None
    for step in _STEPS:
        for name, value in values.items():
            if name.rpartition("/")[2].lower().replace(" ", "_") == step and value.is_integer():
                at = step_of_rounded(rounded.get(name, ""), int(value), state.setdefault("tables at", {}))
                return LineValues(at, {key: number for key, number in values.items() if key != name})
    return None


_PREFIX_BYTES = rb"(?:[^\n|]{0,80}\| (?:\[[^]\n]{1,80}\] )?)?"
_BARE_ROW_BYTES = rb"(?m)[A-Za-z][^|\n]{0,100}?  -?[\d.n][-+.\w]{0,39}[ \t\r]{0,8}$"
DIALECT = ConsoleDialect(
    name="table",
    signature=re.compile(
        rb"(?i)\| {1,20}(?:[a-z]{1,20}/)?"
        rb"(?:(?:total_)?(?:timesteps|frames)|frame|(?:global_)?steps?|epochs?|episodes|iteration"
        rb"|timestepssofar) {1,60}"
        rb"\| {0,60}\d[\d.e+]{0,15} {0,60}\|"
        rb"|(?m:^"
        + _PREFIX_BYTES
        + rb"-{10,80}  -{5,80}[ \t]{0,8}\r?\n"
        + _PREFIX_BYTES
        + rb"[A-Za-z][^|\n]{0,80}  [-\d])"
        rb"|-{20}\r?\n  (?:timestep|step|episode|epoch) {1,60}\|  \d+ {0,60}\r?\n"
    ),
    kinds=(
        LineKind(
            pattern=re.compile(rb"\| {1,40}(?:% )?[A-Za-z][^|\n]{0,80}\|[^|\n]{0,80}\|"),
            parse=_row,
            collects=True,
        ),
        LineKind(
            pattern=re.compile(rb"(?m)^  \w{1,30} {1,40}\|  -?\d[^|\n]{0,80}$"), parse=_row, collects=True
        ),
        LineKind(pattern=re.compile(rb"-{20}|-{10}  -{5}|(?m:^[ \t]{0,20}\+-{3,80}\+-)"), parse=_end),
        LineKind(pattern=re.compile(_BARE_ROW_BYTES), parse=_bare_row, collects=True),
    ),
)

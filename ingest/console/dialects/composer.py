"""Composer and llm-foundry: `[batch=1/100]:`, then `Train loss/train/total: 10.9736`, a metric per line."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_number

_HEADER = re.compile(r"\[(?:epoch=\d+(?:/\d+)?\]\[)?(batch|token)=(\d+)(?:/\d+)?\]:")
_METRIC = re.compile(r"^\s*(Train|Eval) ([\w/.@-]+): (\S+)\s*$")


def _header(line: str, state: DialectState) -> LineValues | None:
    match = _HEADER.search(line)
    if match is not None:
        state["step"] = int(match[2])
    return None


def _metric(line: str, state: DialectState) -> LineValues | None:
    """All values have four decimals: a learning rate is 0.0000 here."""
    match = _METRIC.match(line)
    value = parse_number(match[3]) if match else None
    if match is None or value is None or "step" not in state:
        return None
    name = match[2] if match[1] == "Train" else f"eval/{match[2].removeprefix('metrics/eval/')}"
    return LineValues(state["step"], {name: value})


DIALECT = ConsoleDialect(
    name="composer",
    signature=re.compile(rb"(?:batch|token)=\d+(?:/\d+)?\]:\s*\n[^\n]*\b(?:Train|Eval) [\w/]+: "),
    kinds=(
        LineKind(pattern=re.compile(rb"batch=\d+(?:/\d+)?\]:|token=\d+(?:/\d+)?\]:"), parse=_header),
        LineKind(pattern=re.compile(rb"Train [\w/.@-]+: "), parse=_metric),
        LineKind(pattern=re.compile(rb"Eval [\w/.@-]+: "), parse=_metric),
    ),
)

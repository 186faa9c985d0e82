"""Composer and llm-foundry: `[batch=1/100]:`, then `Train loss/train/total: 10.9736`, a metric a line."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.values import parse_number

_HEADER = re.compile(r"\[(?:epoch=\d+(?:/\d+)?\]\[)?(batch|token)=(\d+)(?:/\d+)?\]:")
_METRIC = re.compile(r"^\s*(Train|Eval) ([\w/.@-]+): (\S+)\s*$")


def _header(line: str, memory: DialectState) -> LineValues | None:
    found = _HEADER.search(line)
    if found is not None:
        memory["step"] = int(found[2])
    return None


def _metric(line: str, memory: DialectState) -> LineValues | None:
    """Everything has four decimals: a learning rate reads 0.0000 here."""
    found = _METRIC.match(line)
    value = parse_number(found[3]) if found else None
    if found is None or value is None or "step" not in memory:
        return None
    name = found[2] if found[1] == "Train" else f"eval/{found[2].removeprefix('metrics/eval/')}"
    return LineValues(memory["step"], {name: value})


DIALECT = ConsoleDialect(
    name="composer",
    tell=re.compile(rb"(?:batch|token)=\d+(?:/\d+)?\]:\s*\n[^\n]*\b(?:Train|Eval) [\w/]+: "),
    kinds=(
        LineKind(mark=re.compile(rb"batch=\d+(?:/\d+)?\]:|token=\d+(?:/\d+)?\]:"), read=_header),
        LineKind(mark=re.compile(rb"Train [\w/.@-]+: "), read=_metric),
        LineKind(mark=re.compile(rb"Eval [\w/.@-]+: "), read=_metric),
    ),
)

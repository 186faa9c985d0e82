"""OLMo and OLMo-core: `[step=2/739328]`, then a metric a line: `    train/CE loss=6.445`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.values import parse_number, parse_time

_HEADER = re.compile(r"\[step=(\d+)/")
_METRIC = re.compile(r"^\s{4,}([\w/ .()%-]+)=(\S+)\s*$")


def _header(line: str, memory: DialectState) -> LineValues | None:
    found = _HEADER.search(line)
    if found is not None:
        memory["step"], memory["time"] = int(found[1]), parse_time(line[: found.start()])
    return None


def _metric(line: str, memory: DialectState) -> LineValues | None:
    found = _METRIC.match(line)
    value = parse_number(found[2]) if found else None
    if found is None or value is None or "step" not in memory:
        return None
    return LineValues(memory["step"], {found[1].strip(): value}, memory.get("time", float("nan")))


DIALECT = ConsoleDialect(
    name="olmo",
    tell=re.compile(rb"\[step=\d+/\d+[^\]\n]*\][^\n]*\n\s{4,}[\w/ .]+="),
    kinds=(
        LineKind(mark=re.compile(rb"\[step=\d+/"), read=_header),
        LineKind(mark=re.compile(rb"    [\w/ .()%-]+=[-+\d.nai]"), read=_metric),
    ),
)

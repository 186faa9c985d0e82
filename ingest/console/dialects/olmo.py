"""OLMo and OLMo-core: `[step=2/739328]`, then a metric per line: `    train/CE loss=6.445`."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_number, parse_time

_HEADER = re.compile(r"\[step=(\d+)/")
_METRIC = re.compile(r"^\s{4,}+([\w/.()%-][\w/ .()%-]*+)=(\S++)\s*+$")


def _header(line: str, state: DialectState) -> LineValues | None:
    match = _HEADER.search(line)
    if match is not None:
        state["step"], state["time"] = int(match[1]), parse_time(line[: match.start()])
    return None


def _metric(line: str, state: DialectState) -> LineValues | None:
    match = _METRIC.match(line)
    value = parse_number(match[2]) if match else None
    if match is None or value is None or "step" not in state:
        return None
    return LineValues(state["step"], {match[1].strip(): value}, state.get("time", float("nan")))


DIALECT = ConsoleDialect(
    name="olmo",
    signature=re.compile(rb"\[step=\d+/\d{1,19}[^\]\n]{0,100}\][^\n]{0,400}\n\s{4,40}[\w/ .]{1,200}="),
    kinds=(
        LineKind(pattern=re.compile(rb"\[step=\d+/"), parse=_header),
        LineKind(pattern=re.compile(rb"    [\w/.()%-][\w/ .()%-]{0,200}=[-+\d.nai]"), parse=_metric),
    ),
)

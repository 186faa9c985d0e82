"""Lines that state to what a learning rate was set: `Adjusted learning rate to 0.5`, `lr set to 0.1`.

They are read as `learning rate: 0.5`. Schedulers that state an epoch with it count epochs of their own.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineResult
from holter.ingest.console.dialects.recurring_lines import or_recurring
from holter.ingest.console.plain.result_blocks import parse_metric
from holter.ingest.console.search.pattern_search import LinearPattern

_NAME = r"(?P<name>learning[ _-]?rate|lr)"
_GROUP = r"(?: (?:of|for) (?:parameter |param )?group (?P<group>\d{1,3}))?"
_TO = r"(?: (?:was|is|has been))?(?: (?:re)?[a-z]{2,12})? to:? {1,4}"
_NUMBER = r"(?P<value>\d{0,3}\.?\d{1,20}(?:e[-+]?\d{1,3})?)\.?"
_SET = re.compile(rf"(?i)[^\d\n]{{0,60}}\b{_NAME}{_GROUP}{_TO}{_NUMBER}\s{{0,8}}")


def _rate(line: str, state: DialectState) -> LineResult:
    match = _SET.fullmatch(line)
    if match is None:
        return None
    name = match["name"] if match["group"] in (None, "0") else f"{match['name']}_{match['group']}"
    return _READ.parse(f"{name}: {match['value']}", state)


_PATTERN = LinearPattern(
    rb"(?im)\b" + re.sub(r"\?P<\w+>", "?:", rf"{_NAME}{_GROUP}{_TO}{_NUMBER}").encode() + rb"[ \t\r]{0,8}$"
)
_READ = or_recurring(LineKind(pattern=_PATTERN, parse=parse_metric, any_program=True, in_blocks=True))
SET_RATES = LineKind(pattern=_PATTERN, parse=_rate, any_program=True, in_blocks=True)

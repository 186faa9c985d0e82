"""Lines that state to what a learning rate was set: `Adjusted learning rate to 0.5`, `lr 0.2 -> 0.1`.

They are read as `learning rate: 0.5`. Schedulers that state an epoch with it count epochs of their own. A
line that states the old rate as well is no setting, though it may come only once.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineResult, LineValues
from holter.ingest.console.dialects.recurring_lines import or_recurring
from holter.ingest.console.headings.training_sections import section_labels
from holter.ingest.console.line.changed_rates import FROM, GROUP, NAME, NEW, changed_rate
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.plain.result_blocks import parse_metric
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.positions import position
from holter.ingest.console.text.values import parse_time

_TO = r"(?: (?:was|is|has been))?(?: (?:re)?[a-z]{2,12})? to:? {1,4}"
_SET = re.compile(rf"(?i)[^\d\n]{{0,60}}\b{NAME}{GROUP}{_TO}{NEW}\s{{0,8}}")


def values_of_change(line: str, state: DialectState) -> LineValues | None:
    """The new rate of a line that states the old one as well; above the first record it waits for that."""
    changed, axis = changed_rate(line), axis_state(state)
    step = position(axis)
    if changed is None or step is None:
        return None
    return LineValues(step, {changed.name: changed.value}, parse_time(line), section_labels(axis))


def _rate(line: str, state: DialectState) -> LineResult:
    if changed_rate(line) is not None:
        return values_of_change(line, state)
    match = _SET.fullmatch(line)
    if match is None:
        return None
    name = match["name"] if match["group"] in (None, "0") else f"{match['name']}_{match['group']}"
    return _READ.parse(f"{name}: {match['value']}", state)


_PATTERN = LinearPattern(
    rb"(?im)\b"
    + re.sub(r"\?P<\w+>", "?:", rf"{NAME}{GROUP}(?:{_TO}|{FROM}){NEW}").encode()
    + rb"[ \t\r]{0,8}$"
)
_READ = or_recurring(LineKind(pattern=_PATTERN, parse=parse_metric, any_program=True, in_blocks=True))
SET_RATES = LineKind(pattern=_PATTERN, parse=_rate, any_program=True, in_blocks=True)

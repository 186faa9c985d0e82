"""Names before what a line counts, whose values are behind it: `loss at step 5: 2.3`, `Loss epoch=5: 2.3`."""

from __future__ import annotations

import re
from typing import NamedTuple

from holter.ingest.console.line.line_words import ALL_DATA
from holter.ingest.console.line.number_field import NumberField
from holter.ingest.metric_names import is_metric_name

_COUNT = r"(?i:epoch|step|iter(?:ation)?|batch)"
NAME_AHEAD = re.compile(
    r"(?<![\w.@])(?!(?:INFO|DEBUG|WARNING|[Tt]he)\b)([A-Za-z][\w@-]{0,40}(?: [\w@-]{1,40}){0,5}?)"
    r"(?: \([a-z ]{1,30}\))? "
    rf"(?:(?:at|in|on|after|during|over|for|of|@) |(?=[\[(]?{_COUNT}\b))"
)
"""A name before what is counted: `loss at step 5: 2.3`, `Loss epoch[0] = 2.3`, `Loss (epoch=3): 2.3`."""
_LOSS_OF_DATA = re.compile(rf"(?i)(?:{ALL_DATA})[ _]loss")
_NAME_AND_COUNT = re.compile(
    r"(?P<name>[^\n]{1,120}?) (?:(?:at|in|on|after|during|over|for|of) )?"
    rf"(?P<count>{_COUNT}|(?i:episode|round))"
)
"""A name and a count in one, as a sign behind both makes them: `Loss after epoch` of `Loss after epoch=3`."""
_NAME_AND_OTHER = re.compile(r"(?P<name>[^\n]{1,120}?) (?:after|at) (?P<count>[a-z]\w{0,40})")
"""A name and anything that is stated beside a count: `Loss after num_examples` of `=1000 epoch=3: 0.5`."""
_BEFORE_COUNT = re.compile(rf"[ ,;]{{1,3}}{_COUNT} ?[=:] {{0,4}}$")
_BEFORE_VALUE = re.compile(r"[\])]?(?: ?[:=] {0,8}| (?:is|[-=]>) {1,4})$")
"""What is between a count and the value of the name before it: a sign."""


class NameAhead(NamedTuple):
    """The name of a metric before a count, and what is counted, which may be nothing that counts a step."""

    name: str
    counted: str


def name_ahead(field: NumberField, texts: tuple[str, ...]) -> NameAhead | None:
    """The name of a metric in that of a number which is counted, if its value is behind this number."""
    behind = texts[max(field.index, field.total_index) + 1]
    if not behind or not field.name:
        return None
    if _is_epoch_of_loss(field, behind):
        return NameAhead(field.name, "epoch")
    is_before_value = _BEFORE_VALUE.match(behind) is not None
    if not (is_before_value or (field.marked and _BEFORE_COUNT.match(behind) is not None)):
        return None
    match = (_NAME_AND_COUNT if is_before_value else _NAME_AND_OTHER).fullmatch(field.name)
    if match is None or not is_metric_name(match["name"]):
        return None
    return NameAhead(match["name"], match["count"])


def _is_epoch_of_loss(field: NumberField, behind: str) -> bool:
    """Whether a number in brackets stands between a loss of some data and its value: `Val Loss [3]: 1.5`.

    Where the name has no data, it may as well be one of several losses.
    """
    is_between = not field.index and not field.before and behind.startswith(("]: ", "] = "))
    return is_between and field.bracketed and _LOSS_OF_DATA.fullmatch(field.english) is not None

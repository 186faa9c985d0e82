"""scikit-learn's report on a classification: precision, recall and F1 of each class, below their names.

It is of an evaluation at the last step of the training, and its rows are `eval/CLASS/precision` and so on.
Right below a result that names its data, as `Test loss: 0.5`, it is of these.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.headings.training_sections import section_labels
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.positions import announced_step
from holter.ingest.console.text.values import parse_numbers

_MAX_CLASSES = 50
_NAMES = "classes of report"
"""The names of the classes of the report above that have a row so far."""
_DATA_ABOVE = "data above report"
_OF_EACH_EPOCH = ("val", "dev")
"""Data that are evaluated in each epoch: a report below the last one may be of those of the test."""
_AMOUNT = re.compile(r"\s{2,40}\d{1,12}$")
"""How many samples a class has, where that is before its scores."""
_ROW = re.compile(
    r"\s*(?P<name>\S.{0,60}?)\s{2,40}(?:(?P<precision>[\d.]+)\s{2,40}(?P<recall>[\d.]+)\s{2,40})?"
    r"(?P<f1>[\d.]+)(?:\s{2,40}\d{1,12})?\s*"
)


def _begin(line: str, state: DialectState) -> None:
    """Note that rows of classes follow, and the data of the result right above them."""
    state[_NAMES] = []
    above = axis_state(state).get("evaluated above", "") if state.get("is near") else ""
    state[_DATA_ABOVE] = "" if above.startswith(_OF_EACH_EPOCH) else above
    state.pop("class columns", None)


def parse_row(line: str, state: DialectState) -> LineValues | None:
    """The numbers of a class, of the mean of all, or the accuracy.

    A class that has a row already shows that this is one of another table, such as a confusion matrix.
    """
    match, axis = _ROW.fullmatch(line), axis_state(state)
    step = announced_step(axis)
    step = axis.get("step") if step is None else step
    names = state.get(_NAMES)
    if match is None or names is None or step is None:
        return None
    name = _AMOUNT.sub("", match["name"])
    if name in names or len(names) >= _MAX_CLASSES:
        del state[_NAMES]
        return None
    names.append(name)
    data = axis.get("evaluating") or axis.get("split") or state.get(_DATA_ABOVE)
    split = data or "eval"
    values = {f"{name}/{metric}": match[metric] for metric in ("precision", "recall")}
    values[f"{name}/f1" if match["precision"] else name] = match["f1"]
    numbers = parse_numbers((metric_name(key, split), text) for key, text in values.items() if text)
    return LineValues(int(step), numbers, labels=section_labels(axis))


HEADING = LineKind(
    pattern=LinearPattern(rb"(?i)recall[ \t]{1,20}f1?-?score(?:[ \t]{1,20}[a-z]{3,20})?[ \t\r]{0,20}\n"),
    parse=_begin,
    any_program=True,
    in_blocks=True,
)
ROW = LineKind(
    pattern=LinearPattern(
        rb"(?m)(?:^|[^\d.])[01]\.\d\d\d?\d?(?: {2,40}\d{1,12}|\d{1,4} {2,40}[01]\.\d{2,8})[ \t\r]{0,20}$"
    ),
    parse=parse_row,
    any_program=True,
)

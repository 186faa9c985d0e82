"""What examples of the Trainer print of an evaluation: `***** predict metrics *****`, names and numbers.

Those of the training, and of data of which the Trainer has logged values, repeat its records rounded. Where
it has logged none, as in the output of an evaluation alone, they are at the epoch that the block states.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_number

_HEADING = re.compile(r"\*{5} (?P<data>\w{1,20}) metrics \*{5}")
_VALUE = re.compile(
    r"\s+(?P<data>train|eval|test|predict)_(?P<name>[\w@./-]{1,60}) += +(?P<value>[-+.\w]{1,30})\s*$"
)
_EPOCH = re.compile(r"\s+epoch += +(?P<epoch>\d{1,9}(?:\.\d{0,9})?)\s*$")
_AMOUNT = re.compile(r"(?:\w{0,20}_)?samples")
_DATA = {"predict": "test"}
"""Other names of data."""
_LOGGED = "logged data"
"""The data of which the Trainer has logged values, in the state."""


def note_logged(names: list[str], state: DialectState) -> None:
    """Note the data of which a record of the Trainer has values: of `eval/loss` the evaluation."""
    known = state.get(_LOGGED, [])
    data = {name.partition("/")[0] for name in names if "/" in name}
    if not data <= {*known}:
        state[_LOGGED] = sorted({*known, *data})


def _begin(line: str, state: DialectState) -> None:
    """Note the data of the values below a heading."""
    if (match := _HEADING.search(line)) is not None:
        state["metrics of"] = [match["data"], 0]


def _note_epoch(line: str, state: DialectState) -> None:
    """Note the epoch of the values below, which is the step where nothing else states one."""
    if (match := _EPOCH.match(line)) is not None and "metrics of" in state:
        state["metrics of"][1] = round(float(match["epoch"]))


def _value(line: str, state: DialectState) -> LineValues | None:
    """A value at the last step of the training, if it is of the heading above and was not logged."""
    match, (of, epoch) = _VALUE.match(line), state.get("metrics of", ("", 0))
    if match is None or match["data"] != of or (of == "train" and _LOGGED in state):
        return None
    data = _DATA.get(match["data"], match["data"])
    value = parse_number(match["value"])
    if value is None or data in state.get(_LOGGED, ()) or _AMOUNT.fullmatch(match["name"]) is not None:
        return None
    step = max(state.get("bar", 0), state.get("loss at", (0.0, 0))[1])
    return LineValues(int(step) or epoch, {f"{data}/{match['name']}": value})


KINDS = (
    LineKind(pattern=re.compile(rb"\*{5} (?:train|eval|test|predict) metrics \*{5}"), parse=_begin),
    LineKind(
        pattern=re.compile(
            rb"(?m)^[ \t]{1,8}(?:train|eval|test|predict)_\w{1,60} {1,60}= {1,30}"
            rb"-?[\dni][\w.+-]{0,30}[ \t\r]*$"
        ),
        parse=_value,
    ),
    LineKind(
        pattern=re.compile(rb"(?m)^[ \t]{1,8}epoch {1,60}= {1,30}\d[\d.]{0,20}[ \t\r]*$"), parse=_note_epoch
    ),
)
SIGNATURE = (
    rb"\*{5} (?:train|eval|test|predict) metrics \*{5}[ \t\r]{0,8}\n[ \t]{1,8}"
    rb"(?:epoch|(?:train|eval|test|predict)_\w{1,60}) {1,60}= {1,30}\d"
)
"""The heading of such a block, as a pattern, which a text may have without any record of the Trainer."""

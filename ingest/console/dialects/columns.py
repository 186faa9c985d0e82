"""Tables of columns: a line of names, then lines of numbers.

`epoch  train_loss  valid_loss  accuracy  time` of fastai and skorch, `Iter  Train Loss  Remaining Time` of
scikit-learn, `E  #  LOSS NER  SCORE` of spaCy. Their names are separated by two spaces or more, tabs, commas
or semicolons, their numbers by any of these, which may be others than those between the names. A column
before that which counts may name the data of each row: `Dataset  Epoch  Accuracy` above `eval  3  0.9`.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.line_counters import Counter
from holter.ingest.console.line_words import DATA_SPLIT
from holter.ingest.console.plain_line import axis_state
from holter.ingest.console.step_axis import training_step
from holter.ingest.console.values import parse_number
from holter.ingest.metric_names import is_metric_name
from holter.ingest.step_columns import BATCH_NAMES

_BETWEEN = re.compile(r"\s{0,8}[,;]\s{0,8}|\s{2,}|\t")
_BETWEEN_NUMBERS = re.compile(r"\s{0,8}[,;]\s{0,8}|\s+")
_TIME_BYTES = rb"(?:\[\d{2,4}[\d/:., -]{6,40}\][ -]{1,4})?"
_TIME = re.compile(f"^{_TIME_BYTES.decode()}")
"""A logger's time before the names and the numbers."""
_AXES = (
    *("#", "global_step", "step", "steps", "iter", "iters", "iteration", "iterations", "numiters", "epoch"),
    *("epochs", "e"),
)
"""Names of columns that count, the most reliable axis first."""
_EPOCHS = frozenset({"epoch", "epochs", "e"})
_BATCHES = frozenset({*BATCH_NAMES, "batches", "batch_index"})
"""Names of columns that count within an epoch."""
_MAX_COLUMNS = 64
_DATA = frozenset({"data", "dataset", "split", "subset", "set", "phase", "mode"})
"""Names of a first column that says of which data a row is."""


def _names(line: str, state: DialectState) -> None:
    """Note the names of the columns of the lines below."""
    names = _BETWEEN.split(_TIME.sub("", line).strip().removeprefix("# ").lstrip())[:_MAX_COLUMNS]
    if any(map(is_metric_name, names)):
        state["columns"] = names
    else:
        state.pop("columns", None)


def _row(line: str, state: DialectState) -> LineValues | None:
    """The numbers of a line with a cell for each column."""
    names = state.get("columns", [])
    # `No log` is that of a Trainer in a notebook
    cells = _BETWEEN_NUMBERS.split(_TIME.sub("", line).strip().replace("No log", "-"))
    if not names or len(cells) != len(names):
        return None
    axis = next((axis for axis in _AXES for name in names if name.lower() == axis), None)
    about = ""
    if names[0].lower() in _DATA:
        if DATA_SPLIT.fullmatch(cells[0]) is None:
            return None
        about = f"{cells[0]}/"
    values, count, batch = {}, None, None
    for name, cell in zip(names, cells, strict=True):
        value = parse_number(cell)
        if axis is not None and name.lower() == axis:
            count = value
        elif name.lower() in _BATCHES and axis in _EPOCHS:
            batch = value
        elif value is not None and name.lower() not in _AXES:
            values[about + name] = value
    step = None if axis is None else _step(axis, count, batch, state)
    return None if step is None else LineValues(step, values)


def _step(name: str, value: float | None, batch: float | None, state: DialectState) -> int | None:
    """The step of a row: below the line of an epoch, rows that count steps begin anew with each epoch.

    So do the batches of a row with an epoch and a batch.
    """
    if value is None or not value.is_integer():
        return None
    axis = axis_state(state)
    if batch is not None and batch.is_integer():
        return training_step({Counter.EPOCH: (int(value), 0), Counter.BATCH: (int(batch), 0)}, axis)
    if name in _EPOCHS or "announced" not in axis:
        return int(value)
    return training_step({Counter.STEP: (int(value), 0)}, axis)


_BETWEEN_CELLS = rb"(?: {2,40}| ?\t ?| {0,8}[,;] {0,8})"
_AXIS = (
    _TIME_BYTES
    + rb"[ \t]{0,20}(?:#[ \t]{1,20})?(?:(?:data(?:set)?|split|subset|set|phase|mode)"
    + _BETWEEN_CELLS
    + rb")?"
    rb"(?:epochs?|(?:num)?iter(?:ation)?s?|(?:global_)?steps?|E {1,8}#)"
)
_METRICS = rb"(?=[^|:=\n\d ])[^|:=\n]{0,400}(?:loss|acc|score|error|auc|rmse|reward)[^|:=\n]{0,400}"
_HEADING = re.compile(rb"(?im)^" + _AXIS + _BETWEEN_CELLS + _METRICS + rb"$")
_COUNT = rb"(?:[A-Za-z]{2,12}" + _BETWEEN_CELLS + rb")?\d{1,9}(?:\.0)?"
"""What a row counts, behind its data."""
_TABLE = re.compile(
    rb"(?im)^" + _AXIS + rb"(?: {2,40}| ?\t ?)" + _METRICS + rb"$"
    # of names between commas there are rows of numbers right below: else it may be a sentence
    rb"|^" + _AXIS + rb" {0,8}[,;] {0,8}" + _METRICS + rb"\n[ \t]{0,20}" + _COUNT + rb"[ \t,;]{1,20}[-+\d.]"
    rb"[^\n]{0,400}\n[ \t]{0,20}" + _COUNT
)
_NUMBERS = re.compile(
    rb"(?m)^%s(?:[ \t]|\x1b\[\d{0,2}[mJK]){0,40}%s%s[^|=\n]{0,400}$" % (_TIME_BYTES, _COUNT, _BETWEEN_CELLS)
)
DIALECT = ConsoleDialect(
    name="columns",
    signature=_TABLE,
    kinds=(LineKind(pattern=_HEADING, parse=_names), LineKind(pattern=_NUMBERS, parse=_row)),
)

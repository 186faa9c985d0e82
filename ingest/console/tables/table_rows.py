"""What the columns of a table state of its rows, whatever its form: the step of each, and the data it is of.

One column counts, maybe within the epochs of another: `Epoch  Iter  Loss`. Another one may name the data:
`epoch,phase,loss` above `1,train,0.5` and `1,val,0.6`. The rows of the training have the names of the columns
as they are, those of an evaluation the data before them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.evaluation_names import metric_name, name_of_mean
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.steps.known_steps import is_end_of_epoch
from holter.ingest.console.steps.line_counts import Counts
from holter.ingest.console.steps.stated_names import note_names
from holter.ingest.console.steps.step_axis import training_step
from holter.ingest.step_columns import BATCH_NAMES, EPOCH_NAMES
from holter.translated_words import in_english
from holter.types import Labels, labels_of

_EPOCHS = (*EPOCH_NAMES, "e")
_STEPS = ("step", "steps", "iter", "iters", "iteration", "iterations")
"""Names of columns that may count within an epoch."""
_BATCHES = (*BATCH_NAMES, "batches", "batch_index")
"""Names of columns that count within an epoch."""
COUNTERS = (
    *("#", "global_step", "step", "episode", "steps", "iter", "iters", "iteration", "iterations"),
    *("numiters", "training_iteration", *_EPOCHS, "round", "generation"),
)
"""Names of columns that count by themselves, the most reliable one first."""
_OF_DATA = ("split", "subset", "set", "data", "dataset", "dset")
"""Names of columns that name the data of a row."""
_MAY_BE_OF_DATA = ("phase", "mode", "stage", "type")
"""The same of columns that may also have something else, such as `warmup` or `SGD`."""

_DATA_SET = "dataset"
"""The name of a column that is a label of the series, as in tables in CSV."""
_IS_NUMBER = re.compile(r"[-+.\d]{1,40}")
_FIRST_ROWS = 3
"""Rows below the names of columns of which one is read, or else they are reported as unread."""
_LONGEST_SHOWN = 80


class CountingColumns(NamedTuple):
    """The indices of the column that counts and of that of the epochs that it may count within, or -1."""

    step: int
    epoch: int
    counter: Counter


class TableColumns(NamedTuple):
    """The names of columns as `column_name` gives them, and which of them count or may name the data.

    `counting` is None if no column counts; `data` are indices, that of the most likely column first.
    """

    names: tuple[str, ...]
    counting: CountingColumns | None
    data: tuple[int, ...]


def column_name(text: str) -> str:
    """The name of a column in English words and lower case, joined with `_`."""
    return "_".join(in_english(text).lower().split())


@lru_cache(maxsize=64)
def columns_of(names: tuple[str, ...]) -> TableColumns:
    """What the columns of these names are."""
    columns = tuple(map(column_name, names))
    data = [columns.index(name) for name in (*_OF_DATA, *_MAY_BE_OF_DATA) if name in columns]
    return TableColumns(columns, _counting(columns), tuple(data))


def _counting(names: Sequence[str]) -> CountingColumns | None:
    name = next((name for name in COUNTERS if name in names), None)
    if name is None:
        return None
    if name in _EPOCHS:
        batch = next((batch for batch in _BATCHES if batch in names), None)
        if batch is not None:
            return CountingColumns(names.index(batch), names.index(name), Counter.BATCH)
        return CountingColumns(names.index(name), -1, Counter.EPOCH)
    epoch = next((epoch for epoch in _EPOCHS if epoch in names), None) if name in _STEPS else None
    counter = Counter.STEP if name in _STEPS else Counter.GLOBAL_STEP
    return CountingColumns(names.index(name), -1 if epoch is None else names.index(epoch), counter)


def is_data(cell: str) -> bool:
    """Whether a cell states of which data its row is: `train`, `Validation`, `dev`."""
    return _match_of_data(cell) is not None


@lru_cache(maxsize=256)
def _match_of_data(cell: str) -> re.Match[str] | None:
    return DATA_SPLIT.fullmatch(in_english(cell).strip())


def with_data_set(labels: Labels | None, columns: Sequence[str], cells: Sequence[str]) -> Labels | None:
    """The labels of a row, among them the data set that it names, if that is no split: `cifar10`."""
    data = cells[columns.index(_DATA_SET)] if _DATA_SET in columns else ""
    if not data or is_data(data) or _IS_NUMBER.fullmatch(data) is not None:
        return labels
    return labels_of({**dict(labels or ()), _DATA_SET: data[:_LONGEST_SHOWN]})


def evaluated_data(cells: Sequence[str]) -> str:
    """The data of an evaluation by the cells that may name it, the most likely first; "" of the training."""
    found = next((match for cell in cells if (match := _match_of_data(cell))), None)
    return "" if found is None else (found[2] or "").lower()


def counts_of_row(
    counting: CountingColumns, step: int | None, epoch: int | None
) -> dict[Counter, tuple[int, int]]:
    """What a row counts, by the numbers in its cells: maybe its epoch alone, if it has no batch."""
    counts = {}
    if counting.epoch >= 0 and epoch is not None:
        counts[Counter.EPOCH] = (epoch, 0)
    if step is not None:
        counts[counting.counter] = (step, 0)
    needed = Counter.EPOCH if counting.counter is Counter.BATCH else counting.counter
    return counts if needed in counts else {}


def step_of_row(counts: Counts, axis: dict[str, Any], *, is_of_evaluation: bool) -> int | None:
    """The step of a row with its epoch and a count that may begin anew with each epoch, if it has that.

    The batches of an evaluation are its own: it is at the last step of the training. Steps that count through
    all epochs are those of the training as well.
    """
    if counts.keys() == {Counter.EPOCH}:  # the means of the batches above, if there are any
        is_end = is_end_of_epoch(counts, axis)
        return training_step(counts, axis) if is_end else counts[Counter.EPOCH][0]
    if not is_of_evaluation:
        axis.pop("own batches", None)
        return training_step(counts, axis)
    if "step" not in axis:  # there may be nothing but evaluations
        return training_step(counts, axis.setdefault("evaluations", {}))
    number, _ = counts[min(counts)]
    _, last = axis.get("epoch", (0, axis["step"]))
    if axis.get("restarts") is None and number < last:
        axis["own batches"] = True
    if axis.get("restarts") or "own batches" in axis:
        return int(axis["step"])
    return number


def named_values(
    values: Mapping[str, float],
    split: str,
    counts: Counts,
    step: int,
    axis: dict[str, Any],
    *,
    within_epochs: bool,
    is_mean: bool = False,
) -> dict[str, float]:
    """The values of a row by their names, by which the means of an epoch differ from its batches.

    `within_epochs`: the table has a column for the batches or steps of each epoch, or one above it had.
    `is_mean`: the row has the means of an evaluation whose batches have rows of their own.
    """
    if is_mean:
        return {name_of_mean(name, split): value for name, value in values.items()}
    if split or not within_epochs:
        return {metric_name(name, split): value for name, value in values.items()}
    if len(counts) > 1:
        note_names([*values], step, step, axis)
    means = axis.get("names", ()) if is_end_of_epoch(counts, axis) else ()
    return {f"epoch/{name}" if name in means else name: value for name, value in values.items()}


def number_of_part(epoch: float, state: DialectState) -> tuple[int, bool]:
    """The step of a row by its epoch, and whether that may be a part of one: rows are numbered then.

    `0.05`, `0.10`: another row is at another part. Where the parts go back, so do the numbers, by as many
    rows as there are between the two.
    """
    part = state.get("part of epoch")
    if (part is None or not part["is part"]) and epoch.is_integer():
        step = int(epoch)
        state["part of epoch"] = {**(part or {"from": [epoch, step]}), "is part": False, "at": [epoch, step]}
        return step, False
    if part is None or epoch < part["from"][0]:
        part = {"from": [epoch, 1], "at": [epoch, 0]}
    last, step = part["at"]
    if epoch < last:
        step -= round((last - epoch) / part["distance"]) if part.get("distance") else step
        step = max(step, part["from"][1])
    elif epoch > last or not step:
        part["distance"] = epoch - last
        step += 1
    state["part of epoch"] = {**part, "is part": True, "at": [epoch, step]}
    return int(step), True


def note_fit(state: DialectState) -> None:
    """Note a row with as many cells as there are names of columns."""
    state["rows fit"] = True


def has_no_fit(state: DialectState) -> bool:
    """Whether no row had as many cells as there are names so far: a name may lack in the heading."""
    return "rows fit" not in state


def note_misfit(names: Sequence[str], cells: Sequence[str], state: DialectState) -> None:
    """Note a row with other cells than there are names. Raises ValueError if none of the first ones fits."""
    if not any(names) or not has_no_fit(state):
        return
    state["misfits"] = misfits = state.get("misfits", 0) + 1
    if misfits == _FIRST_ROWS:
        shown = ", ".join(names)[:_LONGEST_SHOWN]
        raise ValueError(f"{len(names)} columns as in the names above ({shown}), found {len(cells)}")

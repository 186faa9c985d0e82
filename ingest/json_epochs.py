"""Steps of rows that count steps or batches within epochs, or state an epoch alone, in lines of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from holter.ingest import step_columns
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.steps.known_steps import has_steps
from holter.ingest.console.steps.stated_names import note_names
from holter.ingest.console.steps.step_axis import training_step
from holter.ingest.console.tables.table_rows import (
    columns_of,
    evaluated_data,
    named_values,
    number_of_part,
    step_of_row,
)
from holter.ingest.rows import LogRow
from holter.ingest.step_columns import EPOCH_NAMES, LARGEST_STEP, find_step

_OF_EACH_DATA = "iter"
"""A key by which evaluations count their own batches, also where there are more than the training has."""
_EVALUATION = "val"
_MAX_WRITERS = 4096


class _CountingKeys(NamedTuple):
    """The keys of an object that count epochs and what is within them, "" without one; and those of data."""

    epoch: str
    step: str
    data: tuple[str, ...]


class EpochAxis:
    """Continues steps and batches over epochs where they restart, by the number of them seen in an epoch.

    Rows of an evaluation (`"mode": "val"`) are at the last step of the training. So are those that state
    nothing but an epoch, below rows of its steps, and those that have its number as their step.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._writers: dict[str, dict[str, Any]] = {name: dict(axis) for name, axis in state.items()}
        self._last: dict[str, tuple[int | None, LogRow]] = {}
        """The last row of each writer, with its epoch, that is at its own step and is not noted yet."""

    def state(self) -> dict[str, Any]:
        """What is known of the epochs of each writer, as JSON-able values."""
        for writer in [*self._last]:
            self._note_last(writer)
        return self._writers

    def row(self, logged: Mapping[str, Any], row: LogRow) -> LogRow:
        """A row of an object at its step."""
        keys = _counting_keys(tuple(logged))
        writer = _writer(row) if row.labels or row.attempt else ""
        axis = self._writers.get(writer)
        if axis is None:
            is_one_of_many = bool(row.labels) and not keys.epoch
            if not keys.step or is_one_of_many or len(self._writers) >= _MAX_WRITERS:
                return row
            axis = self._writers[writer] = {}
        epoch = logged.get(keys.epoch) if keys.epoch else None
        if epoch is None or isinstance(epoch, bool) or not isinstance(epoch, int):
            if keys.epoch or row.labels:  # a part of an epoch, or one of many writers
                return row
            if "epoch" not in axis:
                self._last[writer] = None, row
                return row
            self._note_last(writer)
            return _of_last_epoch(row, axis)
        data = evaluated_data([value for key in keys.data if isinstance(value := logged[key], str)])
        if keys.step and step_columns.counts_through_epochs(keys.step):
            axis["restarts"] = False
            if data:  # at its own step, also where no row of the training is above it
                return row
        if keys.step and axis.get("restarts") is False and not data:
            self._last[writer] = epoch, row
            return row
        self._note_last(writer)
        if not keys.step:
            return _of_epoch(row, epoch, axis)
        return _within_epoch(row, epoch, axis, data=data, counts_alone=keys.step == _OF_EACH_DATA)

    def _note_last(self, writer: str) -> None:
        """Note the last row at its own step, as far as it is not."""
        epoch, row = self._last.pop(writer, (None, None))
        if row is None:
            return
        counter = Counter.GLOBAL_STEP if epoch is None else Counter.STEP
        counts = {counter: (row.step, 0), **({} if epoch is None else {Counter.EPOCH: (epoch, 0)})}
        training_step(counts, self._writers[writer])
        _note_names(row, row.step, self._writers[writer])


def _writer(row: LogRow) -> str:
    return "/".join((*([row.attempt] if row.attempt else []), *(value for _, value in row.labels)))


def _note_names(row: LogRow, step: int, axis: dict[str, Any]) -> None:
    if not row.labels:  # there may be thousands of writers
        note_names([*row.values], step, step, axis)


@lru_cache(maxsize=256)
def _counting_keys(keys: tuple[str, ...]) -> _CountingKeys:
    within = step_columns.find_epoch_and_batch(keys)
    step = within[1] if within else find_step(keys) or ""
    epoch = within[0] if within else step if step.lower() in EPOCH_NAMES else ""
    data = tuple(keys[column] for column in columns_of(keys).data)
    return _CountingKeys(epoch, "" if step == epoch else step, data)


def _within_epoch(row: LogRow, epoch: int, axis: dict[str, Any], *, data: str, counts_alone: bool) -> LogRow:
    """A row that counts something within an epoch."""
    if data and counts_alone:
        return row._replace(step=int(axis.get("step", row.step)))
    last, step = axis.get("epoch", (epoch, row.step))
    if "restarts" not in axis and last != epoch and step == row.step and axis.get("names") != [*row.values]:
        return row  # more of the last step, which does not begin anew
    counts = {Counter.EPOCH: (epoch, 0), Counter.STEP: (row.step, 0)}
    at = step_of_row(counts, axis, is_of_evaluation=bool(data))
    if at is None or abs(at) > LARGEST_STEP:
        return row
    if not data:
        _note_names(row, at, axis)
    return row._replace(step=at)


def _of_last_epoch(row: LogRow, axis: dict[str, Any]) -> LogRow:
    """A row that names no epoch, which may have the number of the last one as its step."""
    epoch = axis["epoch"][0]
    if not (row.step < axis["step"] and row.step - epoch in (0, 1)) or axis.get("names") == [*row.values]:
        return row
    values = {metric_name(name, _EVALUATION): value for name, value in row.values.items()}
    return row._replace(step=int(axis["step"]), values=values)


def _of_epoch(row: LogRow, epoch: int, axis: dict[str, Any]) -> LogRow:
    """A row that states nothing but an epoch: it is at the last step of this, if there were any."""
    counts = {Counter.EPOCH: (epoch, 0)}
    if row.step != epoch or not has_steps(axis):
        return row
    at = step_of_row(counts, axis, is_of_evaluation=False)
    if at is None:
        return row
    return row._replace(step=at, values=named_values(row.values, "", counts, at, axis, within_epochs=True))


class PartsOfEpochs:
    """Numbers rows that state nothing but a part of an epoch, `{"epoch": 0.25, "loss": 0.5}`, as in CSV."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._state: dict[str, Any] = dict(state)

    def state(self) -> dict[str, Any]:
        """What is known of the parts, as JSON-able values; empty before the first fraction."""
        return self._state

    def numbered(self, logged: Mapping[str, Any]) -> Mapping[str, Any]:
        """The object, with a step in place of a part of an epoch if it has no other."""
        epoch = logged.get("epoch")
        if not (isinstance(epoch, float) or (self._state and isinstance(epoch, int))):
            return logged
        if isinstance(epoch, bool) or not abs(epoch) <= LARGEST_STEP or find_step([*logged]) != "epoch":
            return logged
        step, is_part = number_of_part(float(epoch), self._state)
        return {"step": step, **logged} if is_part else {**logged, "epoch": step}

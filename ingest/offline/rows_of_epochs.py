"""Counts the rows of a table that states nothing but epochs, of which each has many: those of its batches.

For a file that was given by hand. As among printed lines, more rows than processes would log are steps; a few
rows of an epoch stay at it, each with a label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import ClassVar

import numpy as np

from holter.ingest import step_columns
from holter.ingest.console.writers.repeated_rows import REPEAT
from holter.ingest.json_objects import flatten_object, read_object
from holter.ingest.offline.whole_file import WholeFile
from holter.types import Batch, Column, SeriesKey, Unreadable, labels_of

_LEAST_ROWS = 9
"""Rows of an epoch that are more than those of processes."""
_LEAST_EPOCHS = 0.5
"""Of the epochs of a table, or all but the last of two, that have so many rows."""


class RowsOfEpochs(WholeFile):
    """Rows of a format that are steps of their own, with their epochs as values."""

    name: ClassVar[str] = "rows-of-epochs"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The rows, counted from the first epoch on; nothing of a table whose epochs have a few rows each."""
        if not _states_epochs(text):
            return
        found = [*self.read_lines(path, text.encode())]
        batches = [each for each in found if isinstance(each, Batch) and len(each.steps)]
        if _have_many_rows(batches):
            yield from (each for each in found if not isinstance(each, Batch))
            yield from _counted(batches)


def _states_epochs(text: str) -> bool:
    """Whether the first line names an epoch, and nothing that counts within it."""
    line = text.split("\n", 1)[0].strip()
    try:
        names = [name for name, _ in flatten_object(read_object(line.encode()))]
    except ValueError:
        names = [name.strip(' "') for name in line.split(max(",\t;", key=line.count))]
    step = step_columns.find_step(names)
    is_epoch = step is not None and step.lower() in step_columns.EPOCH_NAMES
    return is_epoch and step_columns.find_epoch_and_batch(names) is None


def _have_many_rows(batches: list[Batch]) -> bool:
    """Whether most epochs have more rows of a series than processes would log."""
    epochs: set[int] = set()
    long: set[int] = set()
    for batch in batches:
        if batch.attempt is not None:
            return False
        epochs.update(batch.steps.tolist())
        for column in batch.columns:
            labels = dict(column.key.labels)
            number = int(labels.pop(REPEAT, 1))
            if labels:  # rows of several trainings
                return False
            if number >= _LEAST_ROWS:
                rows = slice(None) if column.rows is None else column.rows
                long.update(batch.steps[rows].tolist())
    return len(long) >= max(1, _LEAST_EPOCHS * (len(epochs) - 1))


def _counted(batches: list[Batch]) -> Iterator[Batch]:
    """The batches at steps that count their rows; where the epochs go back, they begin anew."""
    first = before = int(batches[0].steps[0])
    step = first
    for batch in batches:
        steps = []
        for epoch in batch.steps.tolist():
            if epoch < before:
                step = epoch
            steps.append(step)
            before, step = epoch, step + 1
        columns: dict[SeriesKey, list[Column]] = {}
        for column in batch.columns:
            columns.setdefault(_unlabelled(column.key), []).append(column)
        epochs = Column(key=SeriesKey("epoch"), values=batch.steps.astype(np.float64))
        joined = [_joined(key, parts, len(steps)) for key, parts in columns.items()]
        yield replace(batch, steps=np.array(steps, dtype=np.int64), columns=(*joined, epochs))


def _unlabelled(key: SeriesKey) -> SeriesKey:
    labels = {name: value for name, value in key.labels if name != REPEAT}
    return SeriesKey(key.metric, labels_of(labels))


def _joined(key: SeriesKey, parts: list[Column], size: int) -> Column:
    """One column of those that have the values of different rows."""
    rows = [np.arange(size) if part.rows is None else part.rows for part in parts]
    order = np.argsort(np.concatenate(rows), kind="stable")
    values = np.concatenate([part.values for part in parts])[order]
    return Column(key=key, values=values, rows=np.concatenate(rows)[order])

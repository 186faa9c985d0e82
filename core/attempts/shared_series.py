"""Tells writers apart that log the same series in one attempt: those of later writers get a label `writer`.

The first writer of a series in an attempt owns it. A writer that logs steps of a series which its owner has
logged, too, is another process or file with values of its own: from then on its series has the label. A
writer that continues where another one ended (a rotated log, a reopened event file) is not told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from holter.attempts.writers import SeriesProgress, WriterState
from holter.types import Batch, Column, DenseColumns, SeriesKey, SeriesLayout, labels_of

WRITER_LABEL = "writer"
_MAX_LABEL = 200  # characters of a writer's name: the end of a path distinguishes it best


class SeriesOwners:
    """The owner of each series of each attempt, among the series that writers are tracked by.

    Derived from the states of the writers, which are stored: it costs nothing to store, and only a writer
    that shares a series with another one is looked at with every batch.
    """

    def __init__(self) -> None:
        self._owners: dict[int, dict[SeriesKey, str]] = {}

    def check(self, name: str, writers: Mapping[str, WriterState]) -> None:
        """Find the series by which a writer is to be told apart, after its batch was recorded."""
        state = writers[name]
        if state.attempt not in self._owners:
            self._owners[state.attempt] = _first_writers(state.attempt, writers, latest=name)
        owners = self._owners[state.attempt]
        is_sole = True
        for key, progress in state.series.items():
            if not progress.count or key in state.distinguished:
                continue
            owner = owners.setdefault(key, name)
            if owner == name:
                continue
            other = writers.get(owner)
            if other is None or other.attempt != state.attempt or key not in other.series:
                owners[key] = name  # the owner is in another attempt by now
                continue
            is_sole = False
            if _overlap(other.series[key], progress) and key.label(WRITER_LABEL) is None:
                state.distinguished.add(key)
        state.sole_owner = is_sole


def _first_writers(attempt: int, writers: Mapping[str, WriterState], *, latest: str) -> dict[SeriesKey, str]:
    """The writer of each series that began at the lowest step, of those that are not told apart by it.

    Of those that began at the same step it is none that did so with the `latest` batch: the others are known
    from before.
    """
    first: dict[SeriesKey, tuple[int, bool, str]] = {}
    for name, state in writers.items():
        if state.attempt == attempt:
            for key, progress in state.series.items():
                if progress.count and key not in state.distinguished:
                    begun = (progress.low, name == latest, name)
                    first[key] = min(first.get(key, begun), begun)
    return {key: name for key, (_, _, name) in first.items()}


def _overlap(owner: SeriesProgress, other: SeriesProgress) -> bool:
    """Whether two writers logged common steps. The last step of one may be the first of its successor."""
    if other.low > owner.step or owner.low > other.step:
        return False
    continues = other.low == owner.step and owner.low < owner.step
    precedes = owner.low == other.step and other.low < other.step
    return not (continues or precedes)


class WriterLabels:
    """Adds the label to the series of one writer."""

    def __init__(self, writer: str) -> None:
        self._label = (WRITER_LABEL, writer[-_MAX_LABEL:])
        self._layouts: WeakKeyDictionary[SeriesLayout, SeriesLayout] = WeakKeyDictionary()

    def apply(self, batch: Batch, state: WriterState) -> Batch:
        """The batch with the label at the series that are told apart.

        Only some of a writer's series are tracked; the others of a writer that is told apart get it, too.
        """
        columns = batch.columns
        if isinstance(columns, DenseColumns):
            layout = self._layouts.get(columns.layout)
            keys = [self._key(key, state) for key in columns.layout.keys]
            if layout is None or list(layout.keys) != keys:
                layout = self._layouts[columns.layout] = SeriesLayout(keys)
            return batch.with_columns(DenseColumns(layout, columns.values))
        return batch.with_columns(
            tuple(
                Column(key=self._key(column.key, state), values=column.values, rows=column.rows)
                for column in columns
            )
        )

    def _key(self, key: SeriesKey, state: WriterState) -> SeriesKey:
        if key in state.series and key not in state.distinguished:
            return key
        if key.step_unit is not None or key.label(WRITER_LABEL) is not None:
            return key
        return SeriesKey(key.metric, labels_of(dict((*key.labels, self._label))))

"""Attempts: assigns each row of a run to a launch of the job, as rows arrive.

An attempt that the log names decides first, then the writer's identity and the wall clock, then steps that go
backwards. Rows are assigned in the order in which a writer logged them, so the way they were cut into batches
does not matter. Series with steps of their own have no influence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any

import numpy as np

from holter.attempts.config import PendingConfig, attach_config
from holter.attempts.shared_series import SeriesOwners, WriterLabels
from holter.attempts.step_regressions import BatchRow, BatchRows
from holter.attempts.writers import SeriesProgress, WriterState
from holter.types import Batch, SeriesKey

_MAX_LAUNCH_COUNTER = 10_000  # numbers from here on are job ids, not launch counters
_UNDECIDED_ROWS = 100  # rows after which a new writer that shares no series with others is assigned for good
_SILENCE_SECONDS = 60.0  # without points that mean a new launch, where the interval of points is unknown
_SILENCE_INTERVALS = 3.0  # the same in intervals of points, where that is known
_WINDOW = 256  # rows, the first window of a search


def _nan_to_none(time: float) -> float | None:
    return None if isnan(time) else time


@dataclass(slots=True)
class Attempts:
    """The attempts of one run. `started` has the wall time of each one's first row, NaN without a clock."""

    names: dict[str, int] = field(default_factory=dict)
    started: dict[int, float] = field(default_factory=dict)
    writers: dict[str, WriterState] = field(default_factory=dict)
    _owners: SeriesOwners = field(default_factory=SeriesOwners)
    _labels: dict[str, WriterLabels] = field(default_factory=dict)

    def split(self, writer: str, batch: Batch) -> list[tuple[int, Batch]]:
        """Cut a writer's batch into segments, each with the number of its attempt and the attempt's config.

        The segments are in the batch's order and share its arrays. `rows` of each column ascend. Pending
        config comes with the row that assigns it to a launch. Series that another writer logs at the same
        steps of the same attempt get a label `writer`.
        """
        segments = self._split(writer, batch)
        state = self.writers.get(writer)
        if state is None or not len(batch.steps):
            return segments
        if not state.sole_owner:
            self._owners.check(writer, self.writers)
        if not state.distinguished:
            return segments
        labels = self._labels.setdefault(writer, WriterLabels(writer))
        return [(number, labels.apply(piece, state)) for number, piece in segments]

    def _split(self, writer: str, batch: Batch) -> list[tuple[int, Batch]]:
        if not len(batch.steps):
            return self._assign_config(writer, batch)
        known = self.writers.get(writer)
        stated = batch.config
        if known is not None and known.config:
            stated = known.config | dict(stated)
            known = None if known.silent else known
        if batch.attempt is not None:
            number = self._named(batch.attempt, float(batch.times[0]))
            state = known or WriterState(number)
            if state.attempt != number:
                state.enter(number)
        else:
            attempt = self._current(float(batch.times[0]))
            state = known or WriterState(attempt, _UNDECIDED_ROWS, batch.restarts)
        self.writers[writer] = state
        state.track_series(batch.columns)
        rows = BatchRows(batch, state.series)
        assigning_row = rows.first_training_row() if stated else None
        if batch.attempt is not None:
            rows.record(state, 0, len(batch.steps))
            segments, assigning_row = [(state.attempt, batch)], 0
        else:
            marked = batch.restarts and known is not None
            cuts = list(self._assign_rows(state, rows, marked=marked))
            ends = [row for row, _ in cuts[1:]] + [len(batch.steps)]
            segments = [(number, batch.cut(row, end)) for (row, number), end in zip(cuts, ends, strict=True)]
        if not stated:
            return segments
        state.config = dict(stated) if assigning_row is None else {}
        return attach_config(segments, stated, -1 if assigning_row is None else assigning_row)

    def pending_config(self) -> list[PendingConfig]:
        """Config that writers stated of launches that no row has assigned, in the order of writers' names."""
        return [config for _, writer in sorted(self.writers.items()) for config in writer.pending_config()]

    def _assign_config(self, writer: str, batch: Batch) -> list[tuple[int, Batch]]:
        """Config without rows is pending until the writer's next row, unless the log names the launch."""
        if not batch.config:
            return []
        if batch.attempt is not None:
            return [(self._named(batch.attempt, nan), batch)]
        known = self.writers.setdefault(writer, WriterState(max(self.started, default=0), silent=True))
        if known.silent and batch.restarts:
            known.restate_config(batch.config, max(self.started, default=-1))
        else:
            known.config.update(batch.config)
        return []

    def to_json(self) -> dict[str, Any]:
        """The state as JSON-able values."""
        return self.run_state() | {
            "writers": {name: writer.to_json() for name, writer in self.writers.items()}
        }

    def run_state(self) -> dict[str, Any]:
        """The state without the writers, which a store stores one by one."""
        started = [[number, _nan_to_none(time)] for number, time in self.started.items()]
        return {"names": self.names, "started": started}

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Attempts:
        """The attempts from the values that `to_json` returned; none for an empty mapping."""
        return cls(
            names=dict(state.get("names", {})),
            started={number: nan if time is None else time for number, time in state.get("started", [])},
            writers={name: WriterState.from_json(known) for name, known in state.get("writers", {}).items()},
        )

    def _open(self, number: int, time: float) -> int:
        if isnan(self.started.get(number, nan)):
            self.started[number] = time
        return number

    def _next(self) -> int:
        return max(self.started, default=-1) + 1

    def _named(self, name: str, time: float) -> int:
        is_counter = name.isascii() and name.isdecimal() and int(name) < _MAX_LAUNCH_COUNTER
        number = int(name) if is_counter else self.names.get(name, self._next())
        self.names[name] = number
        return self._open(number, time)

    def _current(self, time: float) -> int:
        """The attempt that was running at a wall time; the newest where the log has no clock."""
        if not self.started:
            return self._open(0, time)
        earlier = [number for number, start in self.started.items() if not start > time]
        return max(earlier, default=min(self.started))

    def _assign_rows(
        self, writer: WriterState, rows: BatchRows, *, marked: bool
    ) -> Iterator[tuple[int, int]]:
        """The rows from which the writer is in another attempt, with its number; always the first row."""
        position, window, size = 0, _WINDOW, len(rows.steps)
        if marked:
            self._enter(writer, self._newer(writer, rows.row(0, restarts=True)), float(rows.times[0]))
        yielded = None
        while position < size:
            stop = min(size, position + window) if not rows.rising else size
            change = self._next_change(writer, rows, position, stop)
            end = stop if change is None else change[0]
            if yielded != writer.attempt and end > position:
                yield position, writer.attempt
                yielded = writer.attempt
            rows.record(writer, position, end)
            if change is not None:
                self._enter(writer, change[1], float(rows.times[end]))
            # windows bound the work where a log goes back again and again
            window = 2 * window if change is None else _WINDOW
            position = end

    def _enter(self, writer: WriterState, number: int, time: float) -> None:
        writer.enter(self._open(number, time))

    def _next_change(
        self, writer: WriterState, rows: BatchRows, start: int, stop: int
    ) -> tuple[int, int] | None:
        """The first row in [start, stop) at which the writer changes its attempt, and the new attempt."""
        while True:
            shared = self._first_shared_row(writer, rows, start, stop)
            newer = self._first_row_of_newer_attempt(writer, rows, start, stop)
            back = rows.first_regression(writer, start, stop)
            row = min((index for index in (shared, newer, back) if index is not None), default=None)
            if row is None:
                return None
            if row == shared:
                number = self._decide(writer, rows.row(row))
            elif row == newer:
                number = self._compare_with_newest(writer, rows.row(row))
            else:
                number = self._newer(writer, rows.row(row))
            if number != writer.attempt:
                return row, number

    def _first_shared_row(self, writer: WriterState, rows: BatchRows, start: int, stop: int) -> int | None:
        """The first row in which a new writer logs a clock series that others log in its attempt."""
        if not writer.undecided or start >= stop:
            return None
        stop = min(stop, rows.row_after_training_rows(start, writer.undecided))
        return rows.first_row_of(self._clock(writer.attempt, writer), start, stop)

    def _decide(self, writer: WriterState, row: BatchRow) -> int:
        """The attempt of a new writer: its present one, a newer one, or the next."""
        writer.undecided = 0
        return self._first_possible(writer, writer.attempt, row._replace(restarts=writer.restarts))

    def _newer(self, writer: WriterState, row: BatchRow) -> int:
        """The attempt of a known writer that starts again: one that others have begun, or the next."""
        newer = [number for number in self.started if number > writer.attempt]
        under_way = [number for number in newer if not self.started[number] > row.time]
        if not newer:
            return self._next()
        return self._first_possible(writer, max(under_way) if under_way else min(newer), row)

    def _first_possible(self, writer: WriterState, number: int, row: BatchRow) -> int:
        """The first attempt from `number` on that a row can belong to; the next one where there is none."""
        for candidate in sorted(known for known in self.started if known >= number):
            if not self._conflicts(writer, candidate, row):
                return candidate
        return self._next()

    def _first_row_of_newer_attempt(
        self, writer: WriterState, rows: BatchRows, start: int, stop: int
    ) -> int | None:
        """The first row after the start of an attempt that the writer has not been compared with yet."""
        compared = max(writer.attempt, writer.compared_with)
        begun = [time for number, time in self.started.items() if number > compared and not isnan(time)]
        later = rows.times[start:stop] >= min(begun) if begun else ()
        return start + int(np.argmax(later)) if np.any(later) else None

    def _compare_with_newest(self, writer: WriterState, row: BatchRow) -> int:
        """The attempt of a writer when the job is launched again.

        A writer of other series joins the new launch; one whose series another writer logs there stays.
        """
        number = max(number for number, time in self.started.items() if time <= row.time)
        writer.compared_with = number
        rivals = self._clock(number, writer).keys() & set(row.keys)
        return writer.attempt if rivals else number

    def _clock(self, attempt: int, excluded: WriterState) -> dict[SeriesKey, SeriesProgress]:
        """The series that show an attempt's progress: those with at least half as many points as its longest.

        Points of the writer `excluded` do not count.
        """
        merged: dict[SeriesKey, SeriesProgress] = {}
        for writer in self.writers.values():
            if writer.attempt == attempt and writer is not excluded:
                for key, progress in writer.series.items():
                    if progress.count:
                        total = merged.setdefault(key, SeriesProgress())
                        total.record(
                            progress.count, progress.low, progress.step, progress.first, progress.last
                        )
        most = max((progress.count for progress in merged.values()), default=0)
        return {key: progress for key, progress in merged.items() if 2 * progress.count >= most}

    def _conflicts(self, writer: WriterState, attempt: int, row: BatchRow) -> bool:
        """Whether a row cannot be part of an attempt, by what other writers logged there."""
        clock = self._clock(attempt, writer)
        latest = max((progress.last for progress in clock.values() if not isnan(progress.last)), default=nan)
        return any(_is_other_launch(clock[key], latest, row) for key in row.keys if key in clock)


def _is_other_launch(progress: SeriesProgress, latest: float, row: BatchRow) -> bool:
    """Whether a row of a new writer must come from another launch than the points of its attempt."""
    if isnan(row.time) or isnan(progress.last):
        return row.restarts or row.step <= progress.step
    if row.time <= progress.last:
        return False
    interval = (progress.last - progress.first) / (progress.count - 1) if progress.count > 1 else 0.0
    silence = _SILENCE_INTERVALS * interval if interval else _SILENCE_SECONDS
    return row.restarts or row.step < progress.step or row.time - latest > silence

"""Segments: a series split into its attempts, without the points that are not finite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.positions import attempt_rows
from holter.detectors.step_unit import step_unit
from holter.types import FloatArray, IntArray, Series

_VALUE_LIMIT = 1e30
"""Values are clipped to this magnitude, so that sums of them stay finite."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AttemptSegment:
    """The finite points [n] of one attempt of a series, in the order of their steps.

    Point i is row `rows[i]` of the series or, where `rows` is None, row `first_row + i`. `unit`: how many
    steps of the log are one optimizer step.
    """

    attempt: int
    step: IntArray
    value: FloatArray
    first_row: int = 0
    rows: IntArray | None = None
    unit: int = 1

    def clock_from(self, first: int) -> IntArray:
        """The steps of the points from `first` on, in optimizer steps."""
        return self.step[first:] if self.unit == 1 else self.step[first:] // self.unit

    def optimizer_steps(self, steps: int) -> int:
        """How many optimizer steps a number of steps of the log are."""
        return steps // self.unit

    def row(self, index: int) -> int:
        """The row of the series that holds a point."""
        return self.first_row + index if self.rows is None else int(self.rows[index])

    @property
    def begins_at_zero(self) -> bool:
        """Whether its first step is at most its own logging interval: nothing was logged, or trained, before.
        Unknown, and False, at the first point."""
        return len(self.step) > 1 and int(self.step[0]) <= self.steps_since_previous(1)

    def spacing(self, first: int, stop: int) -> IntArray:
        """Steps since the previous point, for the points from `first` to `stop` (exclusive), at least 1.

        The first point of the segment has the spacing of the second.
        """
        if len(self.step) < 2:
            return np.ones(stop - first, dtype=np.int64)
        differences = np.diff(self.step[max(first - 1, 0) : max(stop, 2)])
        spacing: IntArray = np.maximum(
            differences if first else np.concatenate((differences[:1], differences)), 1
        )
        return spacing[: stop - first]

    def steps_since_previous(self, index: int) -> int:
        """Steps between a point and the previous one."""
        return int(self.spacing(index, index + 1)[0])


def split_attempts(series: Series, state: IncrementalState) -> list[AttemptSegment]:
    """A series split into its attempts, without non-finite values and with huge values clipped."""
    checkpoints: ScanCheckpoints[frozenset[int]] = state.checkpoints(("segments", series.key), [series])
    checkpoint = checkpoints.latest([series]) or Checkpoint(frozenset(), (0,))
    new_rows = slice(checkpoint.rows[0], len(series))
    unusable = ~(np.abs(series.value[new_rows]) <= _VALUE_LIMIT)
    attempts_to_clean = checkpoint.state | set(series.attempt[new_rows][unusable].tolist())
    checkpoints.save(Checkpoint(attempts_to_clean, (len(series),)))
    segments = []
    unit = step_unit(series)
    for attempt, first, stop in attempt_rows(series):
        step, value, rows = series.step[first:stop], series.value[first:stop], None
        if attempt in attempts_to_clean:
            finite = np.flatnonzero(np.isfinite(value))
            step, value, rows = (
                step[finite],
                np.clip(value[finite], -_VALUE_LIMIT, _VALUE_LIMIT),
                first + finite,
            )
        if len(step):
            segments.append(
                AttemptSegment(attempt=attempt, step=step, value=value, first_row=first, rows=rows, unit=unit)
            )
    return segments

"""The steps that a run had reached at given wall times, for events that are known by their time only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from holter.detectors.positions import Position
from holter.types import FloatArray, IntArray, RunData

YEAR_9999 = 2.5e11
"""In Unix seconds: a larger number is not a wall time."""


@dataclass(frozen=True, eq=False)
class RunClock:
    """The rows of the series that was logged most often, in the order of their wall times."""

    time: FloatArray
    attempt: IntArray
    step: IntArray

    def at(self, time: float) -> Position:
        """The last position that was logged by a time; the first one for earlier times."""
        row = max(int(np.searchsorted(self.time, time, side="right")) - 1, 0)
        return int(self.attempt[row]), int(self.step[row])

    def time_of(self, position: Position) -> float | None:
        """The time at which a position was logged, None where it was not."""
        rows = np.flatnonzero((self.attempt == position[0]) & (self.step == position[1]))
        return float(self.time[rows[0]]) if len(rows) else None

    def last_step(self, attempt: int) -> int | None:
        """The last step that an attempt logged, None where it logged none."""
        rows = np.flatnonzero(self.attempt == attempt)
        return int(self.step[rows[-1]]) if len(rows) else None


def run_clock(run: RunData) -> RunClock | None:
    """The clock of a run, None where no series of training has wall times."""
    candidates = [key for key in run.series if key.step_unit is None]
    for key in sorted(candidates, key=lambda key: (-len(run.series[key]), key)):
        series = run.series[key]
        timed = np.isfinite(series.time)
        if timed.any():
            rows = slice(None) if timed.all() else np.flatnonzero(timed)
            time, attempt, step = series.time[rows], series.attempt[rows], series.step[rows]
            if np.all(time[1:] >= time[:-1]):  # the usual case: nothing is copied
                return RunClock(time, attempt, step)
            order = np.argsort(time, kind="stable")
            return RunClock(time[order], attempt[order], step[order])
    return None


def format_wall_time(time: float) -> str:
    """A wall time as a date in UTC; a number that is not a wall time as seconds."""
    if not 0 <= time < YEAR_9999:
        return f"{time:g} s"
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"

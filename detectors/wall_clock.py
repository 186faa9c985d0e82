"""The run's own clock: which step it had come to at a wall time, for what is told by the clock alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from holter.detectors.positions import Position
from holter.types import FloatArray, IntArray, RunData

YEAR_9999 = 2.5e11
"""In Unix seconds: what is later is no wall time."""


@dataclass(frozen=True, eq=False)
class RunClock:
    """The rows of the series that was logged most often, in the order of their wall times."""

    time: FloatArray
    attempt: IntArray
    step: IntArray

    def at(self, moment: float) -> Position:
        """The last place that was logged by a moment; the first one before that."""
        row = max(int(np.searchsorted(self.time, moment, side="right")) - 1, 0)
        return int(self.attempt[row]), int(self.step[row])

    def time_of(self, place: Position) -> float | None:
        """When a place was logged, None where it was not."""
        rows = np.flatnonzero((self.attempt == place[0]) & (self.step == place[1]))
        return float(self.time[rows[0]]) if len(rows) else None

    def last_step(self, attempt: int) -> int | None:
        """The last step that an attempt logged."""
        rows = np.flatnonzero(self.attempt == attempt)
        return int(self.step[rows[-1]]) if len(rows) else None


def run_clock(run: RunData) -> RunClock | None:
    """The clock of a run, None where no series of training has wall times."""
    telling = [key for key in run.series if key.step_unit is None]
    for key in sorted(telling, key=lambda key: (-len(run.series[key]), key)):
        one = run.series[key]
        known = np.isfinite(one.time)
        if known.any():
            rows = slice(None) if known.all() else np.flatnonzero(known)
            time, attempt, step = one.time[rows], one.attempt[rows], one.step[rows]
            if np.all(time[1:] >= time[:-1]):  # as a rule: then nothing is copied
                return RunClock(time, attempt, step)
            order = np.argsort(time, kind="stable")
            return RunClock(time[order], attempt[order], step[order])
    return None


def format_wall_time(moment: float) -> str:
    """A wall time as people read it, in UTC; one that is none as seconds."""
    if not 0 <= moment < YEAR_9999:
        return f"{moment:g} s"
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S} UTC"

"""Detects slow rises over many thousands of points: against the best level that a run has held so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import hypot

import numpy as np

from holter.detectors.positions import RowPosition
from holter.detectors.robust_statistics import median, median_error
from holter.detectors.thresholds import Thresholds
from holter.detectors.throughput.block_medians import MedianBlock
from holter.detectors.throughput.established_level import UNKNOWN_STEPS, LevelShift
from holter.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class SlowDriftThresholds(Thresholds):
    """When a slow rise is reported."""

    window_blocks: int = 128
    """Blocks of a window: its median is one level of the run."""
    horizons: tuple[int, ...] = (1, 4, 16)
    """Windows whose mean is compared: a rise that hides in the waves of short ones shows in long ones."""
    known_windows: int = 6
    """Windows of a horizon before which nothing is reported."""
    rise_steps: float = 8.0
    """Times the usual step from one window to the next (a median) that a rise must exceed."""
    median_errors: float = 5.0
    """Standard errors of the difference of two levels that a rise must exceed: of steps that take one of
    several times, the median is one of those for a while."""
    smallest_factor: float = 1.7
    """Times the smallest rise of sudden changes: 5 %, since the best of many levels is a low one."""
    memory_windows: int = 4096
    """Windows that are compared, the latest ones."""
    begun_share: float = 0.1
    """Share of the rise from which on it counts as begun."""
    return_share: float = 0.5
    """Share of the rise below which it is over."""


@dataclass(frozen=True)
class _WindowLevel:
    """A level: the median of blocks from `begin` to `end`, and its standard error."""

    begin: RowPosition
    end: RowPosition
    level: float
    error: float


class SlowDriftScan:
    """Compares medians of long windows with the lowest before; one rise at a time.

    A sudden shift starts the comparison anew, when it begins and when it ends: it is reported as what it is.
    The cost is constant per block; `shifts` are in the order of their detection.
    """

    def __init__(self, *, smallest: float, sensitivity: float, limits: SlowDriftThresholds) -> None:
        self.shifts: list[LevelShift] = []
        self._smallest = smallest * limits.smallest_factor / sensitivity
        self._sensitivity = sensitivity
        self._limits = limits
        self._group = -1
        self._blocks: list[MedianBlock] = []
        self._windows: list[_WindowLevel] = []

    def copy(self) -> SlowDriftScan:
        """An independent copy that can be continued."""
        other = SlowDriftScan.__new__(SlowDriftScan)
        other.__dict__ |= self.__dict__
        other.shifts, other._blocks = self.shifts.copy(), self._blocks.copy()
        other._windows = self._windows.copy()
        return other

    def scan(self, block: MedianBlock, sudden: Iterable[LevelShift]) -> None:
        """Scan the block that follows; `sudden` are all sudden shifts up to there."""
        if block.group != self._group:
            self._group, self._blocks, self._windows = block.group, [], []
        self._blocks.append(block)
        if len(self._blocks) == self._limits.window_blocks:
            self._close_window(sudden)

    def _close_window(self, sudden: Iterable[LevelShift]) -> None:
        blocks, self._blocks = self._blocks, []
        medians = np.array([block.median for block in blocks])
        error = median_error(medians, len(medians))
        window = _WindowLevel(blocks[0].begin, blocks[-1].end, median(medians), error)
        since = self._windows[0].begin.row if self._windows else window.begin.row
        if any(shift.start.row >= since for shift in sudden) or any(
            shift.end is not None and shift.end.row >= since for shift in sudden
        ):
            self._windows = []
            return
        self._windows = [*self._windows[1 - self._limits.memory_windows :], window]
        if self.shifts and self.shifts[-1].end is None:
            self._follow(window)
        else:
            self._detect()

    def _follow(self, window: _WindowLevel) -> None:
        shift = self.shifts[-1]
        rise = window.level - shift.reference
        if rise > shift.rise:
            shift = shift._replace(rise=rise, worst=window.end)
        if rise < self._limits.return_share * shift.rise:
            shift = shift._replace(end=window.begin)
            self._windows = [window]
        self.shifts[-1] = shift._replace(longest=_steps(shift.start, window.end))

    def _detect(self) -> None:
        limits = self._limits
        for horizon in limits.horizons:
            levels = self._levels(horizon)
            if len(levels) < limits.known_windows:
                continue
            best = min(range(len(levels) - 1), key=lambda index: levels[index].level)
            now = min(levels[-1], levels[-2], key=lambda each: each.level)
            rise = now.level - levels[best].level
            if rise <= self._smallest:
                continue  # as mostly
            by_chance = max(
                limits.rise_steps * median(_moves(levels)),
                limits.median_errors * hypot(now.error, levels[best].error),
            )
            if rise > by_chance / self._sensitivity:
                self._open(levels, best, rise)
                return

    def _levels(self, horizon: int) -> list[_WindowLevel]:
        """Means of `horizon` windows each, the latest last."""
        if horizon == 1:
            return self._windows
        windows = self._windows[len(self._windows) % horizon :]
        parts = [windows[row : row + horizon] for row in range(0, len(windows), horizon)]
        return [
            _WindowLevel(
                part[0].begin,
                part[-1].end,
                sum(each.level for each in part) / horizon,
                hypot(*(each.error for each in part)) / horizon,
            )
            for part in parts
        ]

    def _open(self, levels: list[_WindowLevel], best: int, rise: float) -> None:
        reference, now = levels[best].level, levels[-1]
        begun = max(
            (
                row
                for row in range(best, len(levels))
                if levels[row].level < reference + self._limits.begun_share * rise
            ),
            default=best,
        )
        start = levels[begun].end
        self.shifts.append(
            LevelShift(
                start=start,
                detected=now.end,
                reference=reference,
                noise=median(_moves(levels)),
                gradual=True,
                rise=rise,
                worst=now.end,
                longest=_steps(start, now.end),
                before=UNKNOWN_STEPS,
            )
        )


def _moves(levels: list[_WindowLevel]) -> FloatArray:
    """The distances of neighbouring levels."""
    return np.array([abs(later.level - earlier.level) for earlier, later in pairwise(levels)])


def _steps(first: RowPosition, last: RowPosition) -> int:
    return last.step - first.step if first.attempt == last.attempt else UNKNOWN_STEPS

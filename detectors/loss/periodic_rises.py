"""Rises that a run repeats: at the boundaries of its epochs, or at a period of its own.

A loss that is averaged since the epoch began, or data seen in one order, jumps at every boundary. What
repeats at the same size is how the run is; a jump at another place, or a larger one, is an event.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

import numpy as np

from holter.detectors.loss.detections import LossDetection
from holter.detectors.positions import rows_of_attempt
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import RunData, Series


@dataclass(frozen=True, kw_only=True)
class PeriodicRiseThresholds(Thresholds):
    """When a rise is a repetition of earlier ones."""

    equal_intervals: int = 2
    """Intervals between earlier rises that must equal the last one: chance often makes one pair equal."""
    usual_intervals: int = 1
    """Such intervals after which a rise is still reported, as a usual one: information."""
    tolerance_points: int = 2
    """Points by which intervals may differ, or a rise may miss the boundary of an epoch."""
    epoch_points: int = 8
    """Points that an epoch must have, at least, for its boundary to tell of a rise: of fewer, most points are
    within `tolerance_points` of a boundary, by chance."""
    tolerance_share: float = 0.01
    """Share of an interval by which intervals may differ."""
    missed: int = 3
    """Periods that an interval may have: smaller rises between two are not detected."""
    equal_jumps: int = 3
    """Jumps at equal distances before the one at which a rise began, from which on it is a repetition..."""
    usual_jumps: int = 2
    """... and from which on it is reported as a usual one."""
    usual_rises: int = 3
    """Latest rises, as high or nearly so, all of which came back before, after which a rise is usual."""
    larger: float = 2.0
    """Times the height of the earlier rises from which on a rise is no repetition."""


def without_repetitions(
    run: RunData, detections: Iterable[LossDetection], thresholds: PeriodicRiseThresholds
) -> list[LossDetection]:
    """The detections of one series, in order, without rises that only repeat earlier ones."""
    epochs = next((run.series[key] for key in sorted(run.series) if role_of(key) is Role.EPOCH), None)
    rises: list[_Rise] = []
    remaining = []
    for detection in detections:
        excursion = detection.excursion
        if excursion.at_restart or excursion.down or excursion.is_outlier:
            remaining.append(detection)
            continue
        rise = _Rise.of(detection, epochs, thresholds)
        repeats = rise.repeats_boundary(rises, thresholds)
        repeats = repeats or rise.repeats_period(rises, thresholds, thresholds.equal_intervals)
        repeats = repeats or excursion.jumps >= thresholds.equal_jumps
        # a point that the noise explains was reported as one before it was known that the rise goes on
        is_usual = rise.is_usual_after(rises, thresholds) or excursion.jumps >= thresholds.usual_jumps
        is_usual = is_usual or rise.repeats_period(rises, thresholds, thresholds.usual_intervals)
        if not repeats or excursion.explained:
            remaining.append(replace(detection, is_usual=is_usual or repeats))
        rises.append(rise)
    return remaining


@dataclass(frozen=True, kw_only=True)
class _Rise:
    """A rise at a step of an attempt; its height is that at its detection, its tolerance is in steps.

    It was detected at the step `detected` and certain to be over at the step `back`, None while it is not.
    """

    attempt: int
    step: int
    height: float
    tolerance: int
    detected: int
    back: int | None
    at_boundary: bool

    @staticmethod
    def of(detection: LossDetection, epochs: Series | None, thresholds: PeriodicRiseThresholds) -> _Rise:
        excursion, segment = detection.excursion, detection.segment
        values = segment.value[excursion.start : excursion.detected + 1]
        tolerance = thresholds.tolerance_points * segment.steps_since_previous(excursion.start)
        step = int(segment.step[excursion.start])
        spacing = tolerance // thresholds.tolerance_points
        boundary = epochs is not None and (
            _epochs_ended(epochs, excursion.attempt, step, tolerance) > 0
            and _epochs_ended(epochs, excursion.attempt, step, (thresholds.epoch_points - 1) * spacing) <= 1
        )
        return _Rise(
            attempt=excursion.attempt,
            step=step,
            height=float(np.mean(values)) - excursion.baseline,
            tolerance=tolerance,
            at_boundary=boundary,
            detected=detection.detected_step,
            back=detection.step(excursion.recovery.confirmed),
        )

    def is_usual_after(self, earlier: list[_Rise], thresholds: PeriodicRiseThresholds) -> bool:
        """Whether the latest rises, as high or nearly so, were all over before this one was detected."""
        latest = earlier[-thresholds.usual_rises :]
        if len(latest) < thresholds.usual_rises:
            return False
        if self.height > thresholds.larger * median(rise.height for rise in latest):
            return False
        return all(
            rise.attempt < self.attempt or (rise.back is not None and rise.back <= self.detected)
            for rise in latest
        )

    def repeats_boundary(self, earlier: list[_Rise], thresholds: PeriodicRiseThresholds) -> bool:
        """Whether an earlier rise, as high or nearly so, began at the boundary of an epoch, too."""
        latest = next((rise for rise in reversed(earlier) if rise.at_boundary), None)
        return self.at_boundary and latest is not None and self.height <= thresholds.larger * latest.height

    def repeats_period(
        self, earlier: list[_Rise], thresholds: PeriodicRiseThresholds, equal_intervals: int
    ) -> bool:
        """Whether the earlier rises, as high or nearly so, were one period or a few apart, as this one is."""
        count = equal_intervals + 1
        latest = [rise for rise in earlier[-count:] if rise.attempt == self.attempt]
        if len(latest) < count or self.height > thresholds.larger * max(rise.height for rise in latest):
            return False
        # three or four numbers: without arrays, since every look at a run examines all its rises
        intervals = [later - rise for rise, later in pairwise([*(rise.step for rise in latest), self.step])]
        period = min(intervals)
        if period <= 0:
            return False
        return all(
            (multiple := round(interval / period)) <= thresholds.missed
            and abs(interval - multiple * period)
            <= max(self.tolerance, thresholds.tolerance_share * interval)
            for interval in intervals
        )


def _epochs_ended(epochs: Series, attempt: int, step: int, before: int) -> int:
    """By how much the whole number of the epoch changed up to a step, since so many steps before; a fraction
    is the progress within it."""
    span = rows_of_attempt(epochs, attempt)
    steps = epochs.step[span.rows]
    first = max(int(np.searchsorted(steps, step - before)) - 1, 0)
    stop = int(np.searchsorted(steps, step, side="right"))
    values = epochs.value[span.rows][first:stop]
    values = values[np.isfinite(values)]
    return int(np.floor(values[-1]) - np.floor(values[0])) if len(values) else 0

"""Detections: excursions with the series they were detected in, and which of them are the same event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from holter.detectors.loss.excursions.baseline import BaselineThresholds, normal_noise
from holter.detectors.loss.excursions.excursion import Excursion, TrainThresholds
from holter.detectors.loss.excursions.recovery import untracked_recovery
from holter.detectors.loss.excursions.segment import AttemptSegment
from holter.detectors.loss.lr_mismatch import RateMismatches
from holter.detectors.loss.unmarked_restarts import UnmarkedRestart, UnmarkedRestarts
from holter.detectors.positions import rows_of_attempt, values_before
from holter.types import Series


@dataclass(frozen=True, eq=False, kw_only=True)
class LossDetection:
    """An excursion with the series and the segment of points it was detected in.

    `restart` is the unmarked restart it began with, if any. `parts` are the excursions that it consists of,
    where there are several. `settled_at` is the point from which on no later rise can belong to it, None
    while that has not been reached. `is_usual`: the run has come back from several such rises before.
    `waited`: after so many points more it is reported, if another series has not named the event by then.
    """

    series: Series
    segment: AttemptSegment
    excursion: Excursion
    restart: UnmarkedRestart | None = None
    parts: tuple[Excursion, ...] = ()
    settled_at: int | None = None
    is_usual: bool = False
    waited: int = 0

    def step(self, index: int | None) -> int | None:
        """The step of a point counted from the excursion's start."""
        return None if index is None else int(self.segment.step[self.excursion.start + index])

    @property
    def start_step(self) -> int:
        return int(self.segment.step[self.excursion.start])

    @property
    def detected_step(self) -> int:
        return int(self.segment.step[self.excursion.detected])

    @property
    def reported_step(self) -> int:
        """The step from which on it is reported."""
        return int(self.segment.step[self.excursion.detected + self.waited])

    def lost_at(self, least_rows: int) -> int | None:
        """The step since which the loss of the attempt has been NaN or infinite, for so many rows at least,
        if it was still high then."""
        recovery = self.excursion.recovery
        is_open = recovery.back is None and recovery.lull is None
        after = self.segment.row(len(self.segment.step) - 1) + 1
        rows = rows_of_attempt(self.series, self.excursion.attempt).after - after
        return int(self.series.step[after]) if is_open and rows >= least_rows else None

    def covers(self, start_step: int, known_step: int) -> bool:
        """Whether, as far as was known at `known_step`, an event that began at `start_step` is within this
        one: this one had not ended, or ended later."""
        for part in self.parts or (self.excursion,):
            step, recovery = self.segment.step[part.start :], part.recovery
            if self.segment.step[part.detected] > known_step:
                continue
            if recovery.confirmed is None or step[recovery.confirmed] > known_step:
                return True
            if recovery.back is not None and start_step <= step[recovery.back]:
                return True
        return False

    def is_same_event(self, later: LossDetection) -> bool:
        """Whether a later detection in another series is this event."""
        if self.excursion.attempt != later.excursion.attempt or self.series is later.series:
            return False
        return self.covers(later.start_step, later.reported_step)


def merge_excursions(
    series: Series,
    excursions: Iterable[Excursion],
    segments: Mapping[int, AttemptSegment],
    thresholds: TrainThresholds,
) -> Iterator[LossDetection]:
    """Each event of a series as one detection.

    In a train of spikes, the third and all later ones belong to the second.
    """
    events: list[list[Excursion]] = []
    in_train: list[int] = []
    for excursion in excursions:
        segment = segments[excursion.attempt]
        follows = bool(events) and events[-1][-1].is_soon_followed_by(excursion, segment, thresholds)
        if follows and in_train[-1] >= thresholds.separate_rises:
            events[-1].append(excursion)
            continue
        in_train.append(in_train[-1] + 1 if follows else 1)
        events.append([excursion])
    for parts, number in zip(events, in_train, strict=True):
        segment, last = segments[parts[0].attempt], parts[-1]
        merged = parts[0]
        for later in parts[1:]:
            merged = merged.merged_with(later, segment)
        confirmed = last.recovery.confirmed
        settled_at = None if confirmed is None else last.start + confirmed
        if number >= thresholds.separate_rises:
            settled_at = last.calm_from(segment, thresholds)
        yield LossDetection(
            series=series, segment=segment, excursion=merged, parts=tuple(parts), settled_at=settled_at
        )


def with_unmarked_restarts(
    detections: Iterable[LossDetection], restarts: UnmarkedRestarts
) -> list[LossDetection]:
    """The detections, where a rise right after an unmarked restart is attributed to that restart."""
    return [
        _with_unmarked_restart(detection, restarts.get(detection.excursion.attempt, []))
        for detection in detections
    ]


def _with_unmarked_restart(detection: LossDetection, restarts: list[UnmarkedRestart]) -> LossDetection:
    excursion, step = detection.excursion, detection.segment.step
    if excursion.at_restart or excursion.explained:
        return detection
    for restart in reversed(restarts):
        distance = excursion.start - int(np.searchsorted(step, restart.step))
        is_near = detection.start_step - restart.step <= restart.reach_steps
        if 0 <= distance < restart.reach and is_near and restart.detected_step <= detection.detected_step:
            return replace(detection, excursion=replace(excursion, at_restart=True), restart=restart)
    return detection


def with_rate_mismatches(
    detections: Iterable[LossDetection],
    series: Series,
    segments: Iterable[AttemptSegment],
    mismatches: RateMismatches,
    baseline: BaselineThresholds,
    strength: float,
) -> list[LossDetection]:
    """A loss's detections, with one for each restart with another learning rate as soon as that is known.

    What the loss does after such a restart is the development of that detection, not a second one. `strength`
    is that of the evidence where the loss shows nothing yet.
    """
    later_attempts = {attempt: mismatch for attempt, mismatch in mismatches.items() if attempt > 0}
    result = list(detections)
    for segment in segments:
        mismatch = later_attempts.get(segment.attempt)
        if mismatch is None:
            continue
        detected = int(np.searchsorted(segment.step, mismatch.detected_step))
        if detected == len(segment.step):
            continue
        at_restart = [
            detection
            for detection in result
            if detection.excursion.attempt == segment.attempt and detection.excursion.at_restart
        ]
        rises = [detection.excursion for detection in at_restart if not detection.excursion.down]
        result = [detection for detection in result if detection not in at_restart]
        excursion = (
            replace(rises[0], start=0, detected=detected)
            if rises
            else _excursion_without_rise(series, segment, detected, baseline, strength)
        )
        result.append(LossDetection(series=series, segment=segment, excursion=excursion))
    return result


def _excursion_without_rise(
    series: Series, segment: AttemptSegment, detected: int, baseline: BaselineThresholds, strength: float
) -> Excursion:
    """An excursion at a restart, of which the loss shows nothing yet."""
    before = values_before(series, segment.attempt - 1, int(segment.step[0]), baseline.median_points)
    known = before if len(before) else segment.value[:1]
    level = float(np.median(known))
    return Excursion(
        attempt=segment.attempt,
        start=0,
        detected=detected,
        width=detected + 1,
        baseline=level,
        noise=normal_noise(known - level, baseline),
        strength=strength,
        at_restart=True,
        recovery=untracked_recovery(len(segment.step)),
    )

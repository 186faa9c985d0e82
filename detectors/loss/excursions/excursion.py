"""Excursions: where a series leaves its own recent level, from when to when, detected causally."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from holter.detectors.loss.excursions.baseline import DampedFall, LossNoise
from holter.detectors.loss.excursions.excursion_points import ExcursionPoints, RecoveryThresholds
from holter.detectors.loss.excursions.recovery import Recovery, track_recovery, untracked_recovery
from holter.detectors.loss.excursions.segment import AttemptSegment
from holter.detectors.thresholds import Thresholds


@dataclass(frozen=True, kw_only=True)
class TrainThresholds(Thresholds):
    """When rises in sequence belong to one train of spikes."""

    calm_steps: int = 100
    """Steps for which a loss must have been calm for the next rise to be another event, however short the
    last one was."""
    calm_points: int = 64
    """Points of calm after which the next rise is always another event."""
    separate_rises: int = 2
    """Rises of a train that are reported separately; further ones belong to the last: an oscillation."""


@dataclass(frozen=True, kw_only=True)
class Excursion:
    """One departure from the level `baseline`; `start` and `detected` are indices of the segment's points.

    `width` is the number of points whose evidence raised the alarm, `evidence_factor` what other series
    multiplied it by. `at_restart`: it began with the attempt. `down`: it is below the level, not above.
    `explained`: it began with a point that the shape of the noise explains. `progress`: how far the level had
    fallen since the run began, 0 where that is unknown. `known`: how many points were known before, None
    where there were many. `jumps`: how many there were before the one at which it began, at equal distances.
    """

    attempt: int
    start: int
    detected: int
    width: int
    baseline: float
    noise: LossNoise
    strength: float
    recovery: Recovery
    fall: DampedFall = field(default_factory=DampedFall)
    evidence_factor: float = 1.0
    at_restart: bool = False
    down: bool = False
    explained: bool = False
    progress: float = 0.0
    known: int | None = None
    jumps: int = 0

    @property
    def is_outlier(self) -> bool:
        """Whether it is, as far as is known, a single point that the noise explains, and the next is back."""
        first_back = self.recovery.last_seen if self.recovery.back is None else self.recovery.back
        return self.explained and first_back <= 1

    def over_from(self, segment: AttemptSegment) -> int:
        """The point of its segment from which on it is certainly over."""
        confirmed = self.recovery.confirmed
        return len(segment.step) if confirmed is None else self.start + confirmed

    def is_soon_followed_by(
        self, later: Excursion, segment: AttemptSegment, thresholds: TrainThresholds
    ) -> bool:
        """Whether a later one was detected, when this was over, before the loss had been back for as long as
        this one had lasted."""
        if self.attempt != later.attempt or self.down or later.down or self.recovery.confirmed is None:
            return False
        if self.start + self.recovery.confirmed > later.detected or self.explained or later.explained:
            return False
        calm = self.calm_from(segment, thresholds)
        return calm is None or later.detected < calm

    def calm_from(self, segment: AttemptSegment, thresholds: TrainThresholds) -> int | None:
        """The point from which on no later rise belongs to the same train, once this one is over; None while
        that has not been reached."""
        if self.recovery.back is None or self.recovery.confirmed is None:
            return None
        ended = self.start + self.recovery.back
        steps = segment.clock_from(self.start)
        lasted = int(steps[self.recovery.back] - steps[0])
        needed = int(steps[self.recovery.back]) + max(thresholds.calm_steps, lasted)
        calm = self.start + int(np.searchsorted(steps, needed, side="right"))
        calm = max(min(calm, ended + thresholds.calm_points + 1), self.start + self.recovery.confirmed)
        return calm if calm < len(segment.step) else None

    def merged_with(self, later: Excursion, segment: AttemptSegment) -> Excursion:
        """This excursion, with the development of a later one that continues it."""
        offset, recovery = later.start - self.start, later.recovery
        peaks = (self.recovery.peak, recovery.peak + offset)
        return replace(
            self,
            explained=self.explained and later.explained,
            recovery=replace(
                recovery,
                peak=max(peaks, key=lambda peak: float(segment.value[self.start + peak])),
                half_peak=self.recovery.half_peak,
                back=None if recovery.back is None else recovery.back + offset,
                confirmed=None if recovery.confirmed is None else recovery.confirmed + offset,
                level_start=recovery.level_start + offset,
                next_scan=recovery.next_scan + offset,
                last_seen=recovery.last_seen + offset,
                search=None,
                lull=None if recovery.lull is None else recovery.lull + offset,
                lasting_at=None if recovery.lasting_at is None else recovery.lasting_at + offset,
            ),
        )

    def updated(self, segment: AttemptSegment, thresholds: RecoveryThresholds) -> Excursion:
        """This excursion with its development by the last point of its attempt."""
        points = len(segment.step)
        if self.recovery.confirmed is not None or self.recovery.last_seen == points - 1 - self.start:
            return self
        if self.down:
            return replace(self, recovery=untracked_recovery(points))
        excursion_points = ExcursionPoints(
            step=segment.clock_from(self.start),
            value=segment.value[self.start :],
            detected=self.detected - self.start,
            width=self.width,
            baseline=self.baseline,
            fall=self.fall,
            noise=self.noise,
            thresholds=thresholds if self.known is None else thresholds.after(max(self.known, self.start)),
            progress=self.progress,
            known=self.known,
        )
        known = self.recovery if self.recovery.last_seen >= 0 else None
        return replace(self, recovery=track_recovery(excursion_points, known=known))

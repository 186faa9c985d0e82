"""Excursions: where a series leaves its own recent level upwards, from when to when, seen causally."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from holter.detectors.loss.excursions.baseline import Fall, Noise
from holter.detectors.loss.excursions.recovery import Course, Return, follow, unfollowed
from holter.detectors.loss.excursions.segment import Stretch

_CALM_STEPS, _CALM_POINTS = 100, 64
"""Steps for which a loss must have been calm for the next rise to be another event, however short the last
was, and points after which it always is one."""


@dataclass(frozen=True, kw_only=True)
class Excursion:
    """One departure from the level `baseline`; `start` and `detected` index the stretch's points.

    `belief` is what other series multiplied its evidence by. `resumed`: it began with the attempt.
    `down`: it lies below the level, not above. `explained`: it began with a point that the noise explains.
    """

    attempt: int
    start: int
    detected: int
    width: int
    baseline: float
    noise: Noise
    strength: float
    returns: Return
    fall: Fall = field(default_factory=Fall)
    belief: float = 1.0
    resumed: bool = False
    down: bool = False
    explained: bool = False

    def began_before(self, later: Excursion) -> bool:
        """Whether a later one, seen when this was over, reaches back into it, so that both are one."""
        back, confirmed = self.returns.back, self.returns.confirmed
        if self.attempt != later.attempt or self.down or later.down or back is None or confirmed is None:
            return False
        return later.start < self.start + back and self.start + confirmed <= later.detected

    def is_soon_followed_by(self, later: Excursion, stretch: Stretch) -> bool:
        """Whether a later one, seen when this was over, began before the loss had been back for as long as
        this had lasted."""
        back, confirmed = self.returns.back, self.returns.confirmed
        if self.attempt != later.attempt or self.down or later.down or back is None or confirmed is None:
            return False
        if self.start + confirmed > later.detected or self.explained or later.explained:
            return False
        ended, apart = self.start + back, later.start - self.start - back
        if apart > _CALM_POINTS:
            return False
        steps = int(stretch.step[later.start] - stretch.step[ended])
        return steps <= max(_CALM_STEPS, int(stretch.step[ended] - stretch.step[self.start]))

    def going_on(self, later: Excursion, stretch: Stretch) -> Excursion:
        """This one, going on as the later one that reaches back into it did."""
        since, returns = later.start - self.start, later.returns
        peaks = (self.returns.peak, returns.peak + since)
        return replace(
            self,
            explained=self.explained and later.explained,
            returns=replace(
                returns,
                peak=max(peaks, key=lambda peak: float(stretch.value[self.start + peak])),
                half=self.returns.half,
                back=None if returns.back is None else returns.back + since,
                confirmed=None if returns.confirmed is None else returns.confirmed + since,
                level_from=returns.level_from + since,
                resume=returns.resume + since,
                last=returns.last + since,
                search=None,
            ),
        )

    def followed(self, stretch: Stretch) -> Excursion:
        """As it has gone on by the last point of its attempt."""
        points = len(stretch.step)
        if self.returns.confirmed is not None or self.returns.last == points - 1 - self.start:
            return self
        if self.down:
            return replace(self, returns=unfollowed(points))
        course = Course(
            step=stretch.step[self.start :],
            value=stretch.value[self.start :],
            seen=self.detected - self.start,
            width=self.width,
            baseline=self.baseline,
            fall=self.fall,
            noise=self.noise,
        )
        returns = follow(course, known=self.returns if self.returns.last >= 0 else None)
        return replace(self, returns=returns)

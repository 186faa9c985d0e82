"""Sightings: excursions with the series they were seen in, and which of them are one event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from holter.detectors.loss.excursions.baseline import CENTRE, plain_noise
from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.loss.excursions.recovery import unfollowed
from holter.detectors.loss.excursions.segment import Stretch
from holter.detectors.loss.lr_mismatch import OtherRates
from holter.detectors.loss.unmarked_restarts import Seam, Seams
from holter.detectors.positions import values_before
from holter.types import Series


@dataclass(frozen=True, eq=False, kw_only=True)
class Sighting:
    """An excursion with the series and the stretch of points it was seen in, and where it began with a
    restart that the log does not tell of, that seam. `parts` are the excursions that it is made of, where
    they are several."""

    series: Series
    stretch: Stretch
    excursion: Excursion
    seam: Seam | None = None
    parts: tuple[Excursion, ...] = ()

    def step(self, index: int | None) -> int | None:
        """The step of a point counted from the excursion's start."""
        return None if index is None else int(self.stretch.step[self.excursion.start + index])

    @property
    def start_step(self) -> int:
        return int(self.stretch.step[self.excursion.start])

    @property
    def detected_step(self) -> int:
        return int(self.stretch.step[self.excursion.detected])

    def covers(self, start_step: int, seen_step: int) -> bool:
        """Whether, as far as was known at a step, an event that began at another lies within this one: it
        had not ended, or ended later."""
        for part in self.parts or (self.excursion,):
            step, returns = self.stretch.step[part.start :], part.returns
            if self.stretch.step[part.detected] > seen_step:
                continue
            # a return is certain once a point after those that confirm it has come
            certain = None if returns.confirmed is None else returns.confirmed + 1
            if certain is None or certain >= len(step) or step[certain] > seen_step:
                return True
            if returns.back is not None and start_step <= step[returns.back]:
                return True
        return False


def is_same(earlier: Sighting, later: Sighting) -> bool:
    """Whether a sighting in another series is the event that was already spoken of."""
    if earlier.excursion.attempt != later.excursion.attempt or earlier.series is later.series:
        return False
    return earlier.covers(later.start_step, later.detected_step)


def with_seams(sightings: Iterable[Sighting], seams: Seams) -> list[Sighting]:
    """The sightings, where a rise right after a seam is what the restart there did to the loss."""
    return [_with_seam(one, seams.get(one.excursion.attempt, [])) for one in sightings]


def _with_seam(sighting: Sighting, seams: list[Seam]) -> Sighting:
    excursion, step = sighting.excursion, sighting.stretch.step
    if excursion.resumed or excursion.explained:
        return sighting
    for seam in reversed(seams):
        since = excursion.start - int(np.searchsorted(step, seam.step))
        if 0 <= since < seam.reach and seam.seen_step <= sighting.detected_step:
            return replace(sighting, excursion=replace(excursion, resumed=True), seam=seam)
    return sighting


def with_other_rates(
    sightings: Iterable[Sighting], series: Series, stretches: Iterable[Stretch], rates: OtherRates
) -> list[Sighting]:
    """A loss's sightings, where a restart with another learning rate is one as soon as that is seen.

    What the loss does after such a restart is how that sighting develops, no second one.
    """
    others = {number: rate for number, rate in rates.items() if number > 0}
    kept = list(sightings)
    for stretch in stretches:
        rate = others.get(stretch.attempt)
        seen = len(stretch.step) if rate is None else int(np.searchsorted(stretch.step, rate.seen_step))
        if seen == len(stretch.step):
            continue
        mine = [one for one in kept if one.excursion.attempt == stretch.attempt and one.excursion.resumed]
        rises = [one.excursion for one in mine if not one.excursion.down]
        kept = [one for one in kept if one not in mine]
        found = replace(rises[0], start=0, detected=seen) if rises else _unseen(series, stretch, seen)
        kept.append(Sighting(series=series, stretch=stretch, excursion=found))
    return kept


def _unseen(series: Series, stretch: Stretch, seen: int) -> Excursion:
    """An excursion of which the loss shows nothing yet."""
    before = values_before(series, stretch.attempt - 1, int(stretch.step[0]), CENTRE)
    known = before if len(before) else stretch.value[:1]
    level = float(np.median(known))
    return Excursion(
        attempt=stretch.attempt,
        start=0,
        detected=seen,
        width=seen + 1,
        baseline=level,
        noise=plain_noise(known - level),
        strength=2.0,
        resumed=True,
        returns=unfollowed(len(stretch.step)),
    )

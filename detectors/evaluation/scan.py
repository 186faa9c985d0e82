"""The scan of an evaluation loss: each evaluation against those before that were part of no event.

An attempt takes up what was known at its first step. Events that have gone on at one level for long enough
hand over to it, so that what comes on top is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from holter.detectors.evaluation.noise import noise_of
from holter.detectors.evaluation.outcome import DRIFT, Rise, return_of
from holter.detectors.evaluation.statistics import REACH, looks
from holter.types import FloatArray, IntArray

_FIRST, _LONGEST = 64, 4096
"""Evaluations that are looked at together, at first and at most."""
_ALONE = 2
"""A restart has what its first so many evaluations show."""
_SETTLED = 12
"""Evaluations, half of them no higher than the other half, after which a level is the usual one."""
_NO_STEPS, _NO_VALUES = np.empty(0, dtype=np.int64), np.empty(0)

Asked = Callable[[int, int], FloatArray]
"""By which factor the evidence at the evaluations from one to another (not included) is believed."""


@dataclass(frozen=True, eq=False)
class Known:
    """The latest evaluations that belong to no event, and how many there were in all."""

    step: IntArray = field(default_factory=lambda: _NO_STEPS)
    value: FloatArray = field(default_factory=lambda: _NO_VALUES)
    count: int = 0

    def before(self, step: int) -> Known:
        """As it was before a step, from which an attempt takes up the run."""
        keep = int(np.searchsorted(self.step, step))
        return Known(self.step[:keep], self.value[:keep], self.count - (len(self.step) - keep))

    def and_then(self, step: IntArray, value: FloatArray) -> Known:
        return Known(
            np.concatenate((self.step, step))[-REACH:],
            np.concatenate((self.value, value))[-REACH:],
            self.count + len(step),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Scanned:
    """What a scan has come to, before evaluation `at` of an attempt, with the rises found so far. `is_whole`:
    further evaluations change nothing in it."""

    attempt: int
    known: Known
    found: tuple[Rise, ...] = ()
    at: int = 0
    size: int = _FIRST
    resumed: bool = False
    is_whole: bool = True

    def next_attempt(self, attempt: int, step: int) -> Scanned:
        """At the beginning of another attempt, which takes up the run at a step."""
        return Scanned(
            attempt=attempt, known=self.known.before(step), found=self.found, resumed=self.attempt >= 0
        )


def scan(now: Scanned, step: IntArray, value: FloatArray, asked: Asked) -> Iterator[Scanned]:
    """Every place from which the scan of an attempt's evaluations [n], all of them finite, might go on, and
    last what it has come to."""
    while now.at < len(step):
        upto = min(now.at + now.size, len(step))
        rise = _first_rise(step, value, now, upto, asked)
        if rise is not None:
            now = _after(rise, step, value, now)
        else:
            known = now.known.and_then(step[now.at : upto], value[now.at : upto])
            is_whole = upto == now.at + now.size
            now = replace(now, at=upto, known=known, size=min(2 * now.size, _LONGEST), is_whole=is_whole)
        yield now


def _first_rise(step: IntArray, value: FloatArray, now: Scanned, upto: int, asked: Asked) -> Rise | None:
    known = now.known
    steps = np.concatenate((known.step, step[now.at : upto]))
    values = np.concatenate((known.value, value[now.at : upto]))
    had = len(known.step)
    noise = noise_of(steps.astype(np.float64), values)
    strength, width = np.zeros(len(steps) - had), np.zeros(len(steps) - had, dtype=np.int64)
    for points, found in looks(values, noise, had, known.count - had):
        better = found > strength
        strength[better], width[better] = found[better], points
    strength *= asked(now.at, upto)
    loud = np.flatnonzero(strength >= 1)
    if not len(loud):
        return None
    first = int(loud[0])
    points = int(width[first])
    detected = now.at + first
    begin = max(had + first - points + 1, had)
    last = max(begin - 1, 0)
    level = values[max(begin - DRIFT, 0) : begin]
    baseline = float(np.mean(level)) if len(level) else float(values[begin])
    # of some evaluations the first that stands out by half of what they do on average
    high = values[begin : had + first + 1] - baseline
    start = begin + int(np.argmax(high >= 0.5 * np.mean(high)))
    return Rise(
        attempt=now.attempt,
        start=now.at + start - had,
        detected=detected,
        width=points,
        baseline=baseline,
        sigma=float(noise.sigma[last]),
        known=int(noise.known[last]),
        strength=min(float(strength[first]), 1e6),
        resumed=now.resumed and now.at + start - had < _ALONE,
    )


def _after(rise: Rise, step: IntArray, value: FloatArray, now: Scanned) -> Scanned:
    """Where the scan goes on after a rise: when it is back, or has settled; nowhere while it is neither."""
    found = (*now.found, rise)
    before = now.known.and_then(step[now.at : rise.start], value[now.at : rise.start])
    back, settled = return_of(rise, value), _settled(rise, value)
    if back is not None and (settled is None or back + 2 <= settled):
        known, at = before.and_then(step[back : back + 2], value[back : back + 2]), back + 2
    elif settled is not None:
        level = Known().and_then(step[settled - _SETTLED : settled], value[settled - _SETTLED : settled])
        known, at = replace(level, count=before.count + _SETTLED), settled
    else:
        return replace(now, at=len(step), known=before, found=found, is_whole=False)
    return replace(now, at=at, known=known, size=_FIRST, found=found, is_whole=True)


def _settled(rise: Rise, value: FloatArray) -> int | None:
    """The evaluation from which on others may begin, as this goes on at one level; None while it does not."""
    since = value[rise.start :]
    if len(since) < _SETTLED:
        return None
    total = np.concatenate(([0.0], np.cumsum(since - since[0])))
    half = _SETTLED // 2
    ends = np.arange(max(_SETTLED, rise.detected - rise.start + 1), len(total))
    later = total[ends] - total[ends - half]
    earlier = total[ends - half] - total[ends - _SETTLED]
    flat = np.flatnonzero(later - earlier <= half * rise.sigma)
    return rise.start + int(ends[flat[0]]) if len(flat) else None

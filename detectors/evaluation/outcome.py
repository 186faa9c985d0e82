"""How a rise of an evaluation loss went on: whether it came back, and what that makes of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.types import FloatArray, IntArray, Kind, Severity

_NEAR = 1.5
"""Sigmas above the old level within which the mean of two evaluations is back at it."""
_ALIKE = 0.25
"""Share of the height of a rise that still counts as back, where the noise is small."""
_SLOWLY = 2
"""Evaluations after which a rise that had not come to half of its height was no jump."""
_MANY = 4
"""Evaluations that are high, and steps, after which what has jumped is not expected back."""
_STEPS = 500
DRIFT = 4
"""Evaluations in a mean that sees what one or a few do not: a rise from one to the next."""


@dataclass(frozen=True, kw_only=True)
class Rise:
    """An evaluation loss above its level: `start`, `detected` index the attempt's evaluations; `width` how
    many it took to see it, `sigma` their noise, `known` how many differences told that."""

    attempt: int
    start: int
    detected: int
    width: int
    baseline: float
    sigma: float
    known: int
    strength: float
    resumed: bool


@dataclass(frozen=True, kw_only=True)
class Course:
    """How it went on: indices of the highest evaluation, of the first that is back (None while none is) and
    of the one that confirmed it."""

    peak: int
    back: int | None
    confirmed: int | None
    kind: Kind
    severity: Severity
    settled: int | None


def return_of(rise: Rise, value: FloatArray) -> int | None:
    """The first evaluation of an attempt's [n] that is back at the level from before, with the one after it;
    None while none is."""
    height = float(value[rise.start : rise.detected + 1].max()) - rise.baseline
    near = rise.baseline + min(max(_NEAR * rise.sigma, _ALIKE * height), 2 * _NEAR * rise.sigma)
    first = rise.detected + 1
    pairs = (value[first:-1] + value[first + 1 :]) / 2
    hits = np.flatnonzero((pairs <= near) & (value[first:-1] <= near + rise.sigma))
    return first + int(hits[0]) if len(hits) else None


def course_of(rise: Rise, step: IntArray, value: FloatArray, until: int, fast_steps: int) -> Course:
    """How a rise went on over its attempt's evaluations [n], and what kind that makes it; before `until`
    another one began."""
    back = return_of(rise, value)
    confirmed = None if back is None else back + 1
    high = value[rise.start : until if back is None else min(back, until)]
    kind = _kind(rise, step, high, back, fast_steps)
    return Course(
        peak=rise.start + int(np.argmax(high)),
        back=back,
        confirmed=confirmed,
        kind=kind,
        severity=_severity(kind, back),
        settled=rise.detected if kind is Kind.RESUME_ARTIFACT else confirmed,
    )


def _kind(rise: Rise, step: IntArray, high: FloatArray, back: int | None, fast_steps: int) -> Kind:
    if rise.resumed:
        return Kind.RESUME_ARTIFACT
    half = int(np.argmax(high - rise.baseline >= 0.5 * (high.max() - rise.baseline)))
    if rise.width >= DRIFT or half >= _SLOWLY:
        return Kind.DIVERGENCE
    if back is not None:
        # it may have come back with the first step after the evaluation before
        lasted = int(step[back - 1] - step[rise.start]) + 1
        return Kind.SPIKE_FAST if lasted < fast_steps else Kind.SPIKE_SLOW
    elapsed = int(step[rise.start + len(high) - 1] - step[rise.start])
    if len(high) >= _MANY and elapsed >= _STEPS:
        return Kind.SPIKE_UNRECOVERED
    return Kind.SPIKE_FAST if elapsed < fast_steps else Kind.SPIKE_SLOW


def _severity(kind: Kind, back: int | None) -> Severity:
    if kind in (Kind.DIVERGENCE, Kind.SPIKE_UNRECOVERED) and back is None:
        return Severity.CRITICAL if kind is Kind.DIVERGENCE else Severity.WARNING
    return Severity.INFO if kind is Kind.SPIKE_FAST and back is not None else Severity.WARNING

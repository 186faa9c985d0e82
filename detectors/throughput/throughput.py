"""Throughput regression: the run is slower than it has been, for long, and nothing planned explains it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import exp, log
from typing import ClassVar

import numpy as np

from holter.detectors.figures import figure
from holter.detectors.throughput.levels import Departure, Watch, blocks_of
from holter.detectors.throughput.work import work_per_step
from holter.detectors.tuning import Tuning
from holter.metrics import Role, role_of
from holter.types import Finding, IntArray, Kind, RunData, Series, Severity

_ROLES = (Role.THROUGHPUT, Role.MFU, Role.STEP_TIME)
_SMALLEST = log(1.0275)
"""A regression of 3 % is worth a word; half a per cent is left to the estimate of the level."""
_MAJOR = 0.1
_WARM_UP_STEPS = 10


@dataclass(frozen=True)
class Throughput:
    """Compares tokens/s, TFLOPS, MFU or step time with the level that this run had established."""

    name: ClassVar[str] = "throughput"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.THROUGHPUT_REGRESSION})
    tuning: Tuning = Tuning()

    def detect(self, run: RunData) -> Iterable[Finding]:
        """One finding per slow-down, from the series that shows it first."""
        spoken = []
        for series in speed_series(run):
            spoken += list(self._in_series(series, run))
        return _one_per_event(spoken)

    def _in_series(self, series: Series, run: RunData) -> Iterator[Finding]:
        faster = role_of(series.key) is not Role.STEP_TIME
        good = np.isfinite(series.value) & (series.value > 0)
        attempt, step = series.attempt[good], series.step[good]
        # a logarithm makes shares of throughput and of time the same number
        cost = np.log(series.value[good]) * (-1.0 if faster else 1.0)
        regime = work_per_step(run, series)[good]
        stretch = _stretches(attempt, step, regime)
        blocks = blocks_of(cost, stretch, regime)
        watch = Watch(
            values=cost,
            step=step,
            blocks=blocks,
            smallest=_SMALLEST,
            sensitivity=self.tuning.of(series.key.metric).sensitivity,
        )
        for departure in watch.look_at_all():
            yield _finding(series, departure, attempt, step, faster)


def speed_series(run: RunData) -> list[Series]:
    """The series that say how fast the run as a whole is, not one of its ranks."""
    chosen = [
        (_ROLES.index(role), key)
        for key in run.series
        if (role := role_of(key)) in _ROLES and not any(name == "rank" for name, _ in key.labels)
    ]
    return [run.series[key] for _, key in sorted(chosen)]


def _stretches(attempt: IntArray, step: IntArray, regime: IntArray) -> IntArray:
    """Numbers stretches of one attempt and one regime; the warm-up of a later attempt is -1."""
    edges = (np.diff(attempt, prepend=attempt[:1]) != 0) | (np.diff(regime, prepend=regime[:1]) != 0)
    stretch = np.cumsum(edges)
    begins = np.flatnonzero(np.diff(attempt, prepend=attempt[:1] - 1))
    first_step = np.repeat(step[begins], np.diff(np.append(begins, len(step))))
    warming = step - first_step < _WARM_UP_STEPS
    warming[begins] = True
    stretch[warming] = -1
    return stretch.astype(np.int64)


def _finding(
    series: Series, departure: Departure, attempt: IntArray, step: IntArray, faster: bool
) -> Finding:
    start = _from_attempt_start(departure.start, attempt, step)
    lost = 1 - _exp(-departure.rise)
    sign = -1.0 if faster else 1.0
    usual = _exp(sign * departure.reference)
    worst = _exp(sign * (departure.reference + departure.rise))
    end = None if departure.end is None else int(step[departure.end])
    resumed = start > 0 and bool(attempt[start] != attempt[start - 1])
    return Finding(
        kind=Kind.THROUGHPUT_REGRESSION,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=int(attempt[start]),
        start_step=int(step[start]),
        peak_step=int(step[departure.worst]),
        end_step=end,
        detected_step=int(step[departure.detected]),
        classified_step=int(step[departure.detected]),
        severity=Severity.CRITICAL if lost >= _MAJOR else Severity.WARNING,
        confidence=min(0.99, 0.6 + 0.03 * departure.rise / max(departure.noise, 1e-3)),
        summary=_summary(series, usual, worst, lost, int(step[start]), end, departure.gradual, resumed),
        advice=_advice(resumed, departure.gradual),
        evidence={
            "baseline": usual,
            "worst": worst,
            "lost": lost,
            "noise": departure.noise,
            "gradual": departure.gradual,
            "after_resume": resumed,
        },
    )


def _exp(logarithm: float) -> float:
    return exp(min(logarithm, 700.0))  # a float has no more


def _from_attempt_start(point: int, attempt: IntArray, step: IntArray) -> int:
    """The attempt's first point, where the slow-down began with the first block after its warm-up."""
    first = int(np.searchsorted(attempt, attempt[point]))
    warmed = int(np.searchsorted(step[first : point + 1], step[first] + _WARM_UP_STEPS))
    return first if first > 0 and point - first <= max(warmed, 1) else point


def _summary(
    series: Series,
    usual: float,
    worst: float,
    lost: float,
    start: int,
    end: int | None,
    gradual: bool,
    resumed: bool,
) -> str:
    how = "little by little from" if gradual else ("with the resume at" if resumed else "at")
    until = "" if end is None else f" and came back at step {end:,}"
    return (
        f"{series.key} went from {figure(usual)} to {figure(worst)} {how} step {start:,}{until}: "
        f"{lost:.0%} of the throughput was lost."
    )


def _advice(resumed: bool, gradual: bool) -> str:
    if resumed:
        return "Compare nodes, placement and settings of this attempt with those of the one before."
    if gradual:
        return (
            "Look for what grows: memory fragmentation, a filling disk, a data loader falling behind, heat."
        )
    return "Look at clocks and temperatures, the network and the data loader from this step on."


def _one_per_event(findings: list[Finding]) -> list[Finding]:
    """Drop what another series had said before, in the order of speaking."""
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda one: one.detected_step):
        others = (one for one in kept if (one.metric, one.labels) != (finding.metric, finding.labels))
        if not any(_same_event(earlier, finding) for earlier in others):
            kept.append(finding)
    return kept


def _same_event(earlier: Finding, later: Finding) -> bool:
    # by what never changes once spoken: the onsets agree within what it took to speak
    lag = max(one.detected_step - one.start_step for one in (earlier, later))
    return earlier.attempt == later.attempt and abs(earlier.start_step - later.start_step) <= 2 * lag

"""Rises of short logs: a loss that has fallen, and rises gradually within its first few hundred rows.

The scan for excursions measures noise on the rows before, which fall steeply in a short log; an early rise
must undo half of all that was learned. Here the latest rows are compared with the lowest ones by the noise
right there and by the rises that the run has made so far, and with what was learned since shortly before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.detector import DetectorContext
from holter.detectors.evaluation.early_rise import (
    EarlyRise,
    EarlyRiseThresholds,
    RiseSearch,
    first_rises,
    rise_finding,
)
from holter.detectors.evaluation.noise import EvaluationNoise, measure_evaluation_noise
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, SeriesKey, Severity

_RISES = frozenset({Kind.SPIKE_FAST, Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED, Kind.DIVERGENCE})
_FEWEST_POINTS = 4
"""Points that must have shown a later rise for it to be the course of a gradual one: fewer are a spike on
top of it."""
LOWEST = "recent_lowest_step"
"""In the evidence of such a rise: the last step at which the loss was lowest."""


@dataclass(frozen=True, kw_only=True)
class RecentRiseThresholds(Thresholds):
    """When a gradual rise of a short log is reported."""

    rows: int = 300
    """Rows of a launch among which it is searched for: of more, shorter means and longer ones know enough."""
    sizes: tuple[tuple[int, float], ...] = ((8, 6.0), (4, 8.0))
    """Rows of the means that are compared, and the standard errors of the difference of both by which they
    must differ: the lowest of many means is low, that of few rows more so. Each mean has the noise known at
    its last row: that of the lowest rows alone is too low where it grew since, as it does once a loss no
    longer falls steeply. Each of the latest rows must be above each of the lowest."""
    least_rows: int = 4
    """Rows between the two means, at least..."""
    known_rows: int = 8
    """... and before the lowest."""
    usual_rises: float = 5.0
    """Times the usual rises over as many rows, by which they must differ, too. Of 200 random walks of 60 to
    1,000 rows one in nine has such a rise, and of other healthy losses one in fifty, most of them with
    correlated noise (.9)..."""
    certain: float = 1.5
    """... but one in twenty, and one in two hundred, a rise that is so many times as high: a warning. A lower
    one is information."""
    lags: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    """Sizes of the means over which the usual rises are measured; beyond, they grow with the root, as those
    of a random walk do."""
    fewest_rises: int = 3
    """Such rises that must be known, half as many as the rows over which they are measured."""
    noise_known: int = 12
    """Differences that must be known where the loss was lowest, for the noise there to count."""
    progress: float = 0.5
    """Share of what the loss had fallen since shortly before that it must have undone."""
    before: int = 2
    """How long shortly before is, in times the rows since the loss was lowest."""
    early: EarlyRiseThresholds = EarlyRiseThresholds()
    """When a rise is over, when a jump, and how noise is measured."""


@dataclass(frozen=True)
class RecentRiseDetector:
    """Detects where a loss of a short log, of training or an evaluation, rises gradually."""

    name: ClassVar[str] = "recent_rise"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DIVERGENCE, Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED})
    thresholds: RecentRiseThresholds = RecentRiseThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterator[Finding]:
        """A finding for each launch whose losses have such a rise that no logged change explains: one for
        those of training and one for those of evaluations, however many are logged."""

        def find(key: SeriesKey) -> RiseSearch:
            sensitivity = context.tuning.of(key.metric).sensitivity
            return partial(_find_rise, sensitivity=sensitivity, thresholds=self.thresholds)

        limits = self.thresholds
        yield from first_rises(self.name, run, context, find, self._finding, limits.early, limits.rows)

    def _finding(self, series: Series, role: Role, rise: EarlyRise) -> Finding:
        finding = rise_finding(series, role, rise, self.thresholds.early)
        evidence = {key: each for key, each in finding.evidence.items() if key != "lowest_step"}
        severity = finding.severity if rise.strength_reached >= self.thresholds.certain else Severity.INFO
        summary = finding.summary.replace(" soon after the run began,", "")
        kind, classified = finding.kind, finding.classified_step
        if rise.is_jump:
            kind = Kind.SPIKE_UNRECOVERED if rise.end is None else Kind.SPIKE_SLOW
            classified = rise.end
        return replace(
            finding,
            kind=kind,
            classified_step=classified,
            summary=summary,
            severity=severity,
            evidence={**evidence, LOWEST: rise.lowest},
        )


def merge_recent_rises(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, where a gradual rise of a short log and other rises of the same loss are one.

    The one that was detected first stays; a later one gives the earlier gradual rise its kind and its words.
    """
    findings = list(findings)
    for rise in [each for each in findings if LOWEST in each.evidence]:
        same = [each for each in findings if each is not rise and _is_same(each, rise)]
        findings.remove(rise)
        if any(each.detected_step <= rise.detected_step for each in same):
            continue
        if not same:
            findings.append(rise)
            continue
        later = min(same, key=lambda each: each.detected_step)
        also = [*later.evidence.get("also", ()), rise.as_reference()]
        began = f" It had been rising since step {rise.start_step:,}." * (rise.start_step != later.start_step)
        findings[findings.index(later)] = replace(
            later,
            start_step=rise.start_step,
            detected_step=rise.detected_step,
            summary=f"{later.summary}{began}",
            evidence={
                **later.evidence,
                "points_to_detect": rise.evidence["points_to_detect"],
                "also": also,
            },
        )
    return findings


def _is_same(change: Finding, rise: Finding) -> bool:
    """Whether a finding is about the course of a gradual rise, as far as was known when the later of the two
    was detected."""
    if change.kind not in _RISES or change.attempt != rise.attempt or LOWEST in change.evidence:
        return False
    is_same_loss = (change.metric, change.labels) == (rise.metric, rise.labels)
    if not is_same_loss and _role(change) is not _role(rise):
        return False
    if change.detected_step <= rise.detected_step:
        # what one loss has shown names the event for its terms, too
        return change.end_step is None or change.end_step > rise.evidence[LOWEST]
    if not is_same_loss and _role(rise) is not Role.EVAL_LOSS:
        return False
    if change.evidence.get("points_to_detect", 0) < _FEWEST_POINTS:
        return False
    until = rise.end_step
    return change.start_step >= rise.evidence[LOWEST] and (until is None or change.start_step <= until)


def _role(finding: Finding) -> Role:
    """The role of what a finding is about; a rise of one dataset's loss is one of the total."""
    role = role_of(SeriesKey(finding.metric, finding.labels))
    return Role.LOSS if role is Role.DATASET_LOSS else role


def _find_rise(
    attempt: int,
    step: IntArray,
    value: FloatArray,
    known: int,
    sensitivity: float,
    thresholds: RecentRiseThresholds,
) -> tuple[int, EarlyRise] | None:
    """The first row, from the `known`-th on, at which these first rows [n] show such a rise, and the rise."""
    pairs = [
        (now + size - 1, _Pair(begin, now, size, noises))
        for size, noises in thresholds.sizes
        for begin, now in _possible_pairs(value, known, size, thresholds)
    ]
    if not pairs:
        return None
    noise = measure_evaluation_noise(step.astype(np.float64), value, thresholds.early.noise)
    for row, pair in sorted(pairs, key=lambda each: each[0]):
        strength = _strength(value, noise, pair, thresholds) * sensitivity
        if strength >= 1:
            return row, _rise(attempt, step, value, pair, noise, strength, thresholds)
    return None


@dataclass(frozen=True)
class _Pair:
    """The lowest rows so far, from `begin` on, and the latest, from `now` on, `size` rows each; and the
    standard errors by which their means must differ."""

    begin: int
    now: int
    size: int
    noises: float


def _possible_pairs(
    value: FloatArray, known: int, size: int, thresholds: RecentRiseThresholds
) -> Iterator[tuple[int, int]]:
    """The rows with which the lowest and the latest `size` rows begin, where each of the latest, up to the
    `known`-th row or a later one, is above each of the lowest."""
    if len(value) < 2 * size + thresholds.known_rows:
        return
    windows = sliding_window_view(value, size)
    means, highest, lowest = windows.mean(axis=1), windows.max(axis=1), windows.min(axis=1)
    is_lowest = means <= np.minimum.accumulate(means)
    best = np.maximum.accumulate(np.where(is_lowest, np.arange(len(means)), 0))
    now = np.arange(max(known + 1 - size, size + thresholds.known_rows), len(means))
    begin = best[now - size - thresholds.least_rows]
    # a loss of both signs wanders about zero, as that of a policy does
    one_sign = (np.minimum.accumulate(value) > 0) | (np.maximum.accumulate(value) < 0)
    possible = (lowest[now] > highest[begin]) & one_sign[now + size - 1]
    yield from zip(begin[possible].tolist(), now[possible].tolist(), strict=True)


def _strength(
    value: FloatArray, noise: EvaluationNoise, pair: _Pair, thresholds: RecentRiseThresholds
) -> float:
    """The strength of the evidence for a rise: at least 1 where it counts."""
    size, rows = pair.size, pair.now - pair.begin
    total = np.concatenate(([0.0], np.cumsum(value[: pair.now + size] - value[0])))
    means = (total[size:] - total[:-size]) / size
    low, row = float(means[pair.begin]), pair.begin + size - 1
    rise = float(means[pair.now]) - low
    fall = float(means[: pair.begin + 1].max()) - low
    # the first rows fall so steeply that their mean is lower than what the run began with
    since = pair.begin - thresholds.before * rows
    before = value[: pair.begin + 1] if since <= 0 else means[since : pair.begin + 1]
    recent = float(before.max()) - low
    latest = pair.now + size - 1
    row = row if noise.known[row] >= thresholds.noise_known else latest
    limit = pair.noises * float(np.hypot(noise.sigma[row], noise.sigma[latest])) / float(np.sqrt(size))
    usual = _usual_rise(means[: pair.begin + size // 2 + 1], rows, size, thresholds)
    limit = max(limit, thresholds.usual_rises * usual)
    if not limit > 0 or rise <= thresholds.progress * recent:
        return 0.0  # NaN while the noise is not known
    return min(rise, fall) / limit


def _usual_rise(means: FloatArray, rows: int, size: int, thresholds: RecentRiseThresholds) -> float:
    """How far means of `size` rows [n] have risen over so many rows, where they did; 0 while unknown."""
    usual = 0.0
    for share in thresholds.lags:
        lag = int(share * size)
        moves = means[lag:] - means[:-lag]
        moves = moves[moves > 0]
        if lag <= max(rows, size) and len(moves) >= max(thresholds.fewest_rises, lag // 2):
            usual = max(usual, float(np.sqrt(np.mean(moves**2) * max(rows / lag, 1.0))))
    return usual


def _rise(
    attempt: int,
    step: IntArray,
    value: FloatArray,
    pair: _Pair,
    noise: EvaluationNoise,
    strength: float,
    thresholds: RecentRiseThresholds,
) -> EarlyRise:
    size, limits = pair.size, thresholds.early
    low, high = (float(value[row : row + size].mean()) for row in (pair.begin, pair.now))
    last_low, row = pair.begin + size - 1, pair.now + size - 1
    above = value[last_low : row + 1] - low
    begun = np.flatnonzero(above[:-size] <= limits.begun_share * (high - low))[-1:]
    start = last_low + 1 + int(begun.sum())
    most = last_low + int(np.argmax(above >= (1 - limits.begun_share) * (high - low)))
    return EarlyRise(
        attempt=attempt,
        compared_from=int(step[pair.begin]),
        lowest=int(step[last_low]),
        start=int(step[start]),
        detected=int(step[row]),
        peak=int(step[row]),
        end=None,
        points=row + 1 - start,
        low=low,
        high=high,
        noise=float(noise.sigma[row]),
        strength=strength,
        is_jump=most < start + limits.jump_rows,
        first_high=high,
    )

"""Overfitting of few evaluations: an evaluation loss rises from its first on while the training loss falls.

A fine-tuning of a few epochs is evaluated five times. No noise is known of so few, but that each is above the
one before, in nearly equal steps, is rare by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import figures
from holter.detectors.loss.announced_changes import AnnouncedChangeThresholds, find_announced_change
from holter.detectors.positions import attempt_rows, rows_of_attempt
from holter.detectors.robust_statistics import median
from holter.detectors.thresholds import Thresholds
from holter.plurals import counted
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity


@dataclass(frozen=True, kw_only=True)
class OverfittingThresholds(Thresholds):
    """When few evaluations that rise are reported as overfitting."""

    evaluations: int = 5
    """Evaluations, at least, each above the one before: one in 120 by chance."""
    fewer: tuple[tuple[int, float], ...] = ((3, 0.5), (4, 0.3))
    """Fewer evaluations that rise in sequence, and the share of the lowest by which they must have risen:
    information until there are more, since noise puts so few in order now and then: of 2,000 series of eight
    with noise of 3 % none, with 10 % 57."""
    first_evaluations: int = 8
    """Evaluations of a launch among which these are: of more, noise is known."""
    lowest_among: int = 3
    """Evaluations, the first, among which the lowest is: what never improved any further. A rise that may
    begin anywhere is found by chance as often as there are places."""
    least_share: float = 0.2
    """Share of the lowest by which they must have risen: evaluations hardly ever vary by as much."""
    slope_errors: float = 6.0
    """Standard errors of their slope by which they must rise: five values that noise has put in order
    seldom lie on a line."""
    training_share: float = 0.05
    """Share of its median up to the lowest evaluation by which the training loss must have fallen since."""
    return_share: float = 0.5
    """Share of the rise below which two evaluations in sequence are back."""
    doubt: float = 0.3
    """Confidence lacking where the evidence is just sufficient; it falls with the square of its strength."""
    announced: AnnouncedChangeThresholds = AnnouncedChangeThresholds()
    """Which logged changes announce a rise."""


@dataclass(frozen=True, kw_only=True)
class SteadyRise:
    """A rise of the first evaluations of an attempt, in rows of those that are finite: from the `lowest` on,
    with a slope of so many standard `errors`, from which single ones differ by `noise`."""

    lowest: int
    detected: int
    errors: float
    noise: float


@dataclass(frozen=True)
class OverfittingDetector:
    """Detects where the first evaluations of a run get worse, each more than the last."""

    name: ClassVar[str] = "overfitting"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DIVERGENCE})
    thresholds: OverfittingThresholds = OverfittingThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterator[Finding]:
        """A finding for each attempt; evaluation losses that rise together are one."""
        losses = [
            run.series[key]
            for key in sorted(run.series)
            if role_of(key) is Role.EVAL_LOSS and key.rank is None
        ]
        by_attempt: dict[int, list[Finding]] = {}
        for series in losses:
            sensitivity = context.tuning.of(series.key.metric).sensitivity
            for finding in self._of_series(run, series, sensitivity):
                by_attempt.setdefault(finding.attempt, []).append(finding)
        for findings in by_attempt.values():
            first, *others = sorted(findings, key=lambda each: each.detected_step)
            also = [each.as_reference() for each in others]
            yield replace(first, evidence={**first.evidence, **({"also": also} if also else {})})

    def _of_series(self, run: RunData, series: Series, sensitivity: float) -> Iterator[Finding]:
        earliest: int | None = None
        for span in attempt_rows(series):
            step, value = series.step[span.rows], series.value[span.rows]
            is_launch = earliest is None or int(step[0]) <= earliest
            earliest = int(step[0]) if earliest is None else min(earliest, int(step[0]))
            finite = np.isfinite(value)
            step, value = step[finite], value[finite]
            rise = _first_rise(step, value, sensitivity, self.thresholds) if is_launch else None
            if rise is None:
                continue
            lowest, detected = int(step[rise.lowest]), int(step[rise.detected])
            training = _training_losses(run, span.attempt, lowest, detected)
            announced = find_announced_change(run, span.attempt, lowest, detected, self.thresholds.announced)
            if training is None or announced is not None:
                continue
            if training[0] - training[1] >= self.thresholds.training_share * abs(training[0]):
                enough = replace(self.thresholds, fewer=())
                is_certain = _first_rise(step, value, sensitivity, enough) is not None
                yield _finding(
                    series, span.attempt, step, value, rise, training, self.thresholds, is_certain=is_certain
                )


def _first_rise(
    step: IntArray, value: FloatArray, sensitivity: float, thresholds: OverfittingThresholds
) -> SteadyRise | None:
    """The first steady rise of these evaluations [n]."""
    shares = {**dict(thresholds.fewer), thresholds.evaluations: thresholds.least_share}
    for detected in range(min(shares) - 1, min(len(value), thresholds.first_evaluations)):
        lowest = int(np.argmin(value[: detected + 1]))
        inside = value[lowest : detected + 1]
        if lowest >= thresholds.lowest_among or len(inside) < min(shares):
            continue
        share = shares.get(len(inside), thresholds.least_share)
        rise = float(inside[-1] - inside[0]) * sensitivity
        if (np.diff(inside) <= 0).any() or rise < share * abs(float(inside[0])):
            continue
        elapsed = (step[lowest : detected + 1] - step[lowest]).astype(np.float64)
        errors, noise = _slope_errors(elapsed, inside)
        if errors * sensitivity >= thresholds.slope_errors:
            return SteadyRise(lowest=lowest, detected=detected, errors=errors, noise=noise)
    return None


def _slope_errors(elapsed: FloatArray, value: FloatArray) -> tuple[float, float]:
    """The slope of a line through points [n >= 3] in its standard errors, and the spread about it."""
    centered = elapsed - elapsed.mean()
    square = float(centered @ centered)
    slope = float(centered @ value) / square
    spread = float(np.sqrt(np.sum((value - value.mean() - slope * centered) ** 2) / (len(value) - 2)))
    return slope * float(np.sqrt(square)) / max(spread, 1e-12 * float(np.abs(value).max())), spread


def _training_losses(run: RunData, attempt: int, lowest: int, detected: int) -> tuple[float, float] | None:
    """The medians of the training loss up to the lowest evaluation, and from there to the detection; None
    where either is not logged."""
    for key in sorted(run.series):
        if role_of(key) is Role.LOSS and key.rank is None:
            series = run.series[key]
            rows = rows_of_attempt(series, attempt).rows
            step, value = series.step[rows], series.value[rows]
            is_finite = np.isfinite(value)
            before = value[is_finite & (step <= lowest)]
            since = value[is_finite & (step > lowest) & (step <= detected)]
            if len(before) and len(since):
                return median(before), median(since)
    return None


def _finding(
    series: Series,
    attempt: int,
    step: IntArray,
    value: FloatArray,
    rise: SteadyRise,
    training: tuple[float, float],
    thresholds: OverfittingThresholds,
    *,
    is_certain: bool,
) -> Finding:
    low = float(value[rise.lowest])
    back = _back(value, rise, thresholds)
    upto = len(value) if back is None else back
    peak = rise.lowest + int(np.argmax(value[rise.lowest : upto]))
    best, until = f"{int(step[rise.lowest]):,}", f"{int(step[peak]):,}"
    rose = (
        f"Evaluation loss {series.key} rose with each of {counted(rise.detected - rise.lowest, 'evaluation')}"
    )
    if peak != rise.detected:
        rose += f" up to step {int(step[rise.detected]):,}"
    count = rise.detected - rise.lowest + 1
    start, detected = (int(step[row]) for row in (rise.lowest + 1, rise.detected))
    before, after = figures(low, float(value[peak]))
    moved = f"from {before} at step {best} to {after} at step {until}"
    return Finding(
        kind=Kind.DIVERGENCE,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=attempt,
        start_step=start,
        peak_step=int(step[peak]),
        end_step=None if back is None else int(step[back]),
        detected_step=detected,
        classified_step=detected,
        severity=Severity.WARNING if back is None and is_certain else Severity.INFO,
        confidence=1 - thresholds.doubt / max(rise.errors / thresholds.slope_errors, 1.0) ** 2,
        summary=(
            f"{rose} while the training loss fell: {moved}"
            f"{'' if back is None else f'; it was back at step {int(step[back]):,}'}."
        ),
        advice=(
            f"The model overfits: keep the checkpoint of step {best}, and train for fewer epochs."
            if back is None
            else "Nothing to do now: the evaluation loss came back by itself."
        ),
        evidence={
            "baseline": low,
            "peak": float(value[peak]),
            "noise": rise.noise,
            "strength": rise.errors / thresholds.slope_errors,
            "recovery_steps": None if back is None else int(step[back]) - start,
            "training_loss_before": training[0],
            "training_loss": training[1],
            "lowest_step": int(step[rise.lowest]),
            "points_to_detect": count,
        },
    )


def _back(value: FloatArray, rise: SteadyRise, thresholds: OverfittingThresholds) -> int | None:
    """The first evaluation after the detection that is back, with the next one."""
    above = value - value[rise.lowest]
    above[: rise.lowest] = 0.0
    below = above < thresholds.return_share * np.maximum.accumulate(above)
    both = np.flatnonzero(below[rise.detected + 1 : -1] & below[rise.detected + 2 :])
    return rise.detected + 1 + int(both[0]) if len(both) else None

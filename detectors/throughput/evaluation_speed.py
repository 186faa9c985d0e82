"""Evaluations that take much longer than all before: too few points for the scan of the run's speed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import figure, from_to
from holter.detectors.positions import attempt_rows
from holter.detectors.thresholds import Thresholds
from holter.metric_units import unit_of_metric
from holter.roles import Role, is_of_evaluation, role_of
from holter.types import Finding, FloatArray, Kind, RunData, Series, SeriesKey, Severity

_TIMES = (Role.OTHER, Role.STEP_TIME, Role.DURATION)
_DURATION = re.compile(
    r"(.*[/_.-])?(run|elapsed_?)?(time|duration)([/_( ]*(s|secs?|seconds?|ms)\)?)?", re.IGNORECASE
)


_ADVICE = (
    "Look at what has changed in the evaluations (number of samples, length of generated texts, batch size), "
    "and at what else runs on the machine."
)
_ADVICE_OVER = (
    "Nothing to do now. If it comes again: look at these evaluations (number of samples, length of generated "
    "texts, batch size), and at what else ran on the machine."
)


@dataclass(frozen=True, kw_only=True)
class EvaluationSpeedThresholds(Thresholds):
    """When evaluations count as slow."""

    known: int = 4
    """Evaluations before, at least, after the first, which includes caches and compilation."""
    slow: int = 3
    """Evaluations in sequence that must be slow: one or two may share their machine with others."""
    least_ratio: float = 1.5
    """Times the longest of all before that each of them must take."""
    ranges: float = 1.0
    """Ranges of the logarithms of those before by which each must be above the longest."""
    back_share: float = 0.5
    """Share of the rise of the logarithm below which an evaluation is as fast as before."""
    confidence: float = 0.9
    """Confidence."""


@dataclass(frozen=True, kw_only=True)
class EvaluationSpeedDetector:
    """Compares how long evaluations take, or their rate, with all evaluations before."""

    name: ClassVar[str] = "evaluation_speed"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.THROUGHPUT_REGRESSION})
    thresholds: EvaluationSpeedThresholds = EvaluationSpeedThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding for each time at which evaluations became slow, from the series that shows it first."""
        findings = [
            finding
            for series in evaluation_speeds(run)
            for finding in self._of_series(series, context.tuning.of(series.key.metric).sensitivity)
        ]
        first: dict[tuple[int, int], Finding] = {}
        for finding in sorted(findings, key=lambda each: each.detected_step):
            first.setdefault((finding.attempt, finding.detected_step), finding)
        return first.values()

    def _of_series(self, series: Series, sensitivity: float) -> Iterator[Finding]:
        limits = self.thresholds
        sign = -1.0 if is_rate(series.key) else 1.0
        for span in attempt_rows(series):
            value = series.value[span.rows]
            row = span.first + np.flatnonzero(np.isfinite(value) & (value > 0))
            cost = sign * np.log(series.value[row])
            at = _first_slow(cost, sensitivity, limits)
            if at is None:
                continue
            before, slow = float(np.median(cost[1:at])), cost[at : at + limits.slow]
            height = float(np.median(slow)) - before
            fast = np.flatnonzero(cost[at + limits.slow :] < before + limits.back_share * height)
            end = at + limits.slow + int(fast[0]) if len(fast) else None
            costs = np.array([before, before + height, float(np.max(cost[at:end]))])
            yield self._finding(series, row.tolist(), at, end, np.exp(sign * costs), cost)

    def _finding(
        self, series: Series, rows: list[int], at: int, end: int | None, levels: FloatArray, cost: FloatArray
    ) -> Finding:
        limits = self.thresholds
        baseline, level, worst = levels.tolist()
        times = max(level / baseline, baseline / level)
        start, detected = (int(series.step[rows[index]]) for index in (at, at + limits.slow - 1))
        end_step = None if end is None else int(series.step[rows[end]])
        ratio, moved = f"{figure(times)} times as long", from_to(baseline, level)
        unit = "" if is_rate(series.key) else f" {unit_of_metric(Role.STEP_TIME, series.key.metric)}"
        if end_step is None:
            slow = f"Evaluations have taken {ratio} since step {start:,}"
        else:
            slow = f"Evaluations took {ratio} from step {start:,} until step {end_step:,}"
        return Finding(
            kind=Kind.THROUGHPUT_REGRESSION,
            metric=series.key.metric,
            labels=series.key.labels,
            attempt=int(series.attempt[rows[at]]),
            start_step=start,
            peak_step=int(series.step[rows[at + int(np.argmax(cost[at:end]))]]),
            end_step=end_step,
            detected_step=detected,
            classified_step=detected,
            severity=Severity.WARNING if end is None else Severity.INFO,
            confidence=limits.confidence,
            summary=f"{slow}: {series.key} went {moved}{unit}.",
            advice=_ADVICE if end_step is None else _ADVICE_OVER,
            evidence={
                "baseline": baseline,
                "worst": worst,
                "lost": 1 - 1 / times,
                "noise": float(np.std(cost[1:at])),
            },
        )


def _first_slow(cost: FloatArray, sensitivity: float, thresholds: EvaluationSpeedThresholds) -> int | None:
    """The first of several evaluations in sequence that are slower than all before; costs [n] are logarithms
    of durations."""
    first, after = thresholds.known + 1, len(cost) - thresholds.slow + 1
    if after <= first:
        return None
    highest = np.maximum.accumulate(cost[1:])[first - 2 : after - 2]
    lowest = np.minimum.accumulate(cost[1:])[first - 2 : after - 2]
    least = np.maximum(np.log(thresholds.least_ratio), thresholds.ranges * (highest - lowest))
    fastest = sliding_window_view(cost, thresholds.slow).min(axis=1)[first:after]
    slow = np.flatnonzero((fastest - highest) * sensitivity >= least)
    return first + int(slow[0]) if len(slow) else None


def is_rate(key: SeriesKey) -> bool:
    """Whether a series of the speed of evaluations is higher for faster ones."""
    return role_of(key) is Role.THROUGHPUT


def is_evaluation_duration(key: SeriesKey) -> bool:
    """Whether a series is named after the time that an evaluation takes."""
    is_duration = role_of(key) in _TIMES and _DURATION.fullmatch(key.metric) is not None
    return is_duration and is_of_evaluation(key)


def evaluation_speeds(run: RunData) -> list[Series]:
    """The series of how fast evaluations are: rates, or durations where there are none."""
    keys = [key for key in sorted(run.series) if is_of_evaluation(key) and key.rank is None]
    rates = [key for key in keys if is_rate(key)]
    durations = [key for key in keys if is_evaluation_duration(key)]
    return [run.series[key] for key in rates or durations]

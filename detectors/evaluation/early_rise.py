"""Early rises: a loss that fell for a few rows, rose, and has been high since, in the first rows of a run.

When such a rise begins, no noise is known to compare it with; it is known from the rows that follow. The
latest rows are compared with the lowest few so far. The scan for excursions compares points with those before
them, of which there are too few, and which fall steeply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.context import related_changes
from holter.detectors.detector import DetectorContext
from holter.detectors.evaluation.noise import EvaluationNoiseThresholds, measure_evaluation_noise
from holter.detectors.formatting import figures
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.loss.announced_changes import AnnouncedChangeThresholds, stage_began
from holter.detectors.positions import attempt_rows
from holter.detectors.robust_statistics import row_medians
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, SeriesKey, Severity

EARLY_ROWS = 160
"""Rows of a launch among which such a rise is detected: later ones have a noise that is known before them."""


_LOSSES = (Role.LOSS, Role.EVAL_LOSS)

RiseSearch = Callable[[int, IntArray, FloatArray, int], "tuple[int, EarlyRise] | None"]
"""Finds the first row of an attempt's first rows, from a number of known ones on, that shows a rise."""


@dataclass(frozen=True, kw_only=True)
class EarlyRiseThresholds(Thresholds):
    """When a rise among the first rows of a run is reported."""

    low_rows: int = 3
    """Rows whose mean is the lowest so far."""
    high_rows: int = 8
    """Latest rows, at least, each of which must be above each of the lowest: otherwise half of those since,
    as many as show that the loss does not return."""
    spreads: float = 6.0
    """Standard deviations of a row, and of the level over eight, by which their mean must be above the
    lowest, and by which the loss must have fallen before: the lowest of many means is a low one."""
    progress: float = 0.5
    """Share of the fall before that it must have undone."""
    begun_share: float = 0.25
    """Share of the rise from which on it counts as begun."""
    jump_rows: int = 3
    """Rows within which a jump reaches all but that share of its height; other rises are a divergence."""
    return_share: float = 0.5
    """Share of the rise below which it is over."""
    doubt: float = 0.3
    """Confidence lacking where the evidence is just sufficient; it falls with the square of its strength."""
    noise: EvaluationNoiseThresholds = EvaluationNoiseThresholds()
    """How the noise of so few rows is measured."""
    announced: AnnouncedChangeThresholds = AnnouncedChangeThresholds()
    """When a stage that the run logged counts as begun."""


@dataclass(frozen=True, kw_only=True)
class EarlyRise:
    """A rise among the first rows of an attempt, in steps: `end` is None while it lasts.

    `first_high`: its height at the detection, where its strength grows with it.
    """

    attempt: int
    compared_from: int
    lowest: int
    start: int
    detected: int
    peak: int
    end: int | None
    points: int
    low: float
    high: float
    noise: float
    strength: float
    is_jump: bool
    first_high: float | None = None

    @property
    def strength_reached(self) -> float:
        """The strength of what it has reached, in place of that at its detection, by `first_high`."""
        first = self.high if self.first_high is None else self.first_high
        return self.strength * (self.high - self.low) / (first - self.low)


@dataclass(frozen=True)
class EarlyRiseDetector:
    """Detects where a loss, of training or an evaluation, rises soon after its start, and stays high."""

    name: ClassVar[str] = "early_rise"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DIVERGENCE, Kind.SPIKE_UNRECOVERED})
    thresholds: EarlyRiseThresholds = EarlyRiseThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterator[Finding]:
        """A finding for each launch whose losses have such a rise that no logged change explains: one for
        those of training and one for those of evaluations, however many are logged."""

        def find(key: SeriesKey) -> RiseSearch:
            sensitivity = context.tuning.of(key.metric).sensitivity
            return partial(_find_rise, sensitivity=sensitivity, thresholds=self.thresholds)

        def finding(series: Series, role: Role, rise: EarlyRise) -> Finding:
            return rise_finding(series, role, rise, self.thresholds)

        yield from first_rises(self.name, run, context, find, finding, self.thresholds, EARLY_ROWS)


def first_rises(
    name: str,
    run: RunData,
    context: DetectorContext,
    find: Callable[[SeriesKey], RiseSearch],
    finding: Callable[[Series, Role, EarlyRise], Finding],
    thresholds: EarlyRiseThresholds,
    rows: int,
) -> Iterator[Finding]:
    """The first finding for each launch and role of losses, of rises that no logged change explains.

    `name` is that of the detector, whose scans are retained from look to look; rises are searched for among
    the first `rows` of each launch.
    """
    first: dict[tuple[int, Role], Finding] = {}
    for key in sorted(run.series):
        role = role_of(key)
        if role not in _LOSSES or key.rank is not None:
            continue
        for rise in _scan(name, run.series[key], context, find(key), thresholds, rows).rises:
            if not is_explained_rise(run, rise, thresholds):
                found = finding(run.series[key], role, rise)
                known = first.setdefault((rise.attempt, role), found)
                if found.detected_step < known.detected_step:
                    first[rise.attempt, role] = found
    yield from first.values()


def _scan(
    name: str,
    series: Series,
    context: DetectorContext,
    find: RiseSearch,
    thresholds: EarlyRiseThresholds,
    rows: int,
) -> EarlyRiseScan:
    checkpoints: ScanCheckpoints[EarlyRiseScan] = context.state.checkpoints((name, series.key), [series])
    checkpoint = checkpoints.latest([series])
    scan = checkpoint.state if checkpoint else EarlyRiseScan()
    for span in attempt_rows(series, checkpoint.rows[0] if checkpoint else 0):
        finite = np.isfinite(series.value[span.rows])
        step, value = series.step[span.rows][finite], series.value[span.rows][finite]
        scan = scan.after(span.attempt, step, value, find, thresholds, rows)
    checkpoints.save(Checkpoint(scan, (len(series),)))
    return scan


@dataclass(frozen=True, eq=False)
class EarlyRiseScan:
    """The state of a scan: the `rises` of all launches so far, of which the last one may last.

    `step` and `value` [n] are the first rows of the current attempt while it is young and nothing was found,
    or the latest rows while its rise lasts; an attempt that continues the run (`is_old`) has none.
    """

    rises: tuple[EarlyRise, ...] = ()
    attempt: int | None = None
    earliest: int | None = None
    is_old: bool = True
    step: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    value: FloatArray = field(default_factory=lambda: np.empty(0))

    def after(
        self,
        attempt: int,
        step: IntArray,
        value: FloatArray,
        find: RiseSearch,
        thresholds: EarlyRiseThresholds,
        rows: int,
    ) -> EarlyRiseScan:
        """The state after further rows [n] of an attempt, all of them finite; rises are searched for among
        its first `rows`."""
        if not len(step):
            return self
        scan = self if attempt == self.attempt else self._of_attempt(attempt, int(step[0]))
        if scan.is_old:
            return scan
        if not scan._is_rising():
            left = rows - len(scan.value)
            known = len(scan.value)
            scan = replace(
                scan,
                step=np.concatenate((scan.step, step[:left])),
                value=np.concatenate((scan.value, value[:left])),
            )
            found = find(attempt, scan.step, scan.value, known)
            if found is None:
                is_old = len(scan.value) >= rows
                return replace(scan, is_old=True, step=step[:0], value=value[:0]) if is_old else scan
            row, rise = found
            step = np.concatenate((scan.step[row + 1 :], step[left:]))
            value = np.concatenate((scan.value[row + 1 :], value[left:]))
            latest = slice(row + 2 - thresholds.high_rows, row + 1)
            scan = replace(scan, rises=(*scan.rises, rise), step=scan.step[latest], value=scan.value[latest])
        return scan._followed(step, value, thresholds)

    def _of_attempt(self, attempt: int, step: int) -> EarlyRiseScan:
        """The state at the beginning of an attempt: one from the first step of the run on is a launch."""
        is_launch = self.earliest is None or step <= self.earliest
        return EarlyRiseScan(
            rises=self.rises,
            attempt=attempt,
            earliest=step if self.earliest is None else min(step, self.earliest),
            is_old=not is_launch,
        )

    def _is_rising(self) -> bool:
        return bool(self.rises) and self.rises[-1].attempt == self.attempt

    def _followed(self, step: IntArray, value: FloatArray, thresholds: EarlyRiseThresholds) -> EarlyRiseScan:
        """The state after further rows of a rise that lasts."""
        if not len(step):
            return self
        rise, size = self.rises[-1], thresholds.high_rows
        step, value = np.concatenate((self.step, step)), np.concatenate((self.value, value))
        # of medians: a lone point is neither the height of a rise nor keeps it from being over
        level = row_medians(sliding_window_view(value, size))
        highest = np.maximum.accumulate(np.maximum(level, rise.high))
        is_back = level < rise.low + thresholds.return_share * (highest - rise.low)
        count = int(np.argmax(is_back)) + 1 if is_back.any() else len(level)
        top = int(np.argmax(level[:count]))
        if level[top] > rise.high:
            rise = replace(rise, high=float(level[top]), peak=int(step[top + size - 1]))
        if is_back.any():
            rise = replace(rise, end=int(step[count + size - 2]))
        latest = slice(len(step) + 1 - size, None)
        return replace(
            self,
            rises=(*self.rises[:-1], rise),
            is_old=rise.end is not None,
            step=step[latest],
            value=value[latest],
        )


def _find_rise(
    attempt: int,
    step: IntArray,
    value: FloatArray,
    known: int,
    sensitivity: float,
    thresholds: EarlyRiseThresholds,
) -> tuple[int, EarlyRise] | None:
    """The first row, from the `known`-th on, at which these first rows [n] show a rise, and the rise."""
    low_rows, size = thresholds.low_rows, thresholds.high_rows
    rows = np.arange(max(known, low_rows + size - 1), len(value))
    if not len(rows):
        return None
    noise = measure_evaluation_noise(step.astype(np.float64), value, thresholds.noise)
    spread = np.hypot(noise.sigma, noise.wander[thresholds.noise.distances[-1]])
    means = sliding_window_view(value, low_rows).mean(axis=1)
    lowest = np.maximum.accumulate(np.where(means <= np.minimum.accumulate(means), np.arange(len(means)), 0))
    highest = np.maximum.accumulate(value)
    first = lowest[rows - size - low_rows + 1]
    visible = thresholds.spreads * spread[rows] / sensitivity
    fall = highest[first] - means[first]
    latest = sliding_window_view(value, size).mean(axis=1)[rows - size + 1]
    # NaN while the noise is not known
    # a loss of both signs wanders about zero, as that of a policy does
    has_one_sign = (np.minimum.accumulate(value) > 0) | (highest < 0)
    candidates = (latest - means[first] > visible) & (fall > visible) & has_one_sign[rows]
    for index in np.flatnonzero(candidates).tolist():
        row, begin = int(rows[index]), int(first[index])
        last_low = begin + low_rows - 1
        high = value[row + 1 - max(size, (row + 1 - last_low) // 2) : row + 1]
        low = float(means[begin])
        rise = float(high.mean()) - low
        is_apart = high.min() > value[begin : last_low + 1].max()
        if is_apart and rise > visible[index] and rise > thresholds.progress * fall[index]:
            above = value[last_low : row + 1] - low
            start = last_low + 1 + int(np.flatnonzero(above <= thresholds.begun_share * rise)[-1:].sum())
            most = last_low + int(np.argmax(above >= (1 - thresholds.begun_share) * rise))
            return row, EarlyRise(
                attempt=attempt,
                compared_from=int(step[begin]),
                lowest=int(step[last_low]),
                start=int(step[start]),
                detected=int(step[row]),
                peak=int(step[row]),
                end=None,
                points=row + 1 - start,
                low=low,
                high=float(latest[index]),
                noise=float(noise.sigma[row]),
                strength=float(min(rise, fall[index]) / visible[index]),
                is_jump=most < start + thresholds.jump_rows,
            )
    return None


def is_explained_rise(run: RunData, rise: EarlyRise, thresholds: EarlyRiseThresholds) -> bool:
    """Whether another batch, mixture or stage explains a rise. A learning rate that warms up does not."""
    changes = related_changes(run, rise.attempt, rise.compared_from, rise.detected)
    if "batch_size" in changes or "mixture" in changes:
        return True
    return stage_began(run, rise.attempt, rise.compared_from, rise.detected, thresholds.announced)


def rise_finding(series: Series, role: Role, rise: EarlyRise, thresholds: EarlyRiseThresholds) -> Finding:
    """The finding of a rise among the first rows."""
    name = "Loss" if role is Role.LOSS else f"Evaluation loss {series.key}"
    low, high = figures(rise.low, rise.high)
    moved = f"from {low} at step {rise.lowest:,} to {high} by step {rise.peak:,}"
    back = "has stayed high" if rise.end is None else f"was back at step {rise.end:,}"
    return Finding(
        kind=Kind.SPIKE_UNRECOVERED if rise.is_jump else Kind.DIVERGENCE,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=rise.attempt,
        start_step=rise.start,
        peak_step=rise.peak,
        end_step=rise.end,
        detected_step=rise.detected,
        classified_step=rise.detected,
        severity=Severity.WARNING if rise.end is None else Severity.INFO,
        confidence=1 - thresholds.doubt / min(max(rise.strength_reached, 1.0), 1e6) ** 2,
        summary=f"{name} rose soon after the run began, {moved}, and {back}.",
        advice=_advice(role, rise),
        evidence={
            "baseline": rise.low,
            "peak": rise.high,
            "noise": rise.noise,
            "recovery_steps": None if rise.end is None else rise.end - rise.start,
            "strength": rise.strength_reached,
            "points_to_detect": rise.points,
            "lowest_step": rise.lowest,
            "precursors": [],
        },
    )


def _advice(role: Role, rise: EarlyRise) -> str:
    if rise.end is not None:
        return "Nothing to do now: the loss came back by itself."
    if role is Role.EVAL_LOSS:
        return (
            f"Keep the checkpoint of step {rise.lowest:,}; lower the learning rate, or regularise more where "
            "the training loss falls."
        )
    return (
        f"Stop; go back to step {rise.lowest:,} or start again, with a lower learning rate or a longer "
        "warm-up; check data and precision."
    )

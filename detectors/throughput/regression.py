"""Throughput regression: a lasting slow-down below the run's own level that no planned change explains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, exp, log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import from_to
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import (
    RowPosition,
    last_common_position,
    position_of,
    rows_of_attempt,
    rows_up_to,
)
from holter.detectors.thresholds import Thresholds
from holter.detectors.throughput.block_medians import BlockCursor, BlockPoints, MedianBlock, cut_into_blocks
from holter.detectors.throughput.durations import is_duration_of_rows, seconds_of_step
from holter.detectors.throughput.established_level import UNKNOWN_STEPS, LevelShift, LevelShiftThresholds
from holter.detectors.throughput.level_shift import LevelShiftScan
from holter.detectors.throughput.slow_drift import SlowDriftScan, SlowDriftThresholds
from holter.detectors.throughput.work_per_step import (
    WorkRegimes,
    WorkThresholds,
    find_work_regimes,
    joint_regimes,
    work_series,
)
from holter.metric_units import unit_of_metric
from holter.roles import Role, is_of_evaluation, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity

_TIMES = (Role.STEP_TIME, Role.DURATION)
_ROLES = (Role.THROUGHPUT, Role.MFU, *_TIMES)


@dataclass(frozen=True, kw_only=True)
class ThroughputThresholds(Thresholds):
    """When a slow-down is reported, and how severe it is."""

    level: LevelShiftThresholds = LevelShiftThresholds()
    """When a level is established and left."""
    drift: SlowDriftThresholds = SlowDriftThresholds()
    """When a slow rise is reported."""
    work: WorkThresholds = WorkThresholds()
    """When the work of a step has changed."""
    smallest_rise: float = log(1.03)
    """Logarithm of the time per step. 3 % of the throughput is log(1 / 0.97): a little is left to the
    estimate of the level, and no more, since a level that varies by 2.8 % for hours is no regression of 3
    %."""
    major_loss: float = 0.1
    """Share of the throughput. A slow-down of this much is critical: Greyhound verifies changes of 10 %."""
    short_steps: int = 128
    """Steps. A slow-down without a spell as long is information once it is over, and critical only from this
    long on: neighbours on a shared cluster, saving a checkpoint."""
    beginning_steps: int = 1000
    """Steps. Where a run was faster for less, at its beginning or since it had been as slow before, that may
    not be its own level: leaving it is a warning at most..."""
    beginning_times: float = 3.0
    """Times as long as that after which the slower level is the run's own, and leaving the faster one is
    information: caches fill, sequences get longer."""
    recurring_least: int = 2
    """Earlier slow-downs, to at least the same level, from which on one more is the run's usual course..."""
    recurring_known: int = 16
    """... among so many that were the latest..."""
    recurring_times: float = 2.0
    """... while it lasts at most so many times as long as each of them: saving checkpoints, evaluations,
    neighbours on a shared cluster come and go."""
    warm_up_steps: int = 10
    """Steps at the beginning of each attempt that are left out."""
    longest_step: float = 6.0
    """Seconds. Where steps take longer, as epochs do, limits in steps are so many times these: half an hour
    establishes a level, and ten steps of warm-up are a minute."""
    max_confidence: float = 0.99
    """Confidence. The most that is stated."""
    base_confidence: float = 0.6
    """Confidence of a rise without any noise to compare with."""
    confidence_per_noise: float = 0.03
    """Confidence added per noise of the rise."""
    noise_floor: float = 1e-3
    """Logarithm. Noise is not taken to be lower when confidence is computed."""

    def for_steps_of(self, seconds: float) -> ThroughputThresholds:
        """The limits for steps that take so long."""
        if not seconds > self.longest_step:
            return self
        share = self.longest_step / seconds
        established = ceil(self.level.established_steps * share)
        return replace(
            self,
            level=replace(self.level, established_steps=established),
            short_steps=ceil(self.short_steps * share),
            beginning_steps=ceil(self.beginning_steps * share),
            warm_up_steps=ceil(self.warm_up_steps * share),
        )


_SEARCH_ROWS = 64
"""Rows that are searched at once."""


@dataclass(frozen=True)
class ThroughputRegressionDetector:
    """Compares tokens/s, TFLOPS, MFU or step time with the level that this run had established."""

    name: ClassVar[str] = "throughput"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.THROUGHPUT_REGRESSION})
    thresholds: ThroughputThresholds = ThroughputThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per slow-down, from the series that shows it first."""
        findings = []
        for series in run_speed_series(run):
            findings += list(self._in_series(series, run, context))
        return _one_per_event(findings)

    def _in_series(self, series: Series, run: RunData, context: DetectorContext) -> Iterator[Finding]:
        seconds = seconds_of_step(series)
        if seconds is None:
            return
        limits = self.thresholds.for_steps_of(seconds)
        sources = work_series(run, limits.work)
        regimes = [find_work_regimes(source, context.state, limits.work) for source in sources]
        both = [series, *(source for source in sources if source is not series)]
        checkpoints: ScanCheckpoints[_RegressionScan] = context.state.checkpoints(
            (self.name, series.key), both
        )
        checkpoint = checkpoints.latest(both)
        scan, done = (checkpoint.state, checkpoint.rows[0]) if checkpoint else (None, 0)
        if scan is None:
            sensitivity = context.tuning.of(series.key.metric).sensitivity
            smallest = limits.smallest_rise
            scan = _RegressionScan(
                LevelShiftScan(smallest=smallest, sensitivity=sensitivity, limits=limits.level),
                SlowDriftScan(smallest=smallest, sensitivity=sensitivity, limits=limits.drift),
            )
        # first up to where both series have points; then to the end, since one may have ended for good
        ends = {last_common_position(both), position_of(series, len(series) - 1)} if len(series) else ()
        for position in sorted(ends):
            upto = rows_up_to(series, position)
            if upto > done:
                scan, done = scan.after(series, regimes, upto, limits), upto
                rows = tuple(rows_up_to(each, position) for each in both)
                checkpoints.save(Checkpoint(scan, rows, upto=position))
        shifts = scan.shift_scan.shifts
        for number, shift in enumerate(shifts):
            latest = shifts[max(number - limits.recurring_known, 0) : number]
            yield _finding(series, shift, limits, times_before=_times_before(shift, latest, limits))
        for shift in scan.drift_scan.shifts:
            yield _finding(series, shift, limits)


@dataclass(frozen=True)
class _RegressionScan:
    """State of a scan over a series: level shifts and slow drifts so far, and the cursor of the blocks.

    `attempt_begin` is the attempt that the next row may belong to, and its first step.
    """

    shift_scan: LevelShiftScan
    drift_scan: SlowDriftScan
    cursor: BlockCursor = field(default_factory=BlockCursor)
    attempt_begin: tuple[int, int] = (-1, 0)

    def after(
        self, series: Series, regimes: Sequence[WorkRegimes], upto: int, limits: ThroughputThresholds
    ) -> _RegressionScan:
        """The state after the first `upto` rows."""
        first = self.cursor.row
        good = _is_usable(series.value[first:upto])
        row = first + np.flatnonzero(good)
        attempt, step = series.attempt[row], series.step[row]
        regime = joint_regimes(regimes, series, slice(first, upto))[good]
        segment = _number_segments(attempt, step, regime, self.attempt_begin, limits.warm_up_steps)
        points = BlockPoints(
            row=row, attempt=attempt, step=step, value=_costs(series, row), segment=segment, group=regime
        )
        blocks, cursor = cut_into_blocks(self.cursor, points, limits.level.blocks, after=upto)
        shift_scan, drift_scan = self.shift_scan, self.drift_scan
        if blocks:
            shift_scan, drift_scan = shift_scan.copy(), drift_scan.copy()
            for block in blocks:
                shift_scan.scan([block], lambda block: _points(series, block))
                drift_scan.scan(block, shift_scan.shifts)
        return _RegressionScan(
            shift_scan, drift_scan, cursor, _attempt_begin(attempt, step, self.attempt_begin)
        )


def _is_usable(value: FloatArray) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(value) & (value > 0))


def _costs(series: Series, rows: IntArray) -> FloatArray:
    """The logarithm of the time per step: shares of throughput and of time become the same number."""
    sign = 1.0 if role_of(series.key) in _TIMES else -1.0
    return np.asarray(np.log(series.value[rows]) * sign)


def _points(series: Series, block: MedianBlock) -> tuple[list[RowPosition], FloatArray]:
    rows = block.first + np.flatnonzero(_is_usable(series.value[block.first : block.last + 1]))
    steps = series.step[rows].tolist()
    positions = [
        RowPosition(row, block.attempt, step) for row, step in zip(rows.tolist(), steps, strict=True)
    ]
    return positions, _costs(series, rows)


def run_speed_series(run: RunData) -> list[Series]:
    """The series of the speed of the run, without those of single ranks and of evaluations.

    What a duration is of is open: it counts where no other series states the speed.
    """
    by_role: defaultdict[Role, list[Series]] = defaultdict(list)
    for key in sorted(run.series):
        role = role_of(key)
        if role in _ROLES and key.rank is None and not is_of_evaluation(key):
            by_role[role].append(run.series[key])
    stated = [series for role in _ROLES[:-1] for series in by_role[role]]
    return stated or [series for series in by_role[Role.DURATION] if is_duration_of_rows(series)]


def _number_segments(
    attempt: IntArray, step: IntArray, regime: IntArray, begin: tuple[int, int], warm_up_steps: int
) -> IntArray:
    """Numbers of segments of one attempt and one regime [n]; -1 in the warm-up of every attempt.

    `begin`: the attempt before these points, and its first step.
    """
    edges = (np.diff(attempt, prepend=attempt[:1]) != 0) | (np.diff(regime, prepend=regime[:1]) != 0)
    segment = np.cumsum(edges)
    starts = np.flatnonzero(np.diff(attempt, prepend=begin[0]))
    first_step = np.full(len(step), begin[1])
    for start in starts.tolist():
        first_step[start:] = step[start]
    warming = step - first_step < warm_up_steps
    warming[starts] = True
    segment[warming] = -1
    return segment.astype(np.int64)


def _attempt_begin(attempt: IntArray, step: IntArray, before: tuple[int, int]) -> tuple[int, int]:
    """The last attempt of these points, and its first step."""
    if not len(attempt) or attempt[-1] == before[0]:
        return before
    return int(attempt[-1]), int(step[np.searchsorted(attempt, attempt[-1])])


def _times_before(shift: LevelShift, earlier: Sequence[LevelShift], limits: ThroughputThresholds) -> int:
    """How many earlier slow-downs were as slow and about as long, of those reported or of those that belong
    to the established level; 0 where too few to be usual."""
    # spells on top of a slow-down are no part of its level
    level = shift.reference + shift.sustained - max(limits.smallest_rise, shift.noise)
    # a reported one may belong to the established level, too
    reported = [each.longest for each in earlier if each.reference + each.rise >= level]
    usual = shift.usual_spells if shift.reference + shift.usual_rise >= level else ()
    times = max(
        sum(shift.longest <= limits.recurring_times * steps < UNKNOWN_STEPS for steps in spells)
        for spells in (reported, usual)
    )
    return times if times >= limits.recurring_least else 0


def _finding(
    series: Series, shift: LevelShift, limits: ThroughputThresholds, *, times_before: int = 0
) -> Finding:
    higher_is_better = role_of(series.key) not in _TIMES
    start, resumed = _from_attempt_start(series, shift.start, limits.warm_up_steps)
    # spells on top of a slow-down are no part of what it costs; what came gradually and was over soon has
    # held less than what counts as a slow-down, and cost what it had reached
    held = shift.held if shift.held >= limits.smallest_rise else shift.rise
    lost = 1 - _exp(-held)
    sign = -1.0 if higher_is_better else 1.0
    baseline = _exp(sign * shift.reference)
    worst = _exp(sign * (shift.reference + shift.rise))
    end = None if shift.end is None else shift.end.step
    noises = shift.rise / max(shift.noise, limits.noise_floor)
    level = _exp(sign * (shift.reference + held))
    summary = _summary(series, baseline, level, lost, start.step, end, shift.gradual, resumed)
    return Finding(
        kind=Kind.THROUGHPUT_REGRESSION,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=start.attempt,
        start_step=start.step,
        peak_step=shift.worst.step,
        end_step=end,
        detected_step=shift.detected.step,
        classified_step=shift.detected.step,
        severity=Severity.INFO if times_before else _severity(series, shift, lost, limits),
        confidence=min(limits.max_confidence, limits.base_confidence + limits.confidence_per_noise * noises),
        summary=summary + (f" It was as slow {times_before} times before." if times_before else ""),
        advice=_advice(resumed, shift.gradual),
        evidence={
            "baseline": baseline,
            "worst": worst,
            "lost": lost,
            "noise": shift.noise,
            "gradual": shift.gradual,
            "after_resume": resumed,
            "times_before": times_before,
        },
    )


def _severity(series: Series, shift: LevelShift, lost: float, limits: ThroughputThresholds) -> Severity:
    """By what a slow-down has cost so far: how much of the throughput, and for how long."""
    is_short = shift.longest < limits.short_steps
    if shift.before < limits.beginning_steps:
        lasted = int(series.step[-1]) - shift.start.step if int(series.attempt[-1]) == 0 else 2**62
        is_settled = shift.end is None and lasted > limits.beginning_times * shift.before
        return Severity.INFO if is_settled or (is_short and shift.end is not None) else Severity.WARNING
    if is_short:
        return Severity.WARNING if shift.end is None else Severity.INFO
    return Severity.CRITICAL if lost >= limits.major_loss else Severity.WARNING


def _exp(logarithm: float) -> float:
    return exp(min(logarithm, 700.0))  # the largest logarithm that a float can hold


def _from_attempt_start(series: Series, start: RowPosition, warm_up_steps: int) -> tuple[RowPosition, bool]:
    """The start of a slow-down, and whether it came with a resume.

    A slow-down that began with the first block after an attempt's warm-up starts with the attempt.
    """
    span = rows_of_attempt(series, start.attempt)
    first = _first_usable(series, span.first)
    if span.first == 0:
        return start, False
    warm = span.first + int(np.searchsorted(series.step[span.rows], series.step[first] + warm_up_steps))
    if start.row <= _first_usable(series, max(warm, first + 1)):
        return RowPosition(first, start.attempt, int(series.step[first])), True
    return start, False


def _first_usable(series: Series, row: int) -> int:
    """The first usable point from a row on; there must be one."""
    while not (usable := _is_usable(series.value[row : row + _SEARCH_ROWS])).any():
        row += _SEARCH_ROWS
    return row + int(np.argmax(usable))


def _summary(
    series: Series,
    baseline: float,
    level: float,
    lost: float,
    start: int,
    end: int | None,
    gradual: bool,
    resumed: bool,
) -> str:
    how = "gradually from" if gradual else ("with the resume at" if resumed else "at")
    until = "" if end is None else f" and recovered at step {end:,}"
    # names of rates state their units
    is_time = role_of(series.key) in _TIMES
    unit = f" {unit_of_metric(Role.STEP_TIME, series.key.metric)}" if is_time else ""
    return (
        f"{series.key} went {from_to(baseline, level)}{unit} {how} step {start:,}{until}: "
        f"{lost:.0%} of the throughput was lost."
    )


def _advice(resumed: bool, gradual: bool) -> str:
    if resumed:
        return "Compare nodes, placement and settings of this attempt with those of the previous one."
    if gradual:
        return (
            "Look for what grows: memory fragmentation, a filling disk, a data loader falling behind, heat."
        )
    return "Look at clocks and temperatures, the network and the data loader from this step on."


def _one_per_event(findings: list[Finding]) -> list[Finding]:
    """The findings without those that another series had detected before, in the order of detection."""
    unique: list[Finding] = []
    for finding in sorted(findings, key=lambda each: each.detected_step):
        others = (each for each in unique if (each.metric, each.labels) != (finding.metric, finding.labels))
        if not any(_same_event(earlier, finding) for earlier in others):
            unique.append(finding)
    return unique


def _same_event(earlier: Finding, later: Finding) -> bool:
    # by fields that never change after detection: the onsets agree within the delays of detection
    delay = max(each.detected_step - each.start_step for each in (earlier, later))
    return earlier.attempt == later.attempt and abs(earlier.start_step - later.start_step) <= 2 * delay

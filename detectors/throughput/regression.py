"""Throughput regression: the run is slower than it has been, for long, and nothing planned explains it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import exp, log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import figure
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import (
    RowPosition,
    last_common_position,
    position_of,
    rows_of_attempt,
    rows_up_to,
)
from holter.detectors.throughput.block_medians import BlockCursor, BlockPoints, MedianBlock, cut_into_blocks
from holter.detectors.throughput.level_shift import LevelShift, LevelShiftScan
from holter.detectors.throughput.work_per_step import WorkRegimes, find_work_regimes, work_series
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity

_ROLES = (Role.THROUGHPUT, Role.MFU, Role.STEP_TIME)
_SMALLEST = log(1.03)
"""3 % of the throughput is log(1 / 0.97): a little is left to the estimate of the level, and no more, since
a level that wanders by 2.8 % for hours is no regression of 3."""
_MAJOR = 0.1
_WARM_UP_STEPS = 10
_AT_ONCE = 64


@dataclass(frozen=True)
class ThroughputRegressionDetector:
    """Compares tokens/s, TFLOPS, MFU or step time with the level that this run had established."""

    name: ClassVar[str] = "throughput"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.THROUGHPUT_REGRESSION})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per slow-down, from the series that shows it first."""
        spoken = []
        for series in run_speed_series(run):
            spoken += list(self._in_series(series, run, context))
        return _one_per_event(spoken)

    def _in_series(self, series: Series, run: RunData, context: DetectorContext) -> Iterator[Finding]:
        source = work_series(run)
        regimes = WorkRegimes() if source is None else find_work_regimes(source, context.state)
        both = [series] if source in (None, series) else [series, source]
        checkpoints: ScanCheckpoints[_Scan] = context.state.checkpoints((self.name, series.key), both)
        checkpoint = checkpoints.latest(both)
        sensitivity = context.tuning.of(series.key.metric).sensitivity
        scan = (
            checkpoint.state
            if checkpoint
            else _Scan(LevelShiftScan(smallest=_SMALLEST, sensitivity=sensitivity))
        )
        done = checkpoint.rows[0] if checkpoint else 0
        # what the one that is behind will say still counts; and it may have ended for good
        for place in sorted({last_common_position(both), position_of(series, len(series) - 1)} if len(series) else ()):
            upto = rows_up_to(series, place)
            if upto > done:
                scan, done = scan.and_then(series, regimes, upto), upto
                checkpoints.save(Checkpoint(scan, tuple(rows_up_to(one, place) for one in both), upto=place))
        for departure in scan.watch.departures:
            yield _finding(series, departure)


@dataclass(frozen=True)
class _Scan:
    """How far a series has been cut into blocks, and what they showed. `warm` is the attempt that the
    next row may belong to, and its first step."""

    watch: LevelShiftScan
    cut: BlockCursor = field(default_factory=BlockCursor)
    warm: tuple[int, int] = (-1, 0)

    def and_then(self, series: Series, regimes: WorkRegimes, upto: int) -> _Scan:
        """What is known after so many rows."""
        first = self.cut.row
        good = _good(series.value[first:upto])
        row = first + np.flatnonzero(good)
        attempt, step = series.attempt[row], series.step[row]
        regime = regimes.at(series, slice(first, upto))[good]
        stretch = _stretches(attempt, step, regime, self.warm)
        points = BlockPoints(
            row=row, attempt=attempt, step=step, value=_costs(series, row), stretch=stretch, group=regime
        )
        blocks, cut = cut_into_blocks(self.cut, points, after=upto)
        watch = self.watch
        if blocks:
            watch = watch.copy()
            watch.look_at(blocks, lambda block: _points(series, block))
        return _Scan(watch, cut, _warm(attempt, step, self.warm))


def _good(value: FloatArray) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(value) & (value > 0))


def _costs(series: Series, rows: IntArray) -> FloatArray:
    # a logarithm makes shares of throughput and of time the same number
    sign = 1.0 if role_of(series.key) is Role.STEP_TIME else -1.0
    return np.asarray(np.log(series.value[rows]) * sign)


def _points(series: Series, block: MedianBlock) -> tuple[list[RowPosition], FloatArray]:
    rows = block.first + np.flatnonzero(_good(series.value[block.first : block.last + 1]))
    steps = series.step[rows].tolist()
    places = [RowPosition(row, block.attempt, step) for row, step in zip(rows.tolist(), steps, strict=True)]
    return places, _costs(series, rows)


def run_speed_series(run: RunData) -> list[Series]:
    """The series that say how fast the run as a whole is, not one of its ranks."""
    chosen = [
        (_ROLES.index(role), key)
        for key in run.series
        if (role := role_of(key)) in _ROLES and not any(name == "rank" for name, _ in key.labels)
    ]
    return [run.series[key] for _, key in sorted(chosen)]


def _stretches(attempt: IntArray, step: IntArray, regime: IntArray, warm: tuple[int, int]) -> IntArray:
    """Numbers stretches of one attempt and one regime; the warm-up of every attempt is -1.

    `warm`: the attempt before these points, and its first step.
    """
    edges = (np.diff(attempt, prepend=attempt[:1]) != 0) | (np.diff(regime, prepend=regime[:1]) != 0)
    stretch = np.cumsum(edges)
    begins = np.flatnonzero(np.diff(attempt, prepend=warm[0]))
    first_step = np.full(len(step), warm[1])
    for begin in begins.tolist():
        first_step[begin:] = step[begin]
    warming = step - first_step < _WARM_UP_STEPS
    warming[begins] = True
    stretch[warming] = -1
    return stretch.astype(np.int64)


def _warm(attempt: IntArray, step: IntArray, before: tuple[int, int]) -> tuple[int, int]:
    """The last attempt of these points, and its first step."""
    if not len(attempt) or attempt[-1] == before[0]:
        return before
    return int(attempt[-1]), int(step[np.searchsorted(attempt, attempt[-1])])


def _finding(series: Series, departure: LevelShift) -> Finding:
    faster = role_of(series.key) is not Role.STEP_TIME
    start, resumed = _from_attempt_start(series, departure.start)
    lost = 1 - _exp(-departure.rise)
    sign = -1.0 if faster else 1.0
    usual = _exp(sign * departure.reference)
    worst = _exp(sign * (departure.reference + departure.rise))
    end = None if departure.end is None else departure.end.step
    return Finding(
        kind=Kind.THROUGHPUT_REGRESSION,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=start.attempt,
        start_step=start.step,
        peak_step=departure.worst.step,
        end_step=end,
        detected_step=departure.detected.step,
        classified_step=departure.detected.step,
        severity=Severity.CRITICAL if lost >= _MAJOR else Severity.WARNING,
        confidence=min(0.99, 0.6 + 0.03 * departure.rise / max(departure.noise, 1e-3)),
        summary=_summary(series, usual, worst, lost, start.step, end, departure.gradual, resumed),
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


def _from_attempt_start(series: Series, start: RowPosition) -> tuple[RowPosition, bool]:
    """The attempt's first point, where the slow-down began with the first block after its warm-up; and
    whether it is the first one after a resume."""
    span = rows_of_attempt(series, start.attempt)
    first = _first_good(series, span.first)
    if span.first == 0:
        return start, False
    warmed = span.first + int(np.searchsorted(series.step[span.rows], series.step[first] + _WARM_UP_STEPS))
    if start.row <= _first_good(series, max(warmed, first + 1)):
        return RowPosition(first, start.attempt, int(series.step[first])), True
    return start, False


def _first_good(series: Series, row: int) -> int:
    """The first point from a row on that says something; there is one."""
    while not (found := _good(series.value[row : row + _AT_ONCE])).any():
        row += _AT_ONCE
    return row + int(np.argmax(found))


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

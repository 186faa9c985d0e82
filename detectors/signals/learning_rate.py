"""Detects a learning rate that is zero while training goes on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import figure
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.signals.signal_finding import SignalEvent, build_signal_finding
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, Kind, RunData, Series


@dataclass(frozen=True, kw_only=True)
class ZeroRateThresholds(Thresholds):
    """When a learning rate counts as zero while training goes on."""

    points: int = 32
    """Points of zero in sequence: schedules that end with the run reach zero at its last points."""
    sudden_points: int = 8
    """Points that suffice where the rate fell to zero at once, out of its schedule."""
    sudden_ratio: float = 20.0
    """Times its last change before that a rate must fall to zero for that."""
    digit_points: int = 512
    """Latest points whose smallest difference is the last digit of the log."""
    digit_values: int = 3
    """Different values among them, and equal ones just before, at least: a schedule that is logged with all
    its digits has no equal ones."""
    rounding_error: float = 0.05
    """Last digits by which the values before a zero may differ from the last digit itself."""
    zero_share: float = 1e-6
    """Share of the highest rate so far up to which a rate is zero."""
    confidence: float = 0.95
    """Confidence."""


@dataclass(frozen=True)
class _ZeroSegment:
    """Rows of an attempt with a rate of zero, from `first` on; `end` is the first row after them."""

    first: int
    detected: int
    before: float
    end: int | None


@dataclass(frozen=True)
class _RateState:
    """State after all rows before `row`: the highest rate before, and segments that are over."""

    row: int = 0
    highest: float = 0.0
    segments: tuple[_ZeroSegment, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ZeroRateDetector:
    """Reports learning rates that were above zero and are zero for many points."""

    name: ClassVar[str] = "zero_rate"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.METRIC_COLLAPSE})
    thresholds: ZeroRateThresholds = ZeroRateThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per segment of zeros, of every learning rate that is logged."""
        for key in sorted(run.series):
            if role_of(key) is Role.LEARNING_RATE and key.rank is None:
                series = run.series[key]
                checkpoints: ScanCheckpoints[_RateState] = context.state.checkpoints(
                    (self.name, key), [series]
                )
                checkpoint = checkpoints.latest([series])
                state, segments = self._scan(series, checkpoint.state if checkpoint else _RateState())
                checkpoints.save(Checkpoint(state, (state.row,)))
                for segment in segments:
                    yield self._finding(series, segment)

    def _scan(self, series: Series, state: _RateState) -> tuple[_RateState, tuple[_ZeroSegment, ...]]:
        """The state from which a later scan continues, and all segments."""
        value, limits = series.value[state.row :], self.thresholds
        highest = np.maximum.accumulate(np.fmax(np.concatenate(([state.highest], value)), 0.0))
        zero = (value <= limits.zero_share * highest[:-1]) & (highest[:-1] > 0)
        attempt = series.attempt[state.row :]
        edges = np.flatnonzero((np.diff(zero) != 0) | (np.diff(attempt) != 0)) + 1
        bounds = np.unique(np.concatenate(([0], edges, [len(value)]))).tolist()
        segments, resume = list(state.segments), len(value)
        for begin, stop in pairwise(bounds):
            if not zero[begin]:
                continue
            segment = self._segment(series, state.row + begin, state.row + stop)
            is_last = stop == len(value)
            if segment is not None:
                segments.append(segment)
            if is_last:
                resume = begin
        done = tuple(each for each in segments if each.first < state.row + resume)
        new_state = _RateState(state.row + resume, float(highest[resume]), done)
        return new_state, tuple(segments)

    def _segment(self, series: Series, first: int, stop: int) -> _ZeroSegment | None:
        limits = self.thresholds
        required = limits.points
        if first > 0 and series.attempt[first - 1] == series.attempt[first]:
            before = float(series.value[first - 1])
            earlier = float(series.value[first - 2]) if first > 1 else before
            if before > limits.sudden_ratio * abs(before - earlier):
                required = limits.sudden_points
        else:
            before = 0.0
        if stop - first < required or before <= 0 or self._is_rounded(series.value[:first]):
            return None
        continues = stop < len(series) and series.attempt[stop] == series.attempt[first]
        return _ZeroSegment(first, first + required - 1, before, stop if continues else None)

    def _is_rounded(self, past: FloatArray) -> bool:
        """Whether a zero after these values may be a small rate: a log of six decimals has 0.000000 for it.

        The rate was at the last digit of its log for some points before.
        """
        limits = self.thresholds
        values, latest = np.unique(past[-limits.digit_points :]), past[-limits.digit_values :]
        if len(values) < limits.digit_values:
            return False
        last_digit = float(np.diff(values).min())
        return bool(np.abs(latest - last_digit).max() <= limits.rounding_error * last_digit)

    def _finding(self, series: Series, segment: _ZeroSegment) -> Finding:
        until = "" if segment.end is None else f" until step {int(series.step[segment.end]):,}"
        event = SignalEvent(
            kind=Kind.METRIC_COLLAPSE,
            start=segment.first,
            detected=segment.detected,
            extreme_row=segment.first,
            end=segment.end,
            before=segment.before,
            extreme=0.0,
        )
        return build_signal_finding(
            series,
            event,
            confidence=self.thresholds.confidence,
            summary=(
                f"Learning rate is zero from step {int(series.step[segment.first]):,} on{until}, after "
                f"{figure(segment.before)}: nothing is learnt meanwhile."
            ),
            advice="Compare the schedule's length with that of the run, and resume with a longer schedule.",
        )

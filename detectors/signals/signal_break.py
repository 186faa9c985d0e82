"""Detects gradient norms, KL divergences and loss terms that explode, and signals that collapse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import from_to
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import attempt_rows
from holter.detectors.signals.break_scan import BreakScan, BreakShape, BreakThresholds, SignalBreak
from holter.detectors.signals.signal_finding import SignalEvent, build_signal_finding
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, Kind, RunData, Series, Severity

_BOTH = frozenset(BreakShape)
_SHAPES: Mapping[Role, frozenset[BreakShape]] = {
    Role.GRAD_NORM: _BOTH,
    Role.KL: _BOTH,
    Role.LOSS_TERM: frozenset({BreakShape.EXPLOSION}),
    Role.ACCURACY: frozenset({BreakShape.COLLAPSE}),
    Role.REWARD: frozenset({BreakShape.COLLAPSE}),
}
"""The shapes that are reported by role: a term of a loss may vanish when it has done its work."""
_LOG_ROLES = frozenset({Role.GRAD_NORM, Role.KL, Role.LOSS_TERM})
_WORDS = {
    Role.GRAD_NORM: "Gradient norm",
    Role.KL: "KL divergence",
    Role.ACCURACY: "Accuracy",
    Role.REWARD: "Reward",
}


@dataclass(frozen=True, kw_only=True)
class SignalBreakThresholds(Thresholds):
    """When a break of a signal next to the loss is reported."""

    breaks: BreakThresholds = BreakThresholds()
    """When a signal has broken out of its range."""
    block_points: tuple[int, ...] = (4, 32)
    """Points of a block, of each scan: a rise over a thousand points is a part of the usual level of one that
    knows a thousand."""
    tiny: float = 1e-12
    """Values of positive signals are raised to this, so that zero has a logarithm."""
    tiny_kl: float = 1e-3
    """The same of a KL divergence, in nats: policies that differ by less have not moved."""
    sign_points: int = 8192
    """Points before a break of a term, all of which must be positive."""
    confidence: float = 0.9
    """Confidence."""


@dataclass(frozen=True, eq=False)
class _LaunchScan:
    """The scans of the current launch, the breaks of earlier ones, and the earliest first step of the
    attempts that began before the row of the scans.

    A program that was started anew has other rewards and other norms: they are no break of earlier ones.
    """

    scans: tuple[BreakScan, ...]
    finished: tuple[SignalBreak, ...] = ()
    earliest: int | None = None

    @property
    def row(self) -> int:
        """The first row that a scan has not taken up."""
        return min(scan.row for scan in self.scans)

    def starts_in(self, series: Series) -> list[int]:
        """The rows from that of the scans on with which a program was started anew: from the first step of
        the run on, or from a step that is at most its own logging interval."""
        starts, earliest = [], self.earliest
        for row, step in self._first_steps(series):
            if earliest is not None and step <= max(earliest, _interval(series, row)):
                starts.append(row)
            earliest = step if earliest is None else min(earliest, step)
        return starts

    def earliest_at(self, series: Series, row: int) -> int | None:
        """The earliest first step of the attempts that began before a row."""
        steps = [step for first, step in self._first_steps(series) if first < row]
        return min((*steps, *([] if self.earliest is None else [self.earliest])), default=None)

    def _first_steps(self, series: Series) -> list[tuple[int, int]]:
        """The first row and step of every attempt that begins at the row of the scans or later."""
        spans = attempt_rows(series, self.row)
        begun = self.row > 0 and bool(
            self.row < len(series) and series.attempt[self.row - 1] == series.attempt[self.row]
        )
        return [(span.first, int(series.step[span.first])) for span in spans[int(begun) :]]


@dataclass(frozen=True, kw_only=True)
class SignalBreakDetector:
    """Compares each signal with the range that it has held: rises and falls that last 16 points."""

    name: ClassVar[str] = "signal_break"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DIVERGENCE, Kind.METRIC_COLLAPSE})
    thresholds: SignalBreakThresholds = SignalBreakThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per break of one series."""
        for key in sorted(run.series):
            role = role_of(key)
            if role in _SHAPES and key.rank is None:
                yield from self._in_series(run.series[key], role, context)

    def _in_series(self, series: Series, role: Role, context: DetectorContext) -> Iterator[Finding]:
        checkpoints: ScanCheckpoints[_LaunchScan] = context.state.checkpoints(
            (self.name, series.key), [series]
        )
        checkpoint = checkpoints.latest([series])
        known = checkpoint.state if checkpoint else _LaunchScan(self._fresh(role, context, series))
        scans, finished = known.scans, known.finished
        starts, end = known.starts_in(series), _decided_rows(series)
        for number, (launch, after) in enumerate(pairwise([known.row, *starts, end])):
            if number > 0:
                scans = tuple(replace(each, row=launch) for each in self._fresh(role, context, series))
            rows = launch + np.flatnonzero(np.isfinite(series.value[launch:after]))
            value = self._scaled(series.value[rows], role)
            results = [scan.after(value[rows >= scan.row], rows[rows >= scan.row]) for scan in scans]
            scans = tuple(state for state, _ in results)
            breaks = _one_per_event([each for _, found in results for each in found])
            if after < end:
                finished = (*finished, *breaks)
        state = _LaunchScan(scans, finished)
        state = replace(state, earliest=known.earliest_at(series, state.row))
        checkpoints.save(Checkpoint(state, (state.row,)))
        for each in (*finished, *breaks):
            if role is not Role.LOSS_TERM or self._was_positive(series, each.start):
                yield self._finding(series, role, each)

    def _was_positive(self, series: Series, start: int) -> bool:
        """Whether a term was positive before a break: ratios say nothing of one of both signs, as the losses
        of policies, critics and adversaries often are."""
        before = series.value[max(start - self.thresholds.sign_points, 0) : start]
        return not bool((before <= 0).any())

    def _fresh(self, role: Role, context: DetectorContext, series: Series) -> tuple[BreakScan, ...]:
        limits = self.thresholds
        scans = tuple(
            BreakScan(
                is_log=role in _LOG_ROLES,
                shapes=_SHAPES[role],
                limits=limits.breaks,
                sensitivity=context.tuning.of(series.key.metric).sensitivity,
                block_points=points,
                is_young=points == limits.block_points[0],
            )
            for points in limits.block_points
        )
        single = replace(scans[0], block_points=1, is_young=False, is_single=True)
        return scans if role in _LOG_ROLES else (*scans, single)

    def _scaled(self, value: FloatArray, role: Role) -> FloatArray:
        if role not in _LOG_ROLES:
            return value
        limits = self.thresholds
        return np.log(np.maximum(value, limits.tiny_kl if role is Role.KL else limits.tiny))

    def _finding(self, series: Series, role: Role, found: SignalBreak) -> Finding:
        before, extreme = (
            float(np.exp(level)) if role in _LOG_ROLES else level for level in (found.reference, found.level)
        )
        is_explosion = found.shape is BreakShape.EXPLOSION
        start = _start_in_attempt(series, found)
        event = SignalEvent(
            kind=Kind.DIVERGENCE if is_explosion else Kind.METRIC_COLLAPSE,
            start=start,
            detected=found.detected,
            extreme_row=found.extreme_row,
            end=found.end,
            before=before,
            extreme=extreme,
            # of logarithms it is a share of the level
            noise=found.noise * (before if role in _LOG_ROLES else 1.0),
        )
        name, moved = _WORDS.get(role, f"Loss term {series.key.metric}"), from_to(before, extreme)
        began = f"{int(series.step[start]):,}"
        if found.end is None:
            summary = f"{name} has {'risen' if is_explosion else 'fallen'} {moved} since step {began}."
        else:
            back = f"was back at step {int(series.step[found.end]):,}"
            summary = f"{name} {'rose' if is_explosion else 'fell'} {moved} at step {began} and {back}."
        is_quality, advice = (
            role in (Role.ACCURACY, Role.REWARD),
            _ADVICE if found.end is None else _ADVICE_BACK,
        )
        return build_signal_finding(
            series,
            event,
            confidence=self.thresholds.confidence,
            summary=summary,
            advice=advice[is_explosion, is_quality],
            severity=Severity.INFO if is_quality and found.end is not None else Severity.WARNING,
        )


def _interval(series: Series, row: int) -> int:
    """The logging interval of the attempt that begins at a row, in steps; 0 while it has no second row."""
    both = slice(row, row + 2)
    is_known = len(series.attempt[both]) > 1 and series.attempt[row] == series.attempt[row + 1]
    return int(np.diff(series.step[both])[0]) if is_known else 0


def _decided_rows(series: Series) -> int:
    """The rows without the first one of an attempt whose second row will show whether it was started anew."""
    last = series.attempt[-2:]
    return len(series) - int(len(last) > 1 and last[0] != last[1])


def _start_in_attempt(series: Series, found: SignalBreak) -> int:
    """The row with which a break began: with an attempt, where one begins within its first block."""
    block = series.attempt[found.start : found.start + found.start_rows]
    return found.start + int(np.argmax(block == block[-1]))


def _one_per_event(breaks: Sequence[SignalBreak]) -> tuple[SignalBreak, ...]:
    """One break where several scans see the same: the one that was detected first."""
    kept: list[SignalBreak] = []
    for each in sorted(breaks, key=lambda found: found.detected):
        if not any(_is_part(each, other) for other in kept):
            kept.append(each)
    return tuple(kept)


def _is_part(later: SignalBreak, earlier: SignalBreak) -> bool:
    """Whether a break began, or was detected, while an earlier one of its shape lasted."""
    if later.shape is not earlier.shape:
        return False
    if earlier.usual_from is not None:
        return later.start < earlier.usual_from
    if earlier.end is None or earlier.end_seen is None:
        return True
    return later.start < earlier.end or later.detected <= earlier.end_seen


_ADVICE = {
    (True, False): "Look at the learning rate, the clipping and the batches from this step on; roll back if "
    "the loss or the reward gets worse.",
    (False, False): "See whether gradients still reach the weights: loss scale, dead units, a frozen or "
    "detached part of the model.",
    (False, True): "Compare samples before and after this step; roll back to a checkpoint before it.",
}
"""What to do by whether a signal rose, and whether it is an accuracy or a reward."""
_ADVICE_BACK = {
    (True, False): "Nothing to do now. If it comes again: look at the learning rate, the clipping and the "
    "batches of these steps.",
    (False, False): "Nothing to do now. If it comes again: look at the loss scale and the batches of these "
    "steps.",
    (False, True): "Nothing to do now. If it comes again: compare samples of these steps with those before.",
}
"""The same once it is back."""

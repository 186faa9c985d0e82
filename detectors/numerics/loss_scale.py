"""Loss scale collapse: gradients overflow repeatedly, and dynamic loss scaling falls step by step."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from holter.detectors.context import related_changes
from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import from_to
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import attempt_rows
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity


@dataclass(frozen=True, kw_only=True)
class LossScaleThresholds(Thresholds):
    """When a fall of the loss scale is a collapse, and when it is over. Scales are compared as log2."""

    fast_halvings: float = 3.0
    """Halvings within `fast_steps`. Working scaling does not need them: one overflow halves the scale, a
    thousand good steps double it."""
    fast_steps: int = 100
    """Steps within which fast halvings are counted."""
    max_row_distance: int = 2000
    """Steps. Rows further apart do not show how fast the scale fell."""
    far_halvings: float = 5.0
    """Halvings below the median of the past. Such a scale has collapsed, however slowly it fell."""
    known_steps: int = 1000
    """Steps after the search for the scale from which on the past counts; also the steps after the end of a
    collapse within which a further one continues it."""
    memory_rows: int = 4096
    """Rows of the past whose median is the usual scale."""
    found_steps: int = 64
    """Steps without a fall after which the search for the scale is over: each attempt begins far too high."""
    found_rows: int = 2
    """Rows without a fall that this also requires."""
    settled_steps: int = 2000
    """Steps without a further fall after which a scale has settled, and the collapse is over."""
    recovered_halvings: float = 0.99
    """Doublings above the lowest scale that end a collapse."""
    rounding: float = 0.01
    """Halvings. Tolerance for scales that are logged with few digits."""
    floor: float = 1.01
    """Scale. At or below it, scaling is at its minimum, which is 1."""
    base_confidence: float = 0.75
    """Confidence of a collapse without any halving."""
    confidence_per_halving: float = 0.05
    """Confidence added per halving."""
    max_confidence: float = 0.99
    """Confidence. The most that is stated."""

    @property
    def stored_rows(self) -> int:
        """Rows that are stored between two passes."""
        return self.memory_rows + 2 * self.fast_steps


@dataclass(frozen=True, kw_only=True)
class _Collapse:
    """One collapse; `start`, `detected`, `lowest_step` and `end` are steps, `end` None while it lasts.

    `before` and `lowest` are log2 of the scale. `last` is the last step of its attempt so far.
    """

    attempt: int
    start: int
    detected: int
    before: float
    lowest_step: int
    lowest: float
    last: int
    end: int | None = None

    def after_fall(self, step: int, level: float) -> _Collapse:
        """The collapse after a further fall of the scale."""
        return replace(self, lowest_step=step, lowest=level) if level < self.lowest else self


@dataclass(frozen=True)
class LossScaleDetector:
    """Detects collapses of the fp16 loss scale: fast falls, scales far below the usual one, scales of 1."""

    name: ClassVar[str] = "loss_scale"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LOSS_SCALE_COLLAPSE})
    thresholds: LossScaleThresholds = LossScaleThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per collapse, from the first series of a loss scale."""
        scales = [run.series[key] for key in sorted(run.series) if role_of(key) is Role.LOSS_SCALE]
        for series in scales[:1]:
            checkpoints = context.state.checkpoints(self.name, [series])
            for collapse in _find_collapses(series, checkpoints, self.thresholds):
                yield _finding(run, series, collapse, self.thresholds)


def _find_collapses(
    series: Series, checkpoints: ScanCheckpoints[_LossScaleScan], limits: LossScaleThresholds
) -> tuple[_Collapse, ...]:
    """Every collapse, in order, scanned from the last checkpoint on."""
    checkpoint = checkpoints.latest([series])
    scan = checkpoint.state.copy() if checkpoint else _LossScaleScan(limits)
    for span in attempt_rows(series, checkpoint.rows[0] if checkpoint else 0):
        value = series.value[span.rows]
        good = np.isfinite(value) & (value > 0)
        scan.scan(span.attempt, series.step[span.rows][good], np.log2(value[good]))
    checkpoints.save(Checkpoint(scan.copy(), (len(series),)))
    return scan.collapses


class _LossScaleScan:
    """Scans the levels (log2 of the scale); only rows where the scale falls are examined.

    `collapses` are those so far. Of the present attempt it stores the latest rows (`_step`, `_level` [n]),
    the step at which its first scale was found, and its latest fall as step and level.
    """

    def __init__(self, limits: LossScaleThresholds) -> None:
        self.collapses: tuple[_Collapse, ...] = ()
        self._limits = limits
        self._begin(-1)

    def _begin(self, attempt: int) -> None:
        self._attempt = attempt
        self._step: IntArray = np.empty(0, dtype=np.int64)
        self._level: FloatArray = np.empty(0)
        self._found_step: int | None = None
        self._fall: tuple[int, float] | None = None
        self._latest: _Collapse | None = None

    def copy(self) -> _LossScaleScan:
        """A copy of the present state: its arrays are replaced, never changed."""
        return copy(self)

    def scan(self, attempt: int, step: IntArray, level: FloatArray) -> None:
        """Scan further rows [n] of an attempt."""
        if not len(step):
            return
        if attempt != self._attempt:
            self._begin(attempt)
        done = len(self._step)
        self._step, self._level = np.concatenate((self._step, step)), np.concatenate((self._level, level))
        falls = np.flatnonzero(np.diff(self._level) < 0) + 1
        if self._found_step is None:
            first = self._find_first_scale(falls)
            if first is None:
                return
            self._found_step, done = int(self._step[first]), first + 1
        for row in falls[falls >= done].tolist():
            self._check_end(done, row)
            self._check_fall(row)
            done = row
        self._check_end(done, len(self._step))
        self._store_latest()
        stored = self._limits.stored_rows
        self._step, self._level = self._step[-stored:].copy(), self._level[-stored:].copy()

    def _find_first_scale(self, falls: IntArray) -> int | None:
        """The row at which the search for the first scale ends: it grew, or did not fall for a while.

        None while the search continues.
        """
        rows = np.arange(len(self._level))
        last_fall = np.zeros(len(rows), dtype=np.int64)
        last_fall[falls] = falls
        last_fall = np.maximum.accumulate(last_fall)
        still = (self._step - self._step[last_fall] >= self._limits.found_steps) & (
            rows - last_fall >= self._limits.found_rows
        )
        found = np.flatnonzero(still | (np.diff(self._level, prepend=self._level[:1]) > 0))
        return int(found[0]) if len(found) else None

    def _check_fall(self, row: int) -> None:
        """Continue or open a collapse at a row at which the scale falls."""
        step, level, latest = int(self._step[row]), float(self._level[row]), self._latest
        self._fall = step, level
        if latest is not None and latest.end is None:
            self._latest = latest.after_fall(step, level)
            return
        begin = self._collapse_begin(row)
        if begin is None:
            return
        start = int(self._step[begin])
        if latest is not None and latest.end is not None and start - latest.end < self._limits.known_steps:
            # the scale had grown once, and falls further
            self._latest = replace(latest, end=None).after_fall(step, level)
            return
        self._store_latest()
        self._latest = _Collapse(
            attempt=self._attempt,
            start=start,
            detected=step,
            before=float(self._level[begin - 1]),
            lowest_step=step,
            lowest=level,
            last=step,
        )
        self.collapses = (*self.collapses, self._latest)

    def _store_latest(self) -> None:
        """Store the present state of the latest collapse among the collapses."""
        if self._latest is not None:
            self._latest = replace(self._latest, last=int(self._step[-1]))
            self.collapses = (*self.collapses[:-1], self._latest)

    def _collapse_begin(self, row: int) -> int | None:
        """The first row of the falls that end at `row`, if together they are a collapse."""
        limits, step, level = self._limits, self._step, self._level
        assert self._found_step is not None
        found = int(np.searchsorted(step, self._found_step))
        recent = int(np.searchsorted(step, step[row] - limits.fast_steps))
        if step[row] - step[max(row - 1, 0)] <= limits.max_row_distance:
            recent = min(recent, row - 1)
        recent = max(recent, found)
        past = level[max(found, recent - limits.memory_rows) : recent]
        highest = float(level[recent : row + 1].max())
        usual = float(np.median(past)) if len(past) else highest
        fast = highest - level[row] > limits.fast_halvings - limits.rounding
        known = len(past) > 0 and step[recent] - self._found_step >= limits.known_steps
        far = known and usual - level[row] > limits.far_halvings - limits.rounding and level[row] < past.min()
        fallen = max(usual, highest) > limits.fast_halvings - limits.rounding
        at_floor = level[row] <= limits.rounding and fallen
        if fast:
            return recent + int(np.flatnonzero(level[recent : row + 1] == highest)[-1]) + 1
        return row if far or at_floor else None

    def _check_end(self, first: int, upto: int) -> None:
        """End the active collapse where the scale grows, or has long not fallen while above the floor.

        Examines rows [first, upto), which are those since the latest fall.
        """
        if self._latest is None or self._latest.end is not None or self._fall is None:
            return
        limits = self._limits
        since, level = self._fall
        grown = np.flatnonzero(self._level[first:upto] >= self._latest.lowest + limits.recovered_halvings)
        still = first + int(np.searchsorted(self._step[first:upto], since + limits.settled_steps))
        ends = [first + int(grown[0])] if len(grown) else []
        if still < upto and level > limits.rounding:
            ends.append(still)
        if ends:
            self._latest = replace(self._latest, end=int(self._step[min(ends)]))


def _finding(run: RunData, series: Series, collapse: _Collapse, limits: LossScaleThresholds) -> Finding:
    start, attempt, end = collapse.start, collapse.attempt, collapse.end
    before, lowest = 2.0**collapse.before, 2.0**collapse.lowest
    halvings = round(float(collapse.before - collapse.lowest), 1)
    at_minimum = lowest <= limits.floor
    severity = Severity.CRITICAL if at_minimum and end is None else Severity.WARNING
    until = "" if end is None else f" and recovered from step {end:,} on"
    confidence = limits.base_confidence + limits.confidence_per_halving * halvings
    return Finding(
        kind=Kind.LOSS_SCALE_COLLAPSE,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=attempt,
        start_step=start,
        peak_step=collapse.lowest_step,
        end_step=end,
        detected_step=collapse.detected,
        classified_step=collapse.detected,
        severity=severity,
        confidence=min(limits.max_confidence, confidence),
        summary=(
            f"The loss scale fell {from_to(before, lowest)} at step {start:,}"
            f"{', its minimum' if at_minimum else ''}{until}: gradients overflow repeatedly."
        ),
        advice=(
            f"Steps are skipped: roll back to a checkpoint before step {start:,} with a lower learning rate, "
            "check the batches there, or train in bf16."
            if severity is Severity.CRITICAL
            else "Watch loss and gradient norm; if the scale keeps falling, roll back and lower the learning "
            "rate."
        ),
        evidence={
            "baseline": before,
            "lowest": lowest,
            "halvings": halvings,
            "duration_steps": (collapse.last if end is None else end) - start,
            "at_minimum": at_minimum,
            **related_changes(run, attempt, start - limits.fast_steps, start),
        },
    )

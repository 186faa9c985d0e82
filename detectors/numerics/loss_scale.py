"""Loss scale collapse: gradients overflow again and again, and dynamic scaling gives up bit by bit."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from holter.detectors.context import related_changes
from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import figure
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import attempt_rows
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity

_HALVINGS = 3.0
"""Halvings at once that scaling does not need when it works: one overflow halves, a thousand good steps
double."""
_AT_ONCE, _APART = 100, 2000
"""Steps for halvings at once; rows further apart than the second say nothing about how fast it went."""
_FAR, _KNOWN_STEPS, _MEMORY = 5.0, 1000, 4096
"""Halvings below what was usual that are a collapse however slowly they came."""
_KEPT = _MEMORY + 2 * _AT_ONCE
"""Rows that are kept to go on with."""
_FOUND_STEPS, _FOUND_ROWS = 64, 2
"""Steps and rows without a fall after which the scale has been found: every attempt begins far too high."""
_CALM = 2000
"""Steps without a further fall after which a scale has settled where it is."""


@dataclass(frozen=True, kw_only=True)
class _Collapse:
    """One collapse; `start`, `seen`, `lowest`, `end` are steps, `end` None while it lasts. Log2 levels.

    `last` is the last step of its attempt so far.
    """

    attempt: int
    start: int
    seen: int
    before: float
    lowest: int
    low: float
    last: int
    end: int | None = None

    def lower(self, step: int, level: float) -> _Collapse:
        """As it goes on when the scale falls on."""
        return replace(self, lowest=step, low=level) if level < self.low else self


@dataclass(frozen=True)
class LossScaleDetector:
    """Watches the fp16 loss scale: three halvings within 100 steps, or far below its own range, or at 1."""

    name: ClassVar[str] = "loss_scale"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LOSS_SCALE_COLLAPSE})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per collapse, from the first series of a loss scale."""
        scales = [run.series[key] for key in sorted(run.series) if role_of(key) is Role.LOSS_SCALE]
        for series in scales[:1]:
            for collapse in _collapses(series, context.state.checkpoints(self.name, [series])):
                yield _finding(run, series, collapse)


def _collapses(series: Series, checkpoints: ScanCheckpoints[_Scan]) -> tuple[_Collapse, ...]:
    """Every collapse, in order, looked for from where the last look ended."""
    checkpoint = checkpoints.latest([series])
    scan = checkpoint.state.copy() if checkpoint else _Scan()
    for span in attempt_rows(series, checkpoint.rows[0] if checkpoint else 0):
        value = series.value[span.rows]
        good = np.isfinite(value) & (value > 0)
        scan.look(span.attempt, series.step[span.rows][good], np.log2(value[good]))
    checkpoints.save(Checkpoint(scan.copy(), (len(series),)))
    return scan.collapses


class _Scan:
    """Goes through the levels; only rows where the scale falls are looked at. `collapses` are those so far.

    Of the present attempt it keeps the latest rows (`step`, `level` [n]), the step at which its first scale
    was `found`, and its latest `fall`, step and level.
    """

    def __init__(self) -> None:
        self.collapses: tuple[_Collapse, ...] = ()
        self._begin(-1)

    def _begin(self, attempt: int) -> None:
        self._attempt = attempt
        self._step: IntArray = np.empty(0, dtype=np.int64)
        self._level: FloatArray = np.empty(0)
        self._found: int | None = None
        self._fall: tuple[int, float] | None = None
        self._latest: _Collapse | None = None

    def copy(self) -> _Scan:
        """As it is now: its arrays are replaced, never changed."""
        return copy(self)

    def look(self, attempt: int, step: IntArray, level: FloatArray) -> None:
        """Go on with further rows [n] of an attempt."""
        if not len(step):
            return
        if attempt != self._attempt:
            self._begin(attempt)
        done = len(self._step)
        self._step, self._level = np.concatenate((self._step, step)), np.concatenate((self._level, level))
        fell = np.flatnonzero(np.diff(self._level) < 0) + 1
        if self._found is None:
            first = self._search(fell)
            if first is None:
                return
            self._found, done = int(self._step[first]), first + 1
        for row in fell[fell >= done].tolist():
            self._watch(done, row)
            self._falls(row)
            done = row
        self._watch(done, len(self._step))
        self._speak()
        self._step, self._level = self._step[-_KEPT:].copy(), self._level[-_KEPT:].copy()

    def _search(self, fell: IntArray) -> int | None:
        """The row at which the search for the first scale is over: it has grown, or kept still for a while;
        None while it goes on."""
        rows = np.arange(len(self._level))
        fallen = np.zeros(len(rows), dtype=np.int64)
        fallen[fell] = fell
        last = np.maximum.accumulate(fallen)
        still = (self._step - self._step[last] >= _FOUND_STEPS) & (rows - last >= _FOUND_ROWS)
        settled = np.flatnonzero(still | (np.diff(self._level, prepend=self._level[:1]) > 0))
        return int(settled[0]) if len(settled) else None

    def _falls(self, row: int) -> None:
        """Look at a row at which the scale falls."""
        step, level, latest = int(self._step[row]), float(self._level[row]), self._latest
        self._fall = step, level
        if latest is not None and latest.end is None:
            self._latest = latest.lower(step, level)
            return
        begun = self._begun(row)
        if begun is None:
            return
        start = int(self._step[begun])
        if latest is not None and latest.end is not None and start - latest.end < _KNOWN_STEPS:
            # it had grown once, and falls on
            self._latest = replace(latest, end=None).lower(step, level)
            return
        self._speak()
        self._latest = _Collapse(
            attempt=self._attempt,
            start=start,
            seen=step,
            before=float(self._level[begun - 1]),
            lowest=step,
            low=level,
            last=step,
        )
        self.collapses = (*self.collapses, self._latest)

    def _speak(self) -> None:
        """Tell of the latest collapse as it is now."""
        if self._latest is not None:
            self._latest = replace(self._latest, last=int(self._step[-1]))
            self.collapses = (*self.collapses[:-1], self._latest)

    def _begun(self, row: int) -> int | None:
        """The first row of the falls that end at `row`, if together they are a collapse."""
        step, level = self._step, self._level
        assert self._found is not None
        found = int(np.searchsorted(step, self._found))
        recent = int(np.searchsorted(step, step[row] - _AT_ONCE))
        if step[row] - step[max(row - 1, 0)] <= _APART:
            recent = min(recent, row - 1)
        recent = max(recent, found)
        past = level[max(found, recent - _MEMORY) : recent]
        highest = float(level[recent : row + 1].max())
        usual = float(np.median(past)) if len(past) else highest
        at_once = highest - level[row] > _HALVINGS - 0.01
        known = len(past) > 0 and step[recent] - self._found >= _KNOWN_STEPS
        far = known and usual - level[row] > _FAR - 0.01 and level[row] < past.min()
        floor = level[row] <= 0.01 and max(usual, highest) > _HALVINGS - 0.01
        if at_once:
            return recent + int(np.flatnonzero(level[recent : row + 1] == highest)[-1]) + 1
        return row if far or floor else None

    def _watch(self, first: int, upto: int) -> None:
        """End what lasts where it grows again, or has kept still for long above the floor, in rows since the
        latest fall."""
        if self._latest is None or self._latest.end is not None or self._fall is None:
            return
        since, level = self._fall
        grown = np.flatnonzero(self._level[first:upto] >= self._latest.low + 0.99)
        still = first + int(np.searchsorted(self._step[first:upto], since + _CALM))
        ends = [first + int(grown[0])] if len(grown) else []
        if still < upto and level > 0.01:
            ends.append(still)
        if ends:
            self._latest = replace(self._latest, end=int(self._step[min(ends)]))


def _finding(run: RunData, series: Series, collapse: _Collapse) -> Finding:
    start, attempt, end = collapse.start, collapse.attempt, collapse.end
    before, low = 2.0**collapse.before, 2.0**collapse.low
    halvings = round(float(collapse.before - collapse.low), 1)
    at_floor = low <= 1.01
    severity = Severity.CRITICAL if at_floor and end is None else Severity.WARNING
    until = "" if end is None else f" and recovered from step {end:,} on"
    return Finding(
        kind=Kind.LOSS_SCALE_COLLAPSE,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=attempt,
        start_step=start,
        peak_step=collapse.lowest,
        end_step=end,
        detected_step=collapse.seen,
        classified_step=collapse.seen,
        severity=severity,
        confidence=min(0.99, 0.75 + 0.05 * halvings),
        summary=(
            f"The loss scale fell from {figure(before)} to {figure(low)} at step {start:,}"
            f"{', as low as it goes' if at_floor else ''}{until}: gradients overflow in sequence."
        ),
        advice=(
            f"Steps are skipped: roll back to a checkpoint before step {start:,} with a lower learning rate, "
            "look at the batches there, or train in bf16."
            if severity is Severity.CRITICAL
            else "Watch loss and gradient norm; if it goes on falling, roll back and lower the learning rate."
        ),
        evidence={
            "baseline": before,
            "lowest": low,
            "halvings": halvings,
            "duration_steps": (collapse.last if end is None else end) - start,
            "at_minimum": at_floor,
            **related_changes(run, attempt, start - _AT_ONCE, start),
        },
    )

"""Loss scale collapse: gradients overflow again and again, and dynamic scaling gives up bit by bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.changes import changes
from holter.detectors.figures import figure
from holter.detectors.places import spans_of
from holter.metrics import Role, role_of
from holter.tuning import Tuning
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity

_HALVINGS = 3.0
"""Halvings at once that scaling does not need when it works: one overflow halves, a thousand good steps
double."""
_AT_ONCE, _APART = 100, 2000
"""Steps for halvings at once; rows further apart than the second say nothing about how fast it went."""
_FAR, _KNOWN_STEPS, _MEMORY = 5.0, 1000, 4096
"""Halvings below what was usual that are a collapse however slowly they came."""
_FOUND_STEPS, _FOUND_ROWS = 64, 2
"""Steps and rows without a fall after which the scale has been found: every attempt begins far too high."""
_CALM = 2000
"""Steps without a further fall after which a scale has settled where it is."""


@dataclass
class _Collapse:
    """One collapse; `start`, `seen`, `lowest`, `end` index rows, `end` None while it lasts. Log2 levels."""

    start: int
    seen: int
    before: float
    lowest: int
    end: int | None = None


@dataclass(frozen=True)
class LossScaleCollapse:
    """Watches the fp16 loss scale: three halvings within 100 steps, or far below its own range, or at 1."""

    name: ClassVar[str] = "loss_scale"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LOSS_SCALE_COLLAPSE})
    tuning: Tuning = Tuning()

    def detect(self, run: RunData) -> Iterable[Finding]:
        """One finding per collapse, from the first series of a loss scale."""
        scales = [run.series[key] for key in sorted(run.series) if role_of(key) is Role.LOSS_SCALE]
        for series in scales[:1]:
            for span in spans_of(series):
                value = series.value[span.rows]
                good = np.isfinite(value) & (value > 0)
                step, level = series.step[span.rows][good], np.log2(value[good])
                for collapse in _collapses(step, level):
                    yield _finding(run, series, span.attempt, step, level, collapse)


def _collapses(step: IntArray, level: FloatArray) -> Iterator[_Collapse]:
    """Every collapse of one attempt's levels [n], in order. Only rows where the scale falls are looked at."""
    fell = np.flatnonzero(np.diff(level) < 0) + 1
    found = _found(step, level, fell)
    latest: _Collapse | None = None
    for row in fell[fell > found].tolist():
        if latest is not None and latest.end is None:
            latest.lowest = row if level[row] < level[latest.lowest] else latest.lowest
            latest.end = _end(step, level, latest, row)
            continue
        begun = _begun(step, level, found, row)
        if begun is None:
            continue
        before = float(level[begun - 1])
        if latest is not None and latest.end is not None and step[begun] - step[latest.end] < _KNOWN_STEPS:
            latest.end = None  # it had grown once, and falls on
            latest.lowest = row if level[row] < level[latest.lowest] else latest.lowest
        else:
            if latest is not None:
                yield latest
            latest = _Collapse(start=begun, seen=row, before=before, lowest=row)
        latest.end = _end(step, level, latest, row)
    if latest is not None:
        yield latest


def _found(step: IntArray, level: FloatArray, fell: IntArray) -> int:
    """The row at which the search for the first scale is over: it has grown, or kept still for a while."""
    rows = np.arange(len(level))
    fallen = np.zeros(len(level), dtype=np.int64)
    fallen[fell] = fell
    last = np.maximum.accumulate(fallen)
    still = (step - step[last] >= _FOUND_STEPS) & (rows - last >= _FOUND_ROWS)
    grown = np.diff(level, prepend=level[:1]) > 0
    settled = np.flatnonzero(still | grown)
    return int(settled[0]) if len(settled) else len(level)


def _begun(step: IntArray, level: FloatArray, found: int, row: int) -> int | None:
    """The first row of the falls that end at `row`, if together they are a collapse."""
    recent = int(np.searchsorted(step, step[row] - _AT_ONCE))
    if step[row] - step[max(row - 1, 0)] <= _APART:
        recent = min(recent, row - 1)
    recent = max(recent, found)
    past = level[max(found, recent - _MEMORY) : recent]
    highest = float(level[recent : row + 1].max())
    usual = float(np.median(past)) if len(past) else highest
    at_once = highest - level[row] > _HALVINGS - 0.01
    known = len(past) > 0 and step[recent] - step[found] >= _KNOWN_STEPS
    far = known and usual - level[row] > _FAR - 0.01 and level[row] < past.min()
    floor = level[row] <= 0.01 and max(usual, highest) > _HALVINGS - 0.01
    if at_once:
        return recent + int(np.flatnonzero(level[recent : row + 1] == highest)[-1]) + 1
    return row if far or floor else None


def _end(step: IntArray, level: FloatArray, collapse: _Collapse, row: int) -> int | None:
    """The row at which it grows again, or has kept still for long above the floor, before it falls again."""
    later = level[row:]
    falls = np.flatnonzero(np.diff(later) < 0)
    upto = row + int(falls[0]) + 1 if len(falls) else len(level)
    grown = np.flatnonzero(level[row:upto] >= level[collapse.lowest] + 0.99)
    still = int(np.searchsorted(step[:upto], step[row] + _CALM))
    ends = [row + int(grown[0])] if len(grown) else []
    if still < upto and level[row] > 0.01:
        ends.append(still)
    return min(ends, default=None)


def _finding(
    run: RunData, series: Series, attempt: int, step: IntArray, level: FloatArray, collapse: _Collapse
) -> Finding:
    start, lowest = int(step[collapse.start]), int(step[collapse.lowest])
    before, low = 2.0**collapse.before, 2.0 ** float(level[collapse.lowest])
    end = None if collapse.end is None else int(step[collapse.end])
    halvings = round(float(collapse.before - level[collapse.lowest]), 1)
    at_floor = low <= 1.01
    severity = Severity.CRITICAL if at_floor and end is None else Severity.WARNING
    until = "" if end is None else f" and recovered from step {end:,} on"
    return Finding(
        kind=Kind.LOSS_SCALE_COLLAPSE,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=attempt,
        start_step=start,
        peak_step=lowest,
        end_step=end,
        detected_step=int(step[collapse.seen]),
        classified_step=int(step[collapse.seen]),
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
            "duration_steps": int((step[-1] if end is None else end) - start),
            "at_minimum": at_floor,
            **changes(run, attempt, start - _AT_ONCE, start),
        },
    )

"""Sudden drop: a loss falls far faster than it did, and stays: a skill was learnt at once. Information."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.changes import changes
from holter.detectors.figures import figure
from holter.detectors.places import spans_of
from holter.metrics import Role, role_of
from holter.tuning import Tuning
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity

_BLOCK = {Role.LOSS: 8, Role.EVAL_LOSS: 1}
"""Points in a block, which counts by its median; evaluations are few and quiet."""
_SCALES = (2, 8, 32)
"""Blocks in each of the stretches that are compared: long before, gap, before, the fall, after."""
_STRETCHES = 5
_EARLY_POINTS, _EARLY_STEPS = 64, 300
"""A young loss falls fast by itself."""
_ASKED, _SHARE = 6.0, 0.04
"""The fall, less what the trend would have done: in units of how such differences vary, and as a share."""
_TREND = 1.5
_RESTLESS = 0.2
"""After it the loss is at rest: it falls no further by more than this share."""
_PAST, _GRID, _FEWEST = 256, 64, 16
_EXPLAIN = ("restarted", "learning_rate", "batch_size", "mixture", "epoch")


@dataclass(frozen=True, kw_only=True)
class _Drop:
    """A fall between two levels; `start`, `bottom`, `seen` index points; `from_here`: comparing began."""

    start: int
    bottom: int
    seen: int
    from_here: int
    before: float
    after: float
    noise: float
    trend: float


@dataclass(frozen=True)
class SuddenDrop:
    """Finds where a training or evaluation loss falls at once to where it has never been, for no known cause.

    A lower learning rate, other batches, other data, a new epoch or a restart explain a fall: then there
    is nothing to tell. What was not logged cannot have been looked at, and is named.
    """

    name: ClassVar[str] = "sudden_drop"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.SUDDEN_DROP})
    tuning: Tuning = Tuning()

    def detect(self, run: RunData) -> Iterable[Finding]:
        """One finding per fall, from the loss of the run or, where that shows none, an evaluation."""
        spoken: list[Finding] = []
        for role in _BLOCK:
            for key in sorted(run.series):
                if role_of(key) is role and not any(name in ("rank", "dataset") for name, _ in key.labels):
                    spoken += _in_series(run, run.series[key], _BLOCK[role], self.tuning.of(key.metric))
        kept: list[Finding] = []
        for finding in sorted(spoken, key=lambda one: (one.attempt, one.detected_step)):
            if not any(_same(earlier, finding) for earlier in kept):
                kept.append(finding)
        return kept


def _same(earlier: Finding, later: Finding) -> bool:
    return earlier.attempt == later.attempt and later.start_step <= earlier.detected_step


def _in_series(run: RunData, series: Series, block: int, tuning: Tuning) -> Iterator[Finding]:
    lowest = np.full(len(_SCALES), np.inf)
    points = 0
    for span in spans_of(series):
        value = series.value[span.rows]
        finite = np.isfinite(value)
        step, value = series.step[span.rows][finite], np.clip(value[finite], -1e30, 1e30)
        for drop in _drops(value, block, lowest, tuning.sensitivity):
            young = points + drop.start < _EARLY_POINTS * block // 8
            if young or step[drop.start] - series.step[0] < _EARLY_STEPS:
                continue
            told = changes(run, span.attempt, int(step[drop.from_here]), int(step[drop.seen]))
            if not any(name in told for name in _EXPLAIN):
                yield _finding(run, series, span.attempt, step, drop, told)
        points += len(value)
        blocks = _medians(value, block)
        for number, scale in enumerate(_SCALES):
            lowest[number] = min(lowest[number], _means(blocks, scale).min(initial=np.inf))


def _medians(value: FloatArray, block: int) -> FloatArray:
    whole = len(value) // block
    return np.median(value[: whole * block].reshape(whole, block), axis=1) if block > 1 else value


def _means(blocks: FloatArray, scale: int) -> FloatArray:
    """Means of so many blocks up to each [blocks - scale + 1]."""
    if len(blocks) < scale:
        return np.empty(0)
    # not by differences of sums: one huge value would leave nothing of all others
    means: FloatArray = sliding_window_view(blocks, scale).mean(axis=1)
    return means


def _drops(value: FloatArray, block: int, lowest: FloatArray, sensitivity: float) -> Iterator[_Drop]:
    """Every drop of one attempt, in the order in which they are seen."""
    blocks = _medians(value, block)
    seen: list[_Drop] = []
    for number, scale in enumerate(_SCALES):
        seen += _at_scale(blocks, block, scale, float(lowest[number]), sensitivity)
    last = -1
    for drop in sorted(seen, key=lambda one: (one.seen, -one.from_here)):
        if drop.start > last:
            yield drop
            last = drop.seen


def _at_scale(
    blocks: FloatArray, block: int, scale: int, lowest: float, sensitivity: float
) -> Iterator[_Drop]:
    means = _means(blocks, scale)
    behind = (_STRETCHES - 1) * scale
    if len(means) <= behind:
        return
    long_before, before, after = means[:-behind], means[2 * scale : -2 * scale], means[behind:]
    count = len(after)
    trend = np.maximum(long_before - before, 0.0)
    fall = before - after - _TREND * trend
    noise = _noise(means[2 * scale :] - means[: -2 * scale])[2 * scale :]
    ever = np.minimum(np.minimum.accumulate(means)[2 * scale : -2 * scale], lowest)
    half = _means(blocks, max(scale // 2, 1))
    early_half, late_half = half[behind:], half[behind + scale - max(scale // 2, 1) :]
    with np.errstate(invalid="ignore"):
        found = fall * sensitivity > np.maximum(_ASKED * noise, _SHARE * np.abs(before))
    found &= after < ever - 0.5 * fall
    found &= _means(blocks, _SCALES[0])[-count:] < (before + after) / 2
    found &= np.abs(early_half[:count] - late_half[:count]) < _RESTLESS * fall
    for at in np.flatnonzero(found).tolist():
        end = at + behind + scale - 1
        start, bottom = _edges(blocks[at + 2 * scale : end + 1], float(before[at]), float(after[at]))
        yield _Drop(
            start=(at + 2 * scale + start) * block,
            bottom=(at + 2 * scale + bottom) * block,
            seen=(end + 1) * block - 1,
            from_here=at * block,
            before=float(before[at]),
            after=float(after[at]),
            noise=float(noise[at]),
            trend=float(trend[at]),
        )


def _noise(moves: FloatArray) -> FloatArray:
    """How much such moves vary by themselves: their spread over those before, anew after every so many;
    infinite while there are too few."""
    noise = np.full(len(moves), np.inf)
    for first in (_FEWEST, 2 * _FEWEST, *range(_GRID, min(_PAST, len(moves)), _GRID)):
        noise[first : first + _GRID] = _spread(moves[None, :first])[0] if first < len(moves) else np.inf
    if len(moves) > _PAST:
        spread = _spread(sliding_window_view(moves, _PAST)[: len(moves) - _PAST : _GRID])
        noise[_PAST:] = np.repeat(spread, _GRID)[: len(moves) - _PAST]
    return noise


def _spread(moves: FloatArray) -> FloatArray:
    """The standard deviation of each row by its quartiles, wider where it has few numbers."""
    many = moves.shape[1]
    quarters = np.partition(moves, (many // 4, 3 * many // 4), axis=1)
    spread: FloatArray = (quarters[:, 3 * many // 4] - quarters[:, many // 4]) / 1.349 * (1 + 8 / many)
    return spread


def _edges(blocks: FloatArray, before: float, after: float) -> tuple[int, int]:
    """The last block near the level before, and the first one near the level after it."""
    high = np.flatnonzero(blocks > before - 0.25 * (before - after))
    start = int(high[-1]) if len(high) else 0
    low = np.flatnonzero(blocks[start:] < after + 0.25 * (before - after))
    return start, start + (int(low[0]) if len(low) else 0)


def _finding(
    run: RunData, series: Series, attempt: int, step: IntArray, drop: _Drop, told: dict[str, object]
) -> Finding:
    start, bottom = int(step[drop.start]), int(step[drop.bottom])
    unknown = _not_logged(run)
    evaluation = role_of(series.key) is Role.EVAL_LOSS
    unless = f" Not logged, and so not looked at: {', '.join(unknown)}." if unknown else ""
    return Finding(
        kind=Kind.SUDDEN_DROP,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=attempt,
        start_step=start,
        peak_step=bottom,
        end_step=bottom,
        detected_step=int(step[drop.seen]),
        classified_step=int(step[drop.seen]),
        severity=Severity.INFO,
        confidence=0.6 if "learning rate" in unknown else 0.9,
        summary=(
            f"{'Evaluation loss' if evaluation else 'Loss'} fell from {figure(drop.before)} to "
            f"{figure(drop.after)} within {max(bottom - start, 1):,} steps of step {start:,}, "
            f"far faster than before.{unless}"
        ),
        advice="Nothing to do: the model has learnt something at once. Compare samples before and after.",
        evidence={
            "baseline": drop.before,
            "level": drop.after,
            "noise": drop.noise,
            "expected_fall": drop.trend,
            "duration_steps": bottom - start,
            "not_logged": unknown,
            **told,
        },
    )


def _not_logged(run: RunData) -> list[str]:
    roles = {role_of(key) for key in run.series}
    asked = {Role.LEARNING_RATE: "learning rate", Role.MIXTURE: "data mix", Role.EPOCH: "epoch"}
    return [name for role, name in asked.items() if role not in roles]

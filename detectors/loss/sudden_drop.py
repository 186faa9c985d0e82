"""Sudden drop: a loss falls far faster than it did, and stays: a skill was learnt at once. Information."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.context import related_changes
from holter.detectors.detector import DetectorContext
from holter.detectors.findings.loss import SUDDEN_DROP
from holter.detectors.formatting import figure
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import attempt_rows
from holter.plurals import counted
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series

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
"""Moves that say how much they vary, after how many that is measured anew, and the fewest that say it."""
_KEPT = 1024
"""Blocks that are kept to go on with: twice what the longest stretches and their past take."""
_EXPLAIN = ("restarted", "learning_rate", "batch_size", "mixture", "epoch")


@dataclass(frozen=True, kw_only=True)
class Drop:
    """A fall between two levels; `start`, `bottom`, `seen` and `from_here`, where comparing began, are blocks
    while it is looked for, and then steps."""

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

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per fall, from the loss of the run or, where that shows none, an evaluation."""
        spoken: list[Finding] = []
        for role in _BLOCK:
            for key in sorted(run.series):
                if role_of(key) is role and not any(name in ("rank", "dataset") for name, _ in key.labels):
                    spoken += self._in_series(run, run.series[key], _BLOCK[role], context)
        kept: list[Finding] = []
        for finding in sorted(spoken, key=lambda one: (one.attempt, one.detected_step)):
            if not any(_same(earlier, finding) for earlier in kept):
                kept.append(finding)
        return kept

    def _in_series(
        self, run: RunData, series: Series, block: int, context: DetectorContext
    ) -> Iterator[Finding]:
        checkpoints: ScanCheckpoints[Falls] = context.state.checkpoints((self.name, series.key), [series])
        checkpoint = checkpoints.latest([series])
        falls = (
            checkpoint.state.copy()
            if checkpoint
            else Falls(block, context.tuning.of(series.key.metric).sensitivity)
        )
        for span in attempt_rows(series, checkpoint.rows[0] if checkpoint else 0):
            falls.look(span.attempt, series.step[span.rows], series.value[span.rows])
        checkpoints.save(Checkpoint(falls.copy(), (len(series),)))
        for attempt, drop in falls.found:
            told = related_changes(run, attempt, drop.from_here, drop.seen)
            if drop.start - series.step[0] >= _EARLY_STEPS and not any(name in told for name in _EXPLAIN):
                yield _finding(run, series, attempt, drop, told)


def _same(earlier: Finding, later: Finding) -> bool:
    return earlier.attempt == later.attempt and later.start_step <= earlier.detected_step


class Falls:
    """What is known of one series: `found` with their attempts, and of the present attempt the latest blocks.

    `lowest` are the lowest means of earlier attempts and of blocks left behind, by scale; `points` are those
    of earlier attempts, `begin` is the number of the first block still kept, `looked` of the first not
    looked at.
    """

    def __init__(self, block: int, sensitivity: float) -> None:
        self.block = block
        self.sensitivity = sensitivity
        self.attempt = -1
        self.points = 0
        self.lowest = (np.inf,) * len(_SCALES)
        self.found: tuple[tuple[int, Drop], ...] = ()
        self._begin_attempt()

    def _begin_attempt(self) -> None:
        self.begin, self.looked, self.until = 0, 0, -1
        self.value: FloatArray = np.empty(0)
        self.step: IntArray = np.empty(0, dtype=np.int64)
        self.blocks: FloatArray = np.empty(0)

    def copy(self) -> Falls:
        """As it is now: its arrays are replaced, never changed."""
        return copy(self)

    def look(self, attempt: int, step: IntArray, value: FloatArray) -> None:
        """Go on with further points [n] of an attempt."""
        if attempt != self.attempt:
            self.points += self.begin * self.block + len(self.value)
            self._leave(len(self.blocks))
            self._begin_attempt()
            self.attempt = attempt
        finite = np.isfinite(value)
        self.value = np.concatenate((self.value, np.clip(value[finite], -1e30, 1e30)))
        self.step = np.concatenate((self.step, step[finite]))
        whole = len(self.value) // self.block
        fresh = self.value[len(self.blocks) * self.block : whole * self.block].reshape(-1, self.block)
        self.blocks = np.concatenate((self.blocks, np.median(fresh, axis=1)))
        drops = [
            drop
            for scale, lowest in zip(_SCALES, self.lowest, strict=True)
            for drop in _at_scale(self.blocks, scale, lowest, self.sensitivity)
            if drop.seen + self.begin >= self.looked
        ]
        for drop in sorted(drops, key=lambda one: (one.seen, -one.from_here)):
            self._speak(drop)
        self.looked = self.begin + len(self.blocks)
        self._leave((max(self.looked - _KEPT, 0) // _GRID) * _GRID - self.begin)

    def _speak(self, drop: Drop) -> None:
        if drop.start + self.begin <= self.until:
            return
        self.until = drop.seen + self.begin
        if self.points + (drop.start + self.begin) * self.block < _EARLY_POINTS * self.block // 8:
            return
        first = {
            name: int(self.step[getattr(drop, name) * self.block])
            for name in ("start", "bottom", "from_here")
        }
        seen = int(self.step[(drop.seen + 1) * self.block - 1])
        self.found = (*self.found, (self.attempt, replace(drop, seen=seen, **first)))

    def _leave(self, count: int) -> None:
        """Leave the first so many blocks behind."""
        if count <= 0:
            return
        lows = [_means(self.blocks[: count + scale - 1], scale).min(initial=np.inf) for scale in _SCALES]
        self.lowest = tuple(min(pair) for pair in zip(self.lowest, lows, strict=True))
        self.begin += count
        self.blocks = self.blocks[count:].copy()
        self.value = self.value[count * self.block :].copy()
        self.step = self.step[count * self.block :].copy()


def _means(blocks: FloatArray, scale: int) -> FloatArray:
    """Means of so many blocks up to each [blocks - scale + 1]."""
    if len(blocks) < scale:
        return np.empty(0)
    # not by differences of sums: one huge value would leave nothing of all others
    means: FloatArray = sliding_window_view(blocks, scale).mean(axis=1)
    return means


def _at_scale(blocks: FloatArray, scale: int, lowest: float, sensitivity: float) -> Iterator[Drop]:
    """Every drop that stretches of so many blocks show, in blocks."""
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
        yield Drop(
            start=at + 2 * scale + start,
            bottom=at + 2 * scale + bottom,
            seen=end,
            from_here=at,
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


def _finding(run: RunData, series: Series, attempt: int, drop: Drop, told: dict[str, object]) -> Finding:
    start, bottom = drop.start, drop.bottom
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
        detected_step=drop.seen,
        classified_step=drop.seen,
        severity=SUDDEN_DROP.only_severity,
        confidence=0.6 if "learning rate" in unknown else 0.9,
        summary=(
            f"{'Evaluation loss' if evaluation else 'Loss'} fell from {figure(drop.before)} to "
            f"{figure(drop.after)} within {counted(max(bottom - start, 1), 'step')} of step {start:,}, "
            f"far faster than before.{unless}"
        ),
        advice=SUDDEN_DROP.advice,
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

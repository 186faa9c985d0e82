"""Sudden drops: a loss falls far faster than before and stays low, since a skill was learnt at once.

This is information, not an alarm.
"""

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
from holter.detectors.formatting import from_to
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import attempt_rows
from holter.detectors.robust_statistics import row_medians, windows
from holter.detectors.step_unit import step_unit
from holter.detectors.thresholds import Thresholds
from holter.plurals import counted
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series

_FEW_BLOCKS = 128
"""Blocks up to which a copy of all windows takes less time than a view of them."""
_WINDOWS = 5
"""Windows of equal length that are compared: long before, a gap, before, the fall, after."""
_QUARTILE_DISTANCE = 1.349
"""The distance of the quartiles of normal noise, in standard deviations."""
_VALUE_LIMIT = 1e30
"""Values are clipped to this magnitude, so that means of them stay finite."""
_EXPLANATIONS = ("restarted", "learning_rate", "batch_size", "mixture", "epoch")


@dataclass(frozen=True, kw_only=True)
class DropThresholds(Thresholds):
    """When a fall of a loss is a sudden drop."""

    loss_block: int = 8
    """Points of a training loss in a block, which counts by its median."""
    evaluation_block: int = 1
    """Evaluations in a block: they are few and have little noise."""
    scales: tuple[int, ...] = (2, 8, 32)
    """Blocks in each of the five windows that are compared."""
    early_blocks: int = 8
    """Blocks of a run before which nothing is reported: a young loss falls fast by itself."""
    early_steps: int = 300
    """Optimizer steps of a run before which nothing is reported."""
    sigmas: float = 6.0
    """Standard deviations of such differences that the fall, less what the trend would have done, must
    have."""
    roughness: float = 3.0
    """Standard deviations of the differences of neighboring blocks that the fall must have as well: a smaller
    one is not visible, however long it lasts."""
    trend_factor: float = 1.5
    """Times the trend from before that is subtracted from the fall."""
    new_low_share: float = 0.5
    """Share of the fall by which the level after it must be below the lowest level ever."""
    unrest_share: float = 0.2
    """Share of the fall by which the two halves of the last window may differ: the loss is at rest."""
    edge_share: float = 0.25
    """Share of the fall within which a block is near the level before or after it."""
    spread_moves: int = 256
    """Differences between windows on which their standard deviation is measured."""
    fewest_moves: int = 16
    """Differences without which it is not known."""
    grid_moves: int = 64
    """Differences after which it is measured anew."""
    young_moves: int = 8
    """Number of differences for which it is doubled, since a few of them are uncertain."""
    stored_blocks: int = 1024
    """Blocks that are stored to continue with: twice the longest windows and the differences before them."""
    confidence: float = 0.9
    """Confidence in a finding where the learning rate, the most frequent cause of a fall, is logged."""
    confidence_without_rate: float = 0.6
    """Confidence in a finding where it is not logged."""


@dataclass(frozen=True, kw_only=True)
class LossDrop:
    """A fall between two levels.

    `start`, `bottom`, `detected` and `compared_from`, where the first window begins, are numbers of blocks
    during the scan and steps afterwards.
    """

    start: int
    bottom: int
    detected: int
    compared_from: int
    before: float
    after: float
    noise: float
    trend: float


@dataclass(frozen=True)
class SuddenDropDetector:
    """Detects where a training or evaluation loss falls at once to where it has never been, without known
    cause.

    A lower learning rate, another batch size, other data, a new epoch or a restart explain a fall: then
    nothing is reported. What was not logged cannot be examined, and is named in the finding.
    """

    name: ClassVar[str] = "sudden_drop"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.SUDDEN_DROP})
    thresholds: DropThresholds = DropThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per fall, from the loss of the run or, where that shows none, from an evaluation."""
        blocks = {
            Role.LOSS: self.thresholds.loss_block,
            Role.EVAL_LOSS: self.thresholds.evaluation_block,
        }
        candidates: list[Finding] = []
        for role, block in blocks.items():
            for key in sorted(run.series):
                if role_of(key) is role and key.rank is None and key.label("dataset") is None:
                    candidates += self._in_series(run, run.series[key], block, context)
        findings: list[Finding] = []
        for finding in sorted(candidates, key=lambda finding: (finding.attempt, finding.detected_step)):
            if not any(_is_same_event(earlier, finding) for earlier in findings):
                findings.append(finding)
        return findings

    def _in_series(
        self, run: RunData, series: Series, block: int, context: DetectorContext
    ) -> Iterator[Finding]:
        checkpoints: ScanCheckpoints[DropScan] = context.state.checkpoints((self.name, series.key), [series])
        checkpoint = checkpoints.latest([series])
        sensitivity = context.tuning.of(series.key.metric).sensitivity
        scan = checkpoint.state.copy() if checkpoint else DropScan(block, sensitivity, self.thresholds)
        for span in attempt_rows(series, checkpoint.rows[0] if checkpoint else 0):
            scan.add(span.attempt, series.step[span.rows], series.value[span.rows])
        checkpoints.save(Checkpoint(scan.copy(), (len(series),)))
        for attempt, drop in scan.drops:
            other_changes = related_changes(run, attempt, drop.compared_from, drop.detected)
            is_late = drop.start - series.step[0] >= self.thresholds.early_steps * step_unit(series)
            if is_late and not any(name in other_changes for name in _EXPLANATIONS):
                yield _finding(run, series, attempt, drop, other_changes, self.thresholds)


def _is_same_event(earlier: Finding, later: Finding) -> bool:
    return earlier.attempt == later.attempt and later.start_step <= earlier.detected_step


class DropScan:
    """The scan of one series: its `drops` with their attempts, and the latest blocks of the current attempt.

    `lowest` are the lowest means, by scale, of earlier attempts and of blocks no longer stored; `points` are
    the points of earlier attempts. `first_block` is the number of the first block still stored, `next_block`
    that of the first one not scanned, `covered` that of the last one in which a drop was detected.
    """

    def __init__(self, block: int, sensitivity: float, thresholds: DropThresholds) -> None:
        self.block = block
        self.sensitivity = sensitivity
        self.thresholds = thresholds
        self.attempt = -1
        self.points = 0
        self.lowest = (np.inf,) * len(thresholds.scales)
        self.drops: tuple[tuple[int, LossDrop], ...] = ()
        self._begin_attempt()

    def _begin_attempt(self) -> None:
        self.first_block, self.next_block, self.covered = 0, 0, -1
        self.value: FloatArray = np.empty(0)
        self.step: IntArray = np.empty(0, dtype=np.int64)
        self.blocks: FloatArray = np.empty(0)

    def copy(self) -> DropScan:
        """A copy of the current state: its arrays are replaced, never changed."""
        return copy(self)

    def add(self, attempt: int, step: IntArray, value: FloatArray) -> None:
        """Scan further points [n] of an attempt."""
        if attempt != self.attempt:
            self.points += self.first_block * self.block + len(self.value)
            self._discard(len(self.blocks))
            self._begin_attempt()
            self.attempt = attempt
        finite = np.isfinite(value)
        self.value = np.concatenate((self.value, np.clip(value[finite], -_VALUE_LIMIT, _VALUE_LIMIT)))
        self.step = np.concatenate((self.step, step[finite]))
        complete = len(self.value) // self.block
        new_values = self.value[len(self.blocks) * self.block : complete * self.block]
        self.blocks = np.concatenate((self.blocks, row_medians(new_values.reshape(-1, self.block))))
        drops = [
            drop
            for scale, lowest in zip(self.thresholds.scales, self.lowest, strict=True)
            for drop in _drops_at_scale(self.blocks, scale, lowest, self.sensitivity, self.thresholds)
            if drop.detected + self.first_block >= self.next_block
        ]
        for drop in sorted(drops, key=lambda drop: (drop.detected, -drop.compared_from)):
            self._add_drop(drop)
        self.next_block = self.first_block + len(self.blocks)
        surplus = max(self.next_block - self.thresholds.stored_blocks, 0)
        grid = self.thresholds.grid_moves
        self._discard(surplus // grid * grid - self.first_block)

    def _add_drop(self, drop: LossDrop) -> None:
        """Append a drop, in steps, unless it belongs to an earlier one or the series is too young."""
        if drop.start + self.first_block <= self.covered:
            return
        self.covered = drop.detected + self.first_block
        points = self.points + (drop.start + self.first_block) * self.block
        if points < self.thresholds.early_blocks * self.block:
            return
        in_steps = replace(
            drop,
            start=int(self.step[drop.start * self.block]),
            bottom=int(self.step[drop.bottom * self.block]),
            compared_from=int(self.step[drop.compared_from * self.block]),
            detected=int(self.step[(drop.detected + 1) * self.block - 1]),
        )
        self.drops = (*self.drops, (self.attempt, in_steps))

    def _discard(self, count: int) -> None:
        """Discard the first `count` blocks; only their lowest means are retained."""
        if count <= 0:
            return
        lows = [
            _window_means(self.blocks[: count + scale - 1], scale).min(initial=np.inf)
            for scale in self.thresholds.scales
        ]
        self.lowest = tuple(min(pair) for pair in zip(self.lowest, lows, strict=True))
        self.first_block += count
        self.blocks = self.blocks[count:].copy()
        self.value = self.value[count * self.block :].copy()
        self.step = self.step[count * self.block :].copy()


def _window_means(blocks: FloatArray, scale: int) -> FloatArray:
    """The means of `scale` blocks up to each [blocks - scale + 1]."""
    if len(blocks) < scale:
        return np.empty(0)
    # not by differences of cumulative sums: one huge value would cancel all others
    view = windows if len(blocks) <= _FEW_BLOCKS else sliding_window_view
    means: FloatArray = np.add.reduce(view(blocks, scale), axis=1) / scale
    return means


def _drops_at_scale(
    blocks: FloatArray, scale: int, lowest: float, sensitivity: float, thresholds: DropThresholds
) -> Iterator[LossDrop]:
    """Every drop that windows of `scale` blocks show, in numbers of blocks."""
    behind = (_WINDOWS - 1) * scale
    if len(blocks) < scale + behind:
        return
    means = _window_means(blocks, scale)
    long_before, before, after = means[:-behind], means[2 * scale : -2 * scale], means[behind:]
    count = len(after)
    trend = np.maximum(long_before - before, 0.0)
    fall = before - after - thresholds.trend_factor * trend
    noise = _move_noise(means[2 * scale :] - means[: -2 * scale], thresholds)[2 * scale :]
    lowest_before = np.minimum(np.minimum.accumulate(means)[2 * scale : -2 * scale], lowest)
    half = max(scale // 2, 1)
    half_means = _window_means(blocks, half)
    early_half, late_half = half_means[behind:], half_means[behind + scale - half :]
    with np.errstate(invalid="ignore"):
        rough = _move_noise(np.diff(blocks), thresholds)[2 * scale : 2 * scale + count]
        required = np.maximum(thresholds.sigmas * noise, thresholds.roughness * rough)
        is_drop = fall * sensitivity > required
    is_drop &= after < lowest_before - thresholds.new_low_share * fall
    is_drop &= _window_means(blocks, thresholds.scales[0])[-count:] < (before + after) / 2
    is_drop &= np.abs(early_half[:count] - late_half[:count]) < thresholds.unrest_share * fall
    for index in np.flatnonzero(is_drop).tolist():
        end = index + behind + scale - 1
        levels = float(before[index]), float(after[index])
        start, bottom = _edges(blocks[index + 2 * scale : end + 1], *levels, thresholds.edge_share)
        yield LossDrop(
            start=index + 2 * scale + start,
            bottom=index + 2 * scale + bottom,
            detected=end,
            compared_from=index,
            before=levels[0],
            after=levels[1],
            noise=float(noise[index]),
            trend=float(trend[index]),
        )


def _move_noise(moves: FloatArray, thresholds: DropThresholds) -> FloatArray:
    """The standard deviation of such differences [n] by themselves, from those before each.

    It is measured anew after every `grid_moves`, and infinite while there are too few.
    """
    past, grid, fewest = thresholds.spread_moves, thresholds.grid_moves, thresholds.fewest_moves
    noise = np.full(len(moves), np.inf)
    for first in (fewest, 2 * fewest, *range(grid, min(past, len(moves)), grid)):
        spread = _quartile_sigma(moves[None, :first], thresholds)[0] if first < len(moves) else np.inf
        noise[first : first + grid] = spread
    if len(moves) > past:
        windows = sliding_window_view(moves, past)[: len(moves) - past : grid]
        noise[past:] = np.repeat(_quartile_sigma(windows, thresholds), grid)[: len(moves) - past]
    return noise


def _quartile_sigma(moves: FloatArray, thresholds: DropThresholds) -> FloatArray:
    """The standard deviation of each row by its quartiles, larger where the row is short."""
    count = moves.shape[1]
    quartiles = np.partition(moves, (count // 4, 3 * count // 4), axis=1)
    distance = quartiles[:, 3 * count // 4] - quartiles[:, count // 4]
    sigma: FloatArray = distance / _QUARTILE_DISTANCE * (1 + thresholds.young_moves / count)
    return sigma


def _edges(blocks: FloatArray, before: float, after: float, share: float) -> tuple[int, int]:
    """The last block near the level before, and the first one near the level after it."""
    high = np.flatnonzero(blocks > before - share * (before - after))
    start = int(high[-1]) if len(high) else 0
    low = np.flatnonzero(blocks[start:] < after + share * (before - after))
    return start, start + (int(low[0]) if len(low) else 0)


def _finding(
    run: RunData,
    series: Series,
    attempt: int,
    drop: LossDrop,
    other_changes: dict[str, object],
    thresholds: DropThresholds,
) -> Finding:
    start, bottom = drop.start, drop.bottom
    not_logged = _not_logged(run)
    is_uncertain = "learning rate" in not_logged
    loss = "Evaluation loss" if role_of(series.key) is Role.EVAL_LOSS else "Loss"
    not_examined = f" Not logged, so not examined: {', '.join(not_logged)}." if not_logged else ""
    return Finding(
        kind=Kind.SUDDEN_DROP,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=attempt,
        start_step=start,
        peak_step=bottom,
        end_step=bottom,
        detected_step=drop.detected,
        classified_step=drop.detected,
        severity=SUDDEN_DROP.only_severity,
        confidence=thresholds.confidence_without_rate if is_uncertain else thresholds.confidence,
        summary=(
            f"{loss} fell {from_to(drop.before, drop.after)} within "
            f"{counted(max(bottom - start, 1), 'step')} of step {start:,}, far faster than before."
            f"{not_examined}"
        ),
        advice=SUDDEN_DROP.advice,
        evidence={
            "baseline": drop.before,
            "level": drop.after,
            "noise": drop.noise,
            "expected_fall": drop.trend,
            "duration_steps": bottom - start,
            "not_logged": not_logged,
            **other_changes,
        },
    )


def _not_logged(run: RunData) -> list[str]:
    """The metrics that might explain a drop and are not logged."""
    roles = {role_of(key) for key in run.series}
    names = {Role.LEARNING_RATE: "learning rate", Role.MIXTURE: "data mixture", Role.EPOCH: "epoch"}
    return [name for role, name in names.items() if role not in roles]

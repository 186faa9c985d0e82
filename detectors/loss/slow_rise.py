"""Slow rises of a loss over many thousands of points, which no short window tells from its noise.

Means of many blocks are compared with the lowest such mean before. The level may move by what it has shown
over that time, and noise by chance; a rise beyond both that came gradually is a divergence. Jumps, and rises
within some hundred points, are left to the scan for excursions.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import median_filter

from holter.detectors.context import related_changes
from holter.detectors.detector import DetectorContext
from holter.detectors.formatting import from_to
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.loss.announced_changes import AnnouncedChangeThresholds, stage_began
from holter.detectors.loss.excursions.baseline import TINY
from holter.detectors.loss.excursions.usual_rises import (
    MEDIAN_ERROR,
    UsualRiseThresholds,
    spread_over,
    spreads_of_rises,
)
from holter.detectors.positions import attempt_rows, rows_up_to
from holter.detectors.robust_statistics import MAD_TO_SIGMA
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity

_LAGS = tuple(1 << power for power in range(32))
"""Blocks over which the usual rises of a run that is long already are measured."""
_VALUE_LIMIT = 1e30
"""Values are clipped to this magnitude, so that means of them stay finite."""


@dataclass(frozen=True, kw_only=True)
class SlowRiseThresholds(Thresholds):
    """When a slow rise of a loss is reported."""

    block_points: int = 128
    """Points of a block, whose median is one level of the run."""
    short_block_points: int = 32
    """The same in a second scan: a run of some thousand points has too few long blocks, and one whose noise
    is a large share of its level shows nothing in short windows."""
    short_known_blocks: int = 64
    """`known_blocks` of that scan: how far epochs move a level shows in thousands of points."""
    window_blocks: tuple[int, ...] = (8, 32, 128)
    """Blocks whose mean is compared: a rise that hides in the waves of short means shows in long ones."""
    least_sigmas: float = 1.0
    """Sigmas of a point that a mean must rise by: a young run may wave by less."""
    known_blocks: int = 32
    """Blocks before the lowest mean, without which it is not known how far the run moves."""
    measured_blocks: int = 1024
    """Blocks before the lowest mean, the latest, on which its usual rises are measured."""
    errors: float = 5.0
    """Usual rises over the time since the lowest mean that a rise must exceed: the lowest of many means is a
    low one."""
    low_errors: float = 3.0
    """Standard errors above the lowest mean up to which a later one is as low."""
    rises: UsualRiseThresholds = UsualRiseThresholds()
    """How the usual rises are measured."""
    smooth_blocks: int = 5
    """Blocks whose running median is examined for jumps: a spike of two blocks is none."""
    jump_share: float = 0.5
    """Share of the rise that the level may gain within `jump_blocks`: what comes faster is no slow rise."""
    jump_blocks: int = 4
    """Blocks within which a jump is over: the scan for excursions compares means of 512 points."""
    typical_share: float = 0.5
    """Share of the rise that the median of the window must have."""
    begun_share: float = 0.1
    """Share of the rise from which on it counts as begun."""
    return_share: float = 0.5
    """Share of the rise below which it is over."""
    announced: AnnouncedChangeThresholds = AnnouncedChangeThresholds()
    """When a stage that the run logged counts as begun."""
    doubt: float = 0.3
    """Confidence lacking where the evidence is just sufficient; it falls with the square of its strength."""
    margin_share: float = 0.5
    """Share of the time until detection by which a checkpoint should be older than the beginning."""


@dataclass(frozen=True, kw_only=True)
class SlowRise:
    """A rise from a lowest mean, in steps, which means of so many `blocks` show.

    `end` is None while it lasts; `strength` is 1 where the rise just counts.
    """

    attempt: int
    blocks: int
    start: int
    detected: int
    peak: int
    end: int | None
    compared_from: int
    points: int
    low: float
    high: float
    noise: float
    strength: float

    def is_within(self, earlier: SlowRise) -> bool:
        """Whether it began before a rise that was detected earlier was over."""
        until = earlier.detected if earlier.end is None else max(earlier.end, earlier.detected)
        return self.attempt == earlier.attempt and (earlier.end is None or self.start <= until)


@dataclass(frozen=True)
class SlowRiseDetector:
    """Detects where a training loss rises over many thousands of points."""

    name: ClassVar[str] = "slow_rise"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DIVERGENCE})
    thresholds: SlowRiseThresholds = SlowRiseThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterator[Finding]:
        """A finding for each rise of a training loss that no logged change explains."""
        for key in sorted(run.series):
            if role_of(key) is Role.LOSS and key.rank is None:
                series = run.series[key]
                for rise in self._rises(series, context):
                    if not self._is_explained(run, rise):
                        yield _finding(series, rise, self.thresholds)

    def _rises(self, series: Series, context: DetectorContext) -> list[SlowRise]:
        """The rises of both scans; of those at the same time the one that was detected first."""
        limits = self.thresholds
        short = replace(
            limits, block_points=limits.short_block_points, known_blocks=limits.short_known_blocks
        )
        rises = [rise for each in (short, limits) for rise in self._scan(series, context, each).rises]
        rises.sort(key=lambda rise: (rise.attempt, rise.detected, rise.start))
        first: list[SlowRise] = []
        for rise in rises:
            if not any(rise.is_within(earlier) for earlier in first):
                first.append(rise)
        return first

    def _is_explained(self, run: RunData, rise: SlowRise) -> bool:
        """Whether a logged change explains a rise: a learning rate that was raised, another batch, mixture or
        stage."""
        changes = related_changes(run, rise.attempt, rise.compared_from, rise.detected)
        before, now = changes.get("learning_rate", (0.0, 0.0))
        if now > before or "batch_size" in changes or "mixture" in changes:
            return True
        if _has_restarted_rate(run, rise, self.thresholds.announced.rate_ratio):
            return True
        return stage_began(run, rise.attempt, rise.compared_from, rise.detected, self.thresholds.announced)

    def _scan(self, series: Series, context: DetectorContext, thresholds: SlowRiseThresholds) -> SlowRiseScan:
        checkpoints: ScanCheckpoints[SlowRiseScan] = context.state.checkpoints(
            (self.name, series.key, thresholds.block_points), [series]
        )
        checkpoint = checkpoints.latest([series])
        sensitivity = context.tuning.of(series.key.metric).sensitivity
        scan = checkpoint.state.copy() if checkpoint else SlowRiseScan(sensitivity, thresholds)
        for span in attempt_rows(series, checkpoint.rows[0] if checkpoint else 0):
            scan.add(span.attempt, series.step[span.rows], series.value[span.rows])
        checkpoints.save(Checkpoint(scan.copy(), (len(series),)))
        return scan


def _has_restarted_rate(run: RunData, rise: SlowRise, ratio: float) -> bool:
    """Whether a learning rate was raised by a ratio since the loss was lowest, or as long before as it took
    to detect the rise, though it may have fallen again: a schedule that restarts."""
    since = 2 * rise.compared_from - rise.detected
    for key in sorted(run.series):
        if role_of(key) is Role.LEARNING_RATE and key.rank is None:
            series = run.series[key]
            first = max(rows_up_to(series, (rise.attempt, since)) - 1, 0)
            rates = series.value[first : rows_up_to(series, (rise.attempt, rise.detected))]
            rates = rates[np.isfinite(rates)]
            if bool((rates > ratio * np.minimum.accumulate(rates)).any()):
                return True
    return False


class SlowRiseScan:
    """The scan of one series: its `rises`, and the levels of the run so far.

    Of the blocks [n], `last_step` are the steps at which they ended, `level` and `noise` their medians and
    the noise of a point in them; blocks from `first` on are compared, and those before `examined` have been.
    An attempt that rolls back takes the blocks of the steps that it repeats with it.
    """

    def __init__(self, sensitivity: float, thresholds: SlowRiseThresholds) -> None:
        self.sensitivity = sensitivity
        self.thresholds = thresholds
        self.rises: tuple[SlowRise, ...] = ()
        self.attempt = -1
        self.step: IntArray = np.empty(0, dtype=np.int64)
        self.value: FloatArray = np.empty(0)
        self.last_step: IntArray = np.empty(0, dtype=np.int64)
        self.level: FloatArray = np.empty(0)
        self.noise: FloatArray = np.empty(0)
        self.first = 0
        self.examined = 0

    def copy(self) -> SlowRiseScan:
        """A copy of the current state: its arrays are replaced, never changed."""
        return copy(self)

    def add(self, attempt: int, step: IntArray, value: FloatArray) -> None:
        """Scan further points [n] of an attempt."""
        if attempt != self.attempt:
            self._begin_attempt(attempt, int(step[0]))
        finite = np.isfinite(value)
        self.step = np.concatenate((self.step, step[finite]))
        self.value = np.concatenate((self.value, np.clip(value[finite], -_VALUE_LIMIT, _VALUE_LIMIT)))
        self._add_blocks()
        while self.examined < len(self.level):
            self.examined = self._follow() if self._is_rising() else self._search()

    def _begin_attempt(self, attempt: int, step: int) -> None:
        """Continue with the blocks from before the first step of an attempt."""
        known = int(np.searchsorted(self.last_step, step))
        if self._is_rising() and self.rises[-1].detected >= step:
            # undone, together with the steps that are repeated
            self._update_last(end=self.rises[-1].peak)
        self.attempt = attempt
        self.step, self.value = self.step[:0], self.value[:0]
        self.last_step, self.level, self.noise = (
            self.last_step[:known],
            self.level[:known],
            self.noise[:known],
        )
        self.first, self.examined = min(self.first, known), known

    def _add_blocks(self) -> None:
        size = self.thresholds.block_points
        complete = len(self.value) // size * size
        if not complete:
            return
        blocks = self.value[:complete].reshape(-1, size)
        level = np.median(blocks, axis=1)
        noise = MAD_TO_SIGMA * np.median(np.abs(blocks - level[:, None]), axis=1)
        self.level = np.concatenate((self.level, level))
        self.noise = np.concatenate((self.noise, noise))
        self.last_step = np.concatenate((self.last_step, self.step[:complete][size - 1 :: size]))
        self.step, self.value = self.step[complete:].copy(), self.value[complete:].copy()

    def _is_rising(self) -> bool:
        return bool(self.rises) and self.rises[-1].end is None

    def _update_last(self, **changes: Any) -> None:
        self.rises = (*self.rises[:-1], replace(self.rises[-1], **changes))

    def _follow(self) -> int:
        """Follow the rise that lasts to its end, or to the last block; returns the first block after that."""
        rise = self.rises[-1]
        mean = _window_means(self.level, rise.blocks)[self.examined - rise.blocks + 1 :]
        highest = np.maximum.accumulate(np.maximum(mean, rise.high))
        is_back = mean < rise.low + self.thresholds.return_share * (highest - rise.low)
        count = int(np.argmax(is_back)) + 1 if is_back.any() else len(mean)
        top = int(np.argmax(mean[:count]))
        if mean[top] > rise.high:
            self._update_last(high=float(mean[top]), peak=int(self.last_step[self.examined + top]))
        if is_back.any():
            self.first = self.examined + count
            self._update_last(end=int(self.last_step[self.first - 1]))
        return self.examined + count

    def _search(self) -> int:
        """Search the blocks not examined yet for a rise; returns the first block after it, or all."""
        candidates = sorted(
            (block, blocks, low)
            for blocks in self.thresholds.window_blocks
            for block, low in self._candidates(blocks)
        )
        for block, blocks, low in candidates:
            rise = self._rise(block, blocks, low)
            if rise is not None:
                self.rises = (*self.rises, rise)
                return block + 1
        return len(self.level)

    def _candidates(self, blocks: int) -> Iterator[tuple[int, int]]:
        """Blocks with a mean of `blocks` up to there that is high enough, each with the one up to which it
        was lowest."""
        limits = self.thresholds
        mean = _window_means(self.level[self.first :], blocks)
        noise = _window_means(self.noise[self.first :], blocks)
        lowest = np.minimum.accumulate(mean)
        low = np.maximum.accumulate(np.where(mean == lowest, np.arange(len(mean)), 0))[:-blocks]
        rise = (mean[blocks:] - mean[low]) * self.sensitivity
        enough = (rise > limits.least_sigmas * noise[low]) & (low + blocks >= limits.known_blocks)
        for index in np.flatnonzero(enough).tolist():
            block = self.first + index + 2 * blocks - 1
            # means of many blocks hardly change from one to the next
            if block >= self.examined and (block + 1) % max(blocks // 4, 1) == 0:
                yield block, self.first + int(low[index]) + blocks - 1

    def _rise(self, block: int, blocks: int, low: int) -> SlowRise | None:
        """The rise from the mean of `blocks` up to the block `low` to that up to `block`, if it is one."""
        limits = self.thresholds
        lowest, low = low, self._last_as_low(block, blocks, low)
        before, now = (float(self.level[end + 1 - blocks : end + 1].mean()) for end in (low, block))
        rise, noise = now - before, float(self.noise[low + 1 - blocks : low + 1].mean())
        usual = self._usual_rise(low, block - low, noise)
        smooth = median_filter(self.level[low : block + 1], size=limits.smooth_blocks, mode="nearest")
        gain = smooth[limits.jump_blocks :] - smooth[: -limits.jump_blocks]
        if rise * self.sensitivity <= limits.errors * usual or gain.max() > limits.jump_share * rise:
            return None
        if float(self.level[block + 1 - max(blocks // 4, 1) : block + 1].mean()) < now - noise:
            return None
        # a few blocks of a spike raise the mean of a window, but are not most of it
        if (
            float(np.median(self.level[block + 1 - blocks : block + 1]))
            < before + limits.typical_share * rise
        ):
            return None
        as_before = np.flatnonzero(smooth <= before + limits.begun_share * rise)
        begun = low + (int(as_before[-1]) if len(as_before) else 0)
        return SlowRise(
            attempt=self.attempt,
            blocks=blocks,
            start=int(self.last_step[begun]),
            detected=int(self.last_step[block]),
            peak=int(self.last_step[block]),
            end=None,
            compared_from=int(self.last_step[lowest]),
            points=(block - begun) * limits.block_points,
            low=before,
            high=now,
            noise=noise,
            strength=rise * self.sensitivity / max(limits.least_sigmas * noise, limits.errors * usual, TINY),
        )

    def _last_as_low(self, block: int, blocks: int, low: int) -> int:
        """The last block with a mean as low as the lowest, which is that up to `low`, but for its error: the
        more is known of how far the level moves."""
        mean = _window_means(self.level[low + 1 - blocks : block + 1 - blocks], blocks)
        noise = float(self.noise[low + 1 - blocks : low + 1].mean())
        error = MEDIAN_ERROR * noise / float(np.sqrt(blocks * self.thresholds.block_points))
        return low + int(np.flatnonzero(mean <= mean[0] + self.thresholds.low_errors * error)[-1])

    def _usual_rise(self, low: int, lag: int, noise: float) -> float:
        """How far the run had moved within `lag` blocks, as its levels up to the block `low` show."""
        limits = self.thresholds
        levels = self.level[max(low + 1 - limits.measured_blocks, self.first) : low + 1]
        of_median = MEDIAN_ERROR * noise / float(np.sqrt(limits.block_points))
        spreads = spreads_of_rises(of_median, levels, limits.rises, _LAGS)
        return spread_over(spreads, lag, _LAGS)


def _window_means(values: FloatArray, size: int) -> FloatArray:
    """The means of `size` values up to each of values [n]: [n - size + 1]."""
    if len(values) < size:
        return np.empty(0)
    # not by differences of cumulative sums: one huge value would cancel all others
    means: FloatArray = sliding_window_view(values, size).mean(axis=1)
    return means


def _finding(series: Series, rise: SlowRise, thresholds: SlowRiseThresholds) -> Finding:
    upto = max(rise.start - int(thresholds.margin_share * (rise.detected - rise.start)), 0)
    return Finding(
        kind=Kind.DIVERGENCE,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=rise.attempt,
        start_step=rise.start,
        peak_step=rise.peak,
        end_step=rise.end,
        detected_step=rise.detected,
        classified_step=rise.detected,
        severity=Severity.WARNING,
        confidence=1 - thresholds.doubt / min(max(rise.strength, 1.0), 1e6) ** 2,
        summary=(
            f"Loss has been rising slowly since about step {rise.start:,}: "
            f"{from_to(rise.low, rise.high)} by step {rise.peak:,}."
        ),
        advice=(
            f"Compare with the latest checkpoint up to step {upto:,}; look for a change of the data, the "
            "learning rate or the precision since then."
        ),
        evidence={
            "baseline": rise.low,
            "peak": rise.high,
            "noise": rise.noise,
            "recovery_steps": None,
            "strength": rise.strength,
            "rollback_upto": upto,
            "points_to_detect": rise.points,
            "lowest_step": rise.compared_from,
            "precursors": [],
        },
    )

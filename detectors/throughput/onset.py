"""Locates the onset of a rise above a known level, and whether it was sudden or gradual."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.positions import RowPosition
from holter.detectors.thresholds import Thresholds
from holter.detectors.throughput.block_medians import MedianBlock
from holter.types import FloatArray

PointsOf = Callable[[MedianBlock], tuple[list[RowPosition], FloatArray]]
"""Returns the points of a block: their positions and their values."""


@dataclass(frozen=True, kw_only=True)
class OnsetThresholds(Thresholds):
    """How the shape of a rise is fitted."""

    fewest_ramp_blocks: int = 4
    """Blocks. A straight rise must be longer than this to be gradual."""
    calm_blocks: int = 8
    """Blocks. Where the median of so many is near the reference, an earlier slow spell was over: a sudden
    rise does not begin before."""
    calm_share: float = 0.4
    """Share of the height of the rise up to which such a median is near the reference."""
    clip_factor: float = 1.5
    """Times the height of the rise. Medians are clipped here, so that outliers do not move the onset."""


class ShiftOnset(NamedTuple):
    """The first point of a rise; `gradual` where it grew over many blocks."""

    at: RowPosition
    gradual: bool


def find_onset(
    blocks: Sequence[MedianBlock], reference: float, points: PointsOf, limits: OnsetThresholds
) -> ShiftOnset:
    """The onset of the rise that the last of these blocks show, by least squares.

    Two shapes are compared: a level followed by another level, and a level followed by a straight rise. The
    onset of the first is located to the point.
    """
    medians = np.array([block.median for block in blocks]) - reference
    height = float(np.median(medians[-2:]))
    highest = limits.clip_factor * abs(height)
    excess = np.clip(medians, -abs(height), highest)
    jump_index, jump_error = _fit_jump(excess)
    ramp_index, ramp_error = _fit_ramp(excess)
    if ramp_error < jump_error and len(blocks) - ramp_index > limits.fewest_ramp_blocks:
        return ShiftOnset(blocks[ramp_index].begin, gradual=True)
    first = _end_of_calm(medians, limits.calm_share * height, limits.calm_blocks)
    if jump_index < first:
        jump_index = first + _fit_jump(excess[first:])[0]
    around = [points(block) for block in blocks[max(jump_index - 1, 0) : jump_index + 1]]
    values = np.concatenate([value for _, value in around])
    positions = [position for of_block, _ in around for position in of_block]
    local = np.clip(values - reference, -abs(height), highest)
    return ShiftOnset(positions[_locate_step(local, height)], gradual=False)


def _end_of_calm(medians: FloatArray, near: float, window: int) -> int:
    """The middle of the last window of blocks that were near the reference; 0 if there is none."""
    if len(medians) < window:
        return 0
    calm = np.flatnonzero(np.median(sliding_window_view(medians, window), axis=1) < near)
    return int(calm[-1]) + window // 2 if len(calm) else 0


def _fit_jump(excess: FloatArray) -> tuple[int, float]:
    """The best index of a jump and its squared error: zero before, the mean of the rest after."""
    total = np.cumsum(excess[::-1])[::-1]
    square = np.cumsum((excess**2)[::-1])[::-1]
    count = np.arange(len(excess), 0, -1)
    error = square[0] - np.where(total > 0, total**2 / count, 0.0)
    index = int(np.argmin(error))
    return index, float(error[index])


def _fit_ramp(excess: FloatArray) -> tuple[int, float]:
    """The best index of the foot of a straight rise to the end, and its squared error."""
    n = len(excess)
    total = np.cumsum(excess[::-1])[::-1]
    # sum over i >= s of (i - s + 1) excess[i]: partial sums of partial sums
    moment = np.cumsum(total[::-1])[::-1]
    count = np.arange(n, 0, -1, dtype=np.float64)
    length = count * (count + 1) * (2 * count + 1) / 6
    error = float(np.sum(excess**2)) - np.where(moment > 0, moment**2 / length, 0.0)
    index = int(np.argmin(error))
    return index, float(error[index])


def _locate_step(excess: FloatArray, height: float) -> int:
    """The first point from which on values are nearer to `height` than to zero: the least-error split."""
    gain = np.cumsum((excess - height / 2)[::-1])[::-1]
    return int(np.argmax(gain))

"""Locates the onset of a rise above a known level, and whether it was sudden or gradual."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
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
    """Blocks. Where the median of at most so many is near the reference, an earlier slow spell was over: a
    sudden rise does not begin before..."""
    calm_noises: float = 5.0
    """Standard deviations. ... of as many as set such a median apart from one of the rise by this much."""
    calm_share: float = 0.4
    """Share of the height of the rise up to which such a median is near the reference."""
    clip_factor: float = 1.5
    """Times the height of the rise. Medians are clipped here, so that outliers do not move the onset."""
    clip_noises: float = 3.0
    """Standard deviations above a fitted shape at which medians are clipped when it is fitted again: slow
    spells before a rise are no part of it."""
    way: tuple[float, float] = (0.2, 0.8)
    """Shares of the height between which a rise is on its way: a gradual one for `fewest_ramp_blocks`..."""
    halfway: tuple[float, float] = (0.35, 0.65)
    """... and some of them here: what rises in two steps is not gradual."""
    clear_noises: float = 5.0
    """Standard deviations that the height must exceed: otherwise blocks of a sudden rise are on the way, too.
    """
    fits: int = 3
    """Fits of a shape in sequence; more hardly change it."""


class ShiftOnset(NamedTuple):
    """The first point of a rise; `gradual` where it grew over many blocks."""

    at: RowPosition
    gradual: bool


def find_onset(
    blocks: Sequence[MedianBlock],
    reference: float,
    noise: float,
    points: PointsOf,
    limits: OnsetThresholds,
) -> ShiftOnset:
    """The onset of the rise that the last of these blocks show, by least squares; `noise`: of a block.

    Two shapes are compared: a level followed by another level, and a level followed by a straight rise. The
    onset of the first is located to the point, or with a restart that follows it closely.
    """
    medians = np.array([block.median for block in blocks]) - reference
    height = _height(medians)
    highest = limits.clip_factor * abs(height)
    excess = np.clip(medians, -abs(height), highest)
    calm = min(_end_of_calm(medians, height, noise, limits), len(blocks) - 1)
    jump = _fit(_fit_jump, excess, calm, noise, limits)
    # a straight rise is near the reference for the first two fifths of its way: the calm ends there
    foot = (calm - limits.calm_share * len(blocks)) / (1 - limits.calm_share)
    ramp = _fit(_fit_ramp, excess, max(int(foot), 0), noise, limits)
    # the block in which a jump lies is between both levels
    around_jump = slice(max(jump.begin - 1, 0), jump.begin + 1)
    jump_error = jump.errors.sum() - jump.errors[around_jump].max()
    if ramp.errors.sum() < jump_error and len(blocks) - ramp.begin > limits.fewest_ramp_blocks:
        return ShiftOnset(blocks[ramp.begin].begin, gradual=True)
    around = [points(block) for block in blocks[around_jump]]
    values = np.concatenate([value for _, value in around])
    positions = [position for of_block, _ in around for position in of_block]
    local = np.clip(values - reference, -abs(height), highest)
    at = positions[_locate_step(local, height)]
    return ShiftOnset(_with_restart(at, blocks[around_jump.start : jump.begin + 2]), gradual=False)


def rises_gradually(medians: FloatArray, noise: float, limits: OnsetThresholds) -> bool:
    """Whether the first blocks of a rise [n] show that it took several of them; `noise` is that of two."""
    height = float(np.median(medians))
    if height <= limits.clear_noises * noise:
        return False
    shares = medians / height
    both = np.minimum(shares[1:], shares[:-1])
    low, high = limits.way
    on_its_way = shares[int(np.argmax(shares >= low)) : int(np.argmax(both >= high))]
    is_halfway = (on_its_way >= limits.halfway[0]) & (on_its_way <= limits.halfway[1])
    return len(on_its_way) > limits.fewest_ramp_blocks and bool(is_halfway.any())


def _height(medians: FloatArray) -> float:
    """The height of a rise: of its last two blocks, or of more where these are back by chance, as a longer
    window shows a rise among spells."""
    latest = (float(np.median(medians[-window:])) for window in (2, 8, 32))
    return next((height for height in latest if height > 0), float(np.abs(medians).max()))


def _with_restart(at: RowPosition, around: Sequence[MedianBlock]) -> RowPosition:
    """The restart after a jump that lies in the last block before it: so few slow points are a pause."""
    for block, following in pairwise(around):
        if block.first <= at.row <= block.last and following.attempt > block.attempt:
            return following.begin
    return at


def _end_of_calm(medians: FloatArray, height: float, noise: float, limits: OnsetThresholds) -> int:
    """The middle of the last window of blocks that were near the reference; 0 if there is none."""
    apart = (1 - limits.calm_share) * height / limits.calm_noises
    if apart <= 0:
        return 0
    window = min(limits.calm_blocks, max(1, ceil((noise / apart) ** 2)))
    if len(medians) < window:
        return 0
    level = np.median(sliding_window_view(medians, window), axis=1)
    calm = np.flatnonzero(level < limits.calm_share * height)
    return int(calm[-1]) + (window + 1) // 2 if len(calm) else 0


class _FittedShape(NamedTuple):
    """The block at which a fitted shape begins, and the squared errors of all blocks [n]."""

    begin: int
    errors: FloatArray


def _fit(
    shape: Callable[[FloatArray], tuple[int, FloatArray]],
    excess: FloatArray,
    first: int,
    noise: float,
    limits: OnsetThresholds,
) -> _FittedShape:
    """The best fit of a shape that begins at block `first` or later, without what is far above it."""
    index, clipped, fitted = first, excess, np.zeros(len(excess))
    for _ in range(limits.fits):
        begin, values = shape(clipped[first:])
        index, fitted = first + begin, np.concatenate((np.zeros(first), values))
        clipped = np.minimum(excess, fitted + limits.clip_noises * noise)
    return _FittedShape(index, (clipped - fitted) ** 2)


def _fit_jump(excess: FloatArray) -> tuple[int, FloatArray]:
    """A jump: its index, and its values [n], zero before and the mean of the rest after."""
    total = np.cumsum(excess[::-1])[::-1]
    count = np.arange(len(excess), 0, -1)
    index = int(np.argmax(np.where(total > 0, total**2 / count, 0.0)))
    fitted = np.zeros(len(excess))
    fitted[index:] = max(total[index] / count[index], 0.0)
    return index, fitted


def _fit_ramp(excess: FloatArray) -> tuple[int, FloatArray]:
    """A straight rise to the end: the index of its foot, and its values [n]."""
    n = len(excess)
    total = np.cumsum(excess[::-1])[::-1]
    # sum over i >= s of (i - s + 1) excess[i]: partial sums of partial sums
    moment = np.cumsum(total[::-1])[::-1]
    count = np.arange(n, 0, -1, dtype=np.float64)
    length = count * (count + 1) * (2 * count + 1) / 6
    index = int(np.argmax(np.where(moment > 0, moment**2 / length, 0.0)))
    slope = max(moment[index] / length[index], 0.0)
    return index, slope * np.maximum(np.arange(n) - index + 1.0, 0.0)


def _locate_step(excess: FloatArray, height: float) -> int:
    """The first point from which on values are nearer to `height` than to zero: the least-error split."""
    gain = np.cumsum((excess - height / 2)[::-1])[::-1]
    return int(np.argmax(gain))

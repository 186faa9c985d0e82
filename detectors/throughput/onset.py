"""Where a rise above a known level began: at once, or little by little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from holter.detectors.positions import RowPosition
from holter.detectors.throughput.block_medians import MedianBlock
from holter.types import FloatArray


class ShiftOnset(NamedTuple):
    """`at` is the first point that belongs to the rise; `gradual` when it grew over many blocks."""

    at: RowPosition
    gradual: bool


_FEWEST_RAMP_BLOCKS = 4


def find_onset(
    blocks: Sequence[MedianBlock],
    reference: float,
    points: Callable[[MedianBlock], tuple[list[RowPosition], FloatArray]],
) -> ShiftOnset:
    """The onset of the rise that the last of these blocks show, by least squares.

    Two shapes are compared: level, then another level; level, then a straight line up. The first is
    placed to the point; `points` gives the points of a block, and their values.
    """
    medians = np.array([block.median for block in blocks]) - reference
    height = float(np.median(medians[-2:]))
    excess = np.clip(medians, -abs(height), 1.5 * abs(height))
    jump_at, jump_error = _jump(excess)
    ramp_at, ramp_error = _ramp(excess)
    if ramp_error < jump_error and len(blocks) - ramp_at > _FEWEST_RAMP_BLOCKS:
        return ShiftOnset(blocks[ramp_at].begin, gradual=True)
    around = [points(block) for block in blocks[max(jump_at - 1, 0) : jump_at + 1]]
    values = np.concatenate([value for _, value in around])
    places = [place for some, _ in around for place in some]
    local = np.clip(values - reference, -abs(height), 1.5 * abs(height))
    return ShiftOnset(places[_step_in(local, height)], gradual=False)


def _jump(excess: FloatArray) -> tuple[int, float]:
    """Best place of a jump [0, n) and its squared error: nothing before, its own mean after."""
    total = np.cumsum(excess[::-1])[::-1]
    square = np.cumsum((excess**2)[::-1])[::-1]
    count = np.arange(len(excess), 0, -1)
    error = square[0] - np.where(total > 0, total**2 / count, 0.0)
    at = int(np.argmin(error))
    return at, float(error[at])


def _ramp(excess: FloatArray) -> tuple[int, float]:
    """Best place of the foot of a straight rise to the end, and its squared error."""
    n = len(excess)
    total = np.cumsum(excess[::-1])[::-1]
    # sum over i >= s of (i - s + 1) excess[i]: partial sums of partial sums
    moment = np.cumsum(total[::-1])[::-1]
    count = np.arange(n, 0, -1, dtype=np.float64)
    length = count * (count + 1) * (2 * count + 1) / 6
    error = float(np.sum(excess**2)) - np.where(moment > 0, moment**2 / length, 0.0)
    at = int(np.argmin(error))
    return at, float(error[at])


def _step_in(excess: FloatArray, height: float) -> int:
    """First point nearer to `height` than to nothing, for good: the split with the least error."""
    gain = np.cumsum((excess - height / 2)[::-1])[::-1]
    return int(np.argmax(gain))

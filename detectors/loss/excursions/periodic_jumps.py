"""Jumps: points at which a series jumps, up or down, in the same distance from one another.

An average that begins anew with every epoch moves less and less, and then jumps by the noise of one batch. In
which direction is chance, so that the rises among these jumps repeat at no period of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class PeriodicJumpThresholds(Thresholds):
    """When a point is a jump, and jumps are at equal distances."""

    jump: float = 4.0
    """Times the largest of the changes before that the change at a jump is..."""
    jump_points: int = 8
    """... of so many changes."""
    near_points: int = 1024
    """Points after a jump, at most, within which a rise that begins may belong to it."""
    near_share: float = 0.125
    """Share of the distance after a jump up to which a rise that begins belongs to it..."""
    return_share: float = 0.5
    """... and up to which one does that only makes up for a jump down at the jump."""
    tolerance_points: int = 2
    """Points by which distances may differ..."""
    tolerance_share: float = 0.002
    """... or this share of them."""
    candidates: int = 4
    """Jumps before the latest whose distance from it is tried."""
    distances: int = 4
    """Distances before the latest jump at which others are searched for."""
    larger: float = 4.0
    """Times the largest jump of these from which on a rise is no repetition: what a batch adds to an average
    that begins with it is drawn from all its noise."""
    most_points: int = 16_384
    """Points that are searched, the latest ones."""


def count_equal_jumps(value: FloatArray, start: int, limits: PeriodicJumpThresholds) -> int:
    """How many jumps at equal distances came before the one at which a rise began; 0 if it began at none, or
    is larger than the jumps there.

    `value` are the points of an attempt up to the detection of the rise [n], which began at point `start`.
    The beginning of the attempt is a jump, too.
    """
    near = max(start - limits.near_points, 0)
    latest = near + _find_jumps(value[near:], limits)
    if not len(latest):
        return 0  # as mostly
    first = max(len(value) - limits.most_points, 0)
    recent, last = value[first:], int(latest[-1]) - first
    known = _find_jumps(recent[:last], limits)
    if first == 0:
        known = np.concatenate(([0], known))
    rise = float(recent[last:].max() - recent[last - 1])
    jumps = np.abs(recent[known] - recent[np.maximum(known - 1, 0)])
    most = 0
    for distance in (last - known[-limits.candidates :]).tolist():
        tolerance = max(limits.tolerance_points, limits.tolerance_share * distance)
        places = last - distance * np.arange(1, limits.distances + 1)
        is_there = np.abs(known - places[:, None]) <= tolerance
        near_share = limits.near_share if rise > 0 else limits.return_share
        is_near = start - first - last <= near_share * distance
        if is_near and rise <= limits.larger * (jumps * is_there).max():
            most = max(most, _in_sequence(is_there.any(axis=1)))
    return most


def _in_sequence(is_there: NDArray[np.bool_]) -> int:
    """How many of the jumps before the latest are there, the nearest first; one of four may be missing where
    the jump was small by chance, but not of fewer: every second one is there at half of the distance, too."""
    count = int(is_there.sum())
    return count if count >= len(is_there) - 1 else int(np.argmin(np.append(is_there, False)))


def _find_jumps(value: FloatArray, limits: PeriodicJumpThresholds) -> IntArray:
    """The points [n] at which the change is far larger than those before, and than the last digit of a log:
    an average that hardly moves any more changes by that at times."""
    change = np.abs(np.diff(value))
    count = len(change) - limits.jump_points
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    before = np.maximum.reduce([change[lag : lag + count] for lag in range(limits.jump_points)])
    after = change[limits.jump_points :]
    digit = change.min(initial=np.inf, where=change > 0)
    return np.flatnonzero(after > limits.jump * np.maximum(before, digit)) + limits.jump_points + 1

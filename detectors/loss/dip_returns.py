"""Returns from dips: a loss that had fallen below its level for a short time, and is as high as before again.

Compared with the few points before it, such a return is a rise. Compared with what the loss has been for
longest, nothing was lost that had lasted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.loss.excursions.excursion_points import RecoveryThresholds
from holter.detectors.loss.excursions.segment import AttemptSegment
from holter.detectors.robust_statistics import median, row_medians
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class DipReturnThresholds(Thresholds):
    """When a rise is a return from a dip."""

    windows: tuple[int, ...] = (64, 128, 256, 512, 1024)
    """Points before a rise whose median is taken for the level from before the dip at first. Half of the
    longest are the most of a dip and of a rise that are examined, since each event is in every look at a run;
    these are more than those in which a level settles."""
    smoothed_points: int = 5
    """Points whose median decides on which side of the middle between both levels the loss is."""
    lasted: int = 4
    """Times the length of the dip for which the loss must have been at its level right before it."""
    high_share: float = 0.5
    """Share of these points that must be above the middle: there may have been earlier dips."""
    earlier_share: float = 0.33
    """Share of the points before these (as many as a dip may have) that must be above the middle, too: of
    those of a loss that rings after a spike, only the spike is. Dips in sequence leave less than half."""
    level_share: float = 0.35
    """Share of the depth of the dip by which the level before it may have moved between its two halves, and
    may differ from the level after it. One that falls in a straight line moves by two thirds of the depth,
    one that falls ever more slowly, as most do, by more."""
    fewest_points: int = 8
    """Points of the dip, and of the rise at its level, that must be known."""


def dip_before(
    excursion: Excursion,
    segment: AttemptSegment,
    recovery: RecoveryThresholds,
    thresholds: DipReturnThresholds,
) -> int | None:
    """The step at which the loss fell into the dip from which a rise is the return, as far as is known; None
    where it is no return.

    A lower level that has lasted for as long as a rise that counts as settled is no dip.
    """
    if excursion.at_restart or excursion.down:
        return None
    start, low = excursion.start, excursion.baseline
    last = excursion.recovery.last_seen if excursion.recovery.back is None else excursion.recovery.back
    since = segment.value[start : start + min(last + 1, thresholds.windows[-1] // 2)]
    if len(since) < thresholds.fewest_points:
        return None
    tried = 0
    for window in thresholds.windows:
        usual = segment.value[max(start - window, 0) : start]
        if len(usual) == tried:
            break  # all points before it have been tried
        tried = len(usual)
        dip = _dip(segment.value, start, since, low, median(usual), thresholds)
        # the level right before it is the better one to measure its length by
        dip = None if dip is None else _dip(segment.value, start, since, low, dip.level, thresholds)
        if dip is not None:
            clock = segment.clock_from(dip.begin)
            has_settled = int(clock[start - dip.begin] - clock[0]) >= recovery.settled_steps
            if start - dip.begin < recovery.settled_points or not has_settled:
                return int(segment.step[dip.begin])
    return None


class _Dip(NamedTuple):
    """The point with which a dip begins, and the level before it."""

    begin: int
    level: float


def _dip(
    value: FloatArray,
    start: int,
    since: FloatArray,
    low: float,
    usual: float,
    thresholds: DipReturnThresholds,
) -> _Dip | None:
    """The dip below a level, about, up to `start`, from which the loss has come back."""
    middle = (low + usual) / 2
    begin = _dip_start(value, start, middle, thresholds)
    if begin is None:
        return None
    first = begin - thresholds.lasted * (start - begin)
    before = value[first:begin]
    high, now = before[before > middle], since[since > middle]
    if len(high) < thresholds.high_share * len(before) or len(now) < thresholds.fewest_points:
        return None
    level = median(high)
    moved = abs(median(high[len(high) // 2 :]) - median(high[: len(high) // 2]))
    tolerance = thresholds.level_share * (level - low)
    if max(moved, abs(median(now) - level)) > tolerance:
        return None
    earlier = value[max(first - thresholds.windows[-1] // 2, 0) : first]
    if np.count_nonzero(earlier > middle) < thresholds.earlier_share * len(earlier):
        return None  # the level before was a rise itself
    return _Dip(begin, level)


def _dip_start(value: FloatArray, start: int, middle: float, thresholds: DipReturnThresholds) -> int | None:
    """The point since which the loss was below the middle before a rise at `start`; None where too few points
    are known before it."""
    size, lasted = thresholds.smoothed_points, thresholds.lasted
    longest = min(start // (lasted + 1), thresholds.windows[-1] // 2)
    first = max(start - longest - size, 0)
    inside = value[first:start]
    if len(inside) < size:
        return None
    above = np.flatnonzero(row_medians(sliding_window_view(inside, size)) >= middle)
    if not len(above):
        return None
    center = int(above[-1]) + size // 2
    near = slice(center, center + size)
    begin = first + center + 1 + int(np.flatnonzero(inside[near] >= middle)[-1:].sum())
    is_known = begin >= lasted * (start - begin)
    return begin if start - begin >= thresholds.fewest_points and is_known else None

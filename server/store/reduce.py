"""Reduces curves to what a screen can show: real points, every extreme among them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holter.server.store.pyramid import Buckets, regroup
from holter.server.store.values import Band, Segment
from holter.types import IntArray


def edges(first: int, last: int, bins: int) -> IntArray:
    """The first step of each bin, when [first, last] is cut into at most `bins` of equal width."""
    width = last - first + 1  # as Python's integers: may not fit into 64 bits
    return np.array([first + at * width // bins for at in range(bins)], dtype=np.int64)


def segment(attempt: int, *, ghost: bool, buckets: Buckets, bins: IntArray | None) -> Segment:
    """Buckets in the order of their steps as one piece of curve, reduced to one bucket a bin.

    `bins` are the first steps of the bins; None where nothing is to be reduced: then each bucket is a
    single point.
    """
    if bins is None:
        return Segment(
            attempt=attempt, ghost=ghost, step=buckets.low_step, time=buckets.low_time, value=buckets.low
        )
    starts = np.unique(np.searchsorted(buckets.step, bins))
    starts = starts[starts < len(buckets.step)]
    reduced = regroup(buckets, starts if starts[0] == 0 else np.concatenate(([0], starts)))
    step, time, value = _shown(reduced, buckets)
    return Segment(
        attempt=attempt,
        ghost=ghost,
        step=step,
        time=time,
        value=value,
        band=Band(step=reduced.step, minimum=reduced.low, maximum=reduced.high, mean=reduced.mean),
    )


def _shown(reduced: Buckets, buckets: Buckets) -> tuple[IntArray, NDArray[np.float64], NDArray[np.float64]]:
    """The extremes of all buckets, with the first and the last point, each once, in the order of steps."""
    ends = [0, -1]
    step = np.concatenate((reduced.low_step, reduced.high_step, buckets.low_step[ends]))
    time = np.concatenate((reduced.low_time, reduced.high_time, buckets.low_time[ends]))
    value = np.concatenate((reduced.low, reduced.high, buckets.low[ends]))
    step, once = np.unique(step, return_index=True)
    return step, time[once], value[once]

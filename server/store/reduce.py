"""Reduces curves to what a screen can show: real points, every extreme among them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holter.server.store.pyramid import Buckets, regroup
from holter.server.store.values import Band, Segment
from holter.types import IntArray


def bins_of(step: IntArray, first: int, last: int, bins: int) -> IntArray:
    """The bin of each step, when [first, last] is cut into `bins` of equal width."""
    # in floats: the width of a range of 64-bit steps may not fit into 64 bits itself
    share = (step.astype(np.float64) - first) / (float(last) - first + 1.0)
    return np.minimum((share * bins).astype(np.int64), bins - 1)


def segment(attempt: int, *, ghost: bool, buckets: Buckets, bins: IntArray | None) -> Segment:
    """Buckets in the order of their steps as one piece of curve, reduced to one bucket a bin.

    `bins` [n] is the bin of each bucket, ascending; None where nothing is to be reduced: then each
    bucket is a single point.
    """
    if bins is None:
        return Segment(
            attempt=attempt, ghost=ghost, step=buckets.low_step, time=buckets.low_time, value=buckets.low
        )
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    reduced = regroup(buckets, starts)
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

"""Reduces curves to what a screen can show: real points, every extreme among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holter.server.store.format.pyramid import Buckets, regroup
from holter.server.store.values import Band, Segment
from holter.types import FloatArray, IntArray

_MOST = np.iinfo(np.int64).max


def edges(first: int, last: int, bins: int) -> IntArray:
    """The first step of each bin, when [first, last] is cut into at most `bins` of equal width."""
    width = last - first + 1
    if width < _MOST // bins:
        return first + np.arange(bins) * width // bins
    # as Python's integers: these do not fit into 64 bits
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
    starts = np.searchsorted(buckets.step, bins)
    starts[0] = 0  # the curve may begin before the first bin does: no bucket is left out
    starts = starts[np.append(True, starts[1:] != starts[:-1]) & (starts < len(buckets.step))]
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


def _shown(reduced: Buckets, buckets: Buckets) -> tuple[IntArray, FloatArray, FloatArray]:
    """The extremes of all buckets, with the first and the last point, each once, in the order of steps."""
    rising = reduced.low_step <= reduced.high_step

    def column(low: NDArray[Any], high: NDArray[Any], whole: NDArray[Any]) -> NDArray[Any]:
        pairs = np.stack((np.where(rising, low, high), np.where(rising, high, low)), axis=1)
        return np.concatenate((whole[:1], pairs.reshape(-1), whole[-1:]))

    step = column(reduced.low_step, reduced.high_step, buckets.low_step)
    once = np.append(True, step[1:] != step[:-1])
    time = column(reduced.low_time, reduced.high_time, buckets.low_time)
    value = column(reduced.low, reduced.high, buckets.low)
    return step[once], time[once], value[once]

"""Noise and curves filtered in first order: autoregressive noise, exponentially smoothed losses."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def filtered(values: ArrayLike, *, decay: float, gain: float = 1.0, first: float = 0.0) -> Floats:
    """`y[i] = gain * x[i] + decay * y[i - 1]` of values [n], with `first` for `y[-1]`.

    The same as `scipy.signal.lfilter([gain], [1, -decay], values)`, which takes a second to import.
    """
    driven = (gain * np.asarray(values, np.float64)).tolist()
    filtered = accumulate(driven, lambda before, value: value + decay * before, initial=first)
    return np.array([*filtered][1:])

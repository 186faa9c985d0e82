"""Estimates of scale that a few outliers do not distort."""

from __future__ import annotations

import numpy as np

from holter.types import FloatArray

MAD_TO_SIGMA = 1.4826
"""The standard deviation of normal noise over its median absolute deviation (MAD)."""


def mad_sigma(values: FloatArray, center: float) -> float:
    """The standard deviation of values [n >= 1] around a center, estimated by their MAD."""
    return MAD_TO_SIGMA * float(np.median(np.abs(values - center)))

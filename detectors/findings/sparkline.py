"""Draws a curve in a line of text: block characters, one per group of points, extremes preserved."""

from __future__ import annotations

import numpy as np

from holter.types import FloatArray, IntArray

_BLOCKS = "▁▂▃▄▅▆▇█"
_NO_POINTS, _NOT_FINITE = " ", "✗"


def sparkline(positions: FloatArray, values: FloatArray, width: int, *, extremes: bool = True) -> str:
    """One character for each of `width` equal parts of the range of `positions` [n].

    A part shows its value that is farthest from the median of all values, so that a single spike stays
    visible; without `extremes` its median, for curves in which single pauses would hide the level. A part
    with NaN or an infinity shows a cross, a part without points a blank.
    """
    if not len(positions):
        return _NO_POINTS * width
    low, high = float(positions.min()), float(positions.max())
    column = np.minimum(((positions - low) / max(high - low, 1e-300) * width).astype(np.int64), width - 1)
    finite = np.isfinite(values)
    middle = float(np.median(values[finite])) if finite.any() else 0.0
    shown = np.full(width, np.nan)
    for part in np.unique(column[finite]).tolist():
        inside = values[(column == part) & finite]
        shown[part] = inside[np.argmax(np.abs(inside - middle))] if extremes else np.median(inside)
    characters = np.full(width, _NO_POINTS)
    known = np.isfinite(shown)
    characters[known] = np.array(list(_BLOCKS))[_levels(shown[known])]
    characters[np.unique(column[~finite])] = _NOT_FINITE
    return "".join(characters.tolist())


def _levels(values: FloatArray) -> IntArray:
    if not len(values):
        return np.empty(0, dtype=np.int64)
    bottom, top = float(values.min()), float(values.max())
    height = top / 2 - bottom / 2  # halves: two large numbers may differ by more than a float holds
    if height <= 0:
        return np.zeros(len(values), dtype=np.int64)
    share = (values / 2 - bottom / 2) / height
    return np.minimum((share * len(_BLOCKS)).astype(np.int64), len(_BLOCKS) - 1)

"""A curve in a line of text: block characters, one column for many points, extremes kept."""

from __future__ import annotations

import numpy as np

from holter.types import FloatArray, IntArray

_BLOCKS = "▁▂▃▄▅▆▇█"
_NOTHING, _NOT_FINITE = " ", "✗"


def sparkline(places: FloatArray, values: FloatArray, width: int, *, extremes: bool = True) -> str:
    """One character for each of `width` equal parts of the range of `places` [n].

    A part shows the value in it that is farthest from the median of all, so that a single spike stays
    visible, or else its own median, for curves whose single pauses would hide the level. A part with a
    NaN or an infinity shows a cross, a part without points a blank.
    """
    if not len(places):
        return _NOTHING * width
    low, high = float(places.min()), float(places.max())
    column = np.minimum(((places - low) / max(high - low, 1e-300) * width).astype(np.int64), width - 1)
    finite = np.isfinite(values)
    middle = float(np.median(values[finite])) if finite.any() else 0.0
    shown = np.full(width, np.nan)
    for part in np.unique(column[finite]).tolist():
        inside = values[(column == part) & finite]
        shown[part] = inside[np.argmax(np.abs(inside - middle))] if extremes else np.median(inside)
    marks = np.full(width, _NOTHING)
    known = np.isfinite(shown)
    marks[known] = np.array(list(_BLOCKS))[_levels(shown[known])]
    marks[np.unique(column[~finite])] = _NOT_FINITE
    return "".join(marks.tolist())


def _levels(values: FloatArray) -> IntArray:
    if not len(values):
        return np.empty(0, dtype=np.int64)
    bottom, top = float(values.min()), float(values.max())
    height = top / 2 - bottom / 2  # halves: two large numbers may differ by more than a float holds
    if height <= 0:
        return np.zeros(len(values), dtype=np.int64)
    share = (values / 2 - bottom / 2) / height
    return np.minimum((share * len(_BLOCKS)).astype(np.int64), len(_BLOCKS) - 1)

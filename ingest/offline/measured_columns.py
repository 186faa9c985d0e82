"""Recognises columns of measurements by their numbers, where the names of the columns state nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holter.ingest.offline.counted_lines import Cells, is_number

_MOST_COLUMNS = 16
LEAST_OF_NUMBERS = 10
"""Rows of numbers in a file that states nothing of what they are."""
LEAST_FRACTIONS = 0.9
"""Of these numbers that have one: whole numbers may be anything."""
_LEAST_DIFFERENT = 0.5
"""Of the numbers of a curve: what comes again and again is a category."""
_MOST_ROUGH = 0.5
"""By how much the ranks of a curve change from row to row, squared, for their variance: 2 in any order."""
_MOST_UNEVEN = 0.05
"""By how much distances that are the same differ, in parts of one: those of an axis, which are rounded."""


def are_measured(rows: Cells) -> bool:
    """Whether rows of numbers may be measurements of anything: enough of them, most with a fraction."""
    if len(rows) < LEAST_OF_NUMBERS or len(rows[0]) > _MOST_COLUMNS:
        return False
    cells = [cell for row in rows for cell in row if cell]
    return sum("." in cell for cell in cells) >= LEAST_FRACTIONS * len(cells)


def are_curves(rows: Cells) -> bool:
    """Whether measurements in columns, which may end before each other, are curves over the rows.

    Each column continues from the row before, as a training does: the records of a data set are in any order.
    One that goes up or down evenly is an axis, and the others are what is at its places, no training.
    """
    if not are_measured(rows):
        return False
    columns = [[row[at].strip() for row in rows if len(row) > at] for at in range(max(map(len, rows)))]
    return all(map(_is_curve, columns))


def _is_curve(column: Sequence[str]) -> bool:
    cells = [cell for cell in column if cell]
    if len(cells) < LEAST_OF_NUMBERS or not all(map(is_number, cells)):
        return False
    values = np.array([*map(float, cells)])
    values = values[np.isfinite(values)]
    if len(np.unique(values)) < max(LEAST_OF_NUMBERS, _LEAST_DIFFERENT * len(cells)):
        return False
    distances = np.diff(values)
    if np.ptp(distances) <= _MOST_UNEVEN * abs(distances.mean()):
        return False
    ranks = values.argsort(kind="stable").argsort()
    return bool(np.square(np.diff(ranks)).sum() <= _MOST_ROUGH * np.square(ranks - ranks.mean()).sum())

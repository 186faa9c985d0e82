"""How long steps take; and durations of which the name leaves open what they are of."""

from __future__ import annotations

import numpy as np

from holter.metric_units import unit_of_metric
from holter.roles import Role, role_of
from holter.types import Series

_FIRST_ROWS = 16
"""Rows from which on it is decided, by these rows alone, so that no later one changes it."""
_MOST_RISES = 0.75
"""Share. Times since the beginning rise from row to row, at most begun anew with each epoch. Of durations in
any order half of the distances rise; that 12 of 15 do has a probability of 1e-4 (the number of rises among n
numbers in random order has a mean of (n - 1) / 2 and a variance of (n + 1) / 12)."""
_SECONDS = {"ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "min": 60.0}


def is_duration_of_rows(series: Series) -> bool:
    """Whether a duration is of what lies between two rows, and not since the beginning; False while too few
    rows are known."""
    first = series.value[:_FIRST_ROWS]
    if len(first) < _FIRST_ROWS:
        return False
    return bool(np.mean(np.diff(first) > 0) < _MOST_RISES)


def seconds_of_step(series: Series) -> float | None:
    """How long a step takes at the beginning of a series of speed, in seconds; 0 where nothing shows it, None
    while too few rows are known.

    Durations show it, a step time that of one step and another one that of all steps since the row before;
    else wall times do.
    """
    first = slice(_FIRST_ROWS)
    if len(series) < _FIRST_ROWS:
        return None
    role = role_of(series.key)
    steps = np.maximum(np.diff(series.step[first]), 1)
    if role in (Role.STEP_TIME, Role.DURATION):
        unit = unit_of_metric(Role.STEP_TIME, series.key.metric)
        of_rows = series.value[first][1:] * _SECONDS.get(unit, 1.0)
        seconds = of_rows if role is Role.STEP_TIME else of_rows / steps
    else:
        seconds = np.diff(series.time[first]) / steps
    known = seconds[np.isfinite(seconds)]
    return float(np.median(known)) if len(known) else 0.0

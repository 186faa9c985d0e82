"""Rows of a log whose loss is missing: every step of the interval was skipped, so there was none to log."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from holter.metrics import Role, role_of
from holter.types import IntArray, RunData, Series

LASTING = 3
"""Rows in sequence: one skipped step, or two, is what loss scaling does all the time."""
_BESIDE = (Role.LEARNING_RATE, Role.LOSS_SCALE, Role.GRAD_NORM)
"""What the training loop logs by the same call as its loss, the surest first."""
_KNOWN, _MEMORY = 64, 1024
"""Rows before which the loss's share of them is not known, and rows that it is measured on."""
_SHARE = 0.95
"""A loss that is logged more rarely than in so many rows is sparse, and misses none."""
_CHANCE = 1e-6


def absences(run: RunData, attempt: int) -> Iterator[tuple[IntArray, IntArray, int]]:
    """Stretches of an attempt's rows without a loss, where nearly every row before had one.

    Each as the rows' steps [n], the indices of the stretch in them, and how many of those suffice to tell:
    of the short ones more than there are.
    """
    rows = _rows(run, attempt)
    missing = ~np.isin(rows, _logged(run, attempt))
    edges = np.flatnonzero(np.diff(np.concatenate(([False], missing, [False])).astype(np.int8)))
    total = np.concatenate(([0], np.cumsum(missing)))
    for first, after in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        known = min(first, _MEMORY)
        share = (int(total[first] - total[first - known]) + 1) / (known + 2)
        if known < _KNOWN or share > 1 - _SHARE:
            continue
        enough = max(LASTING, int(np.ceil(np.log(_CHANCE) / np.log(share))))
        yield rows, np.arange(first, after), enough


def _rows(run: RunData, attempt: int) -> IntArray:
    """The steps at which the training loop logged something beside its loss."""
    for role in _BESIDE:
        for key in sorted(run.series):
            if role_of(key) is role and not key.labels:
                return _steps(run.series[key], attempt)
    return np.empty(0, dtype=np.int64)


def _logged(run: RunData, attempt: int) -> IntArray:
    """The steps at which any training loss was logged, that of a single dataset too."""
    losses = [s for key, s in run.series.items() if role_of(key) in (Role.LOSS, Role.DATASET_LOSS)]
    steps = [_steps(series, attempt) for series in losses]
    return np.concatenate(steps) if steps else np.empty(0, dtype=np.int64)


def _steps(series: Series, attempt: int) -> IntArray:
    return series.step[slice(*np.searchsorted(series.attempt, (attempt, attempt + 1)))]

"""What training leaves: the columns of each attempt and of the fault-free twin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laboratory.lists import LogHabit
from laboratory.plan import RunPlan

Values = NDArray[np.float64]
Columns = Mapping[str, Values]
"""Columns [n] of one attempt by name: step, loss, grad_norm, rate, batch_size, and loss/NAME by dataset."""

AVERAGED = ("loss", "grad_norm", "step_time", "tokens_per_s")
"""Beginnings of the names of columns of which a habit may write means."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Recording:
    """The steps of a run. `twin`: those of the same seed without the fault; for runs without one, the same.

    `probe` [n, 2]: (step, loss on examples that are never trained on) of the twin.
    """

    plan: RunPlan
    attempts: tuple[Columns, ...]
    twin: Columns
    probe: Values


def logged(columns: Columns, habit: LogHabit) -> dict[str, Values]:
    """The rows of one attempt that a habit writes: of every n-th step, or means since the row before."""
    step = columns["step"]
    rows = np.flatnonzero((step + 1) % habit.every == 0)
    rows = rows if len(rows) else np.array([len(step) - 1])
    if not habit.mean:
        return {name: values[rows] for name, values in columns.items()}
    starts = np.concatenate(([0], rows[:-1] + 1))
    return {
        name: _means(values, starts, rows) if name.startswith(AVERAGED) else values[rows]
        for name, values in columns.items()
    }


def _means(values: Values, starts: NDArray[np.int64], rows: NDArray[np.int64]) -> Values:
    return np.array([values[first : last + 1].mean() for first, last in zip(starts, rows, strict=True)])

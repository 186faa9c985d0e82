"""The unit of steps: how many steps of a log are one optimizer step.

Limits of detectors are in optimizer steps. Most logs count these, and a row stands for all steps since the
row before: an increment of 500 is an interval of logging. Others count samples or tokens: there an optimizer
step is as long as the run's own increment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.thresholds import Thresholds
from holter.types import IntArray, Series


@dataclass(frozen=True, kw_only=True)
class StepUnitThresholds(Thresholds):
    """When the steps of a log count samples or tokens."""

    increments: int = 16
    """Increments at the beginning of a series whose median is its usual one."""
    longest_interval: int = 1000
    """Steps. People log every optimizer step up to every thousandth; a larger increment counts something
    else, or is all that anybody sees of the run."""
    smallest_batch: int = 32
    """Samples. A smaller increment is an interval of logging, whatever number it is."""
    round_multiple: int = 5
    """An interval of logging that is longer than the smallest batch is a multiple of this: people choose 50,
    100, 250 or 500. Batches are powers of two and their multiples."""


_THRESHOLDS = StepUnitThresholds()


def step_unit(series: Series, thresholds: StepUnitThresholds = _THRESHOLDS) -> int:
    """How many steps of a series' log are one optimizer step: 1 where it counts optimizer steps.

    It rests on the first rows alone, so that it does not change as a run continues.
    """
    rows, increments = 2 * thresholds.increments, _increments(series, 2 * thresholds.increments)
    while len(increments) < thresholds.increments and rows < len(series):
        rows *= 4
        increments = _increments(series, rows)
    usual = int(np.median(increments[: thresholds.increments])) if len(increments) else 1
    if usual > thresholds.longest_interval:
        return usual
    is_interval = usual < thresholds.smallest_batch or usual % thresholds.round_multiple == 0
    return 1 if is_interval else usual


def _increments(series: Series, rows: int) -> IntArray:
    """The increments from row to row within the attempts of the first `rows` rows."""
    increments: IntArray = np.diff(series.step[:rows])[np.diff(series.attempt[:rows]) == 0]
    return increments

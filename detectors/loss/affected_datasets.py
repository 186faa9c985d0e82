"""Scope: which of several series a rise of the loss belongs to: one dataset alone, or all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.positions import rows_up_to, values_before
from holter.types import FloatArray, IntArray, Labels, Series, labels_of

_BEFORE = 64
_FEWEST = 8
_CLEAR = 4.0
"""Standard errors that the one dataset must stand out by."""
_SHARE = 0.3
"""The other datasets rise by less than this share of it."""
_WAIT = 3
"""Points to wait for the other datasets to be sampled, before a rise is taken for one of them all."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Scope:
    """The dataset that rose alone, None for all of them; `seen` counts the points it took to tell."""

    alone: Series | None
    seen: int


def scope_of(datasets: list[Series], attempt: int, start_step: int, steps: IntArray) -> Scope | None:
    """Whether a rise belongs to one dataset. `steps` [n] are those of the series in which it was seen,
    from the point on at which it was; None while it cannot be told yet."""
    if len(datasets) < 2:
        return Scope(alone=None, seen=0)
    for seen, step in enumerate(steps[:_WAIT].tolist()):
        rises = [_rise(series, attempt, start_step, step) for series in datasets]
        known = [(rise[0], rise[1], number) for number, rise in enumerate(rises) if rise is not None]
        if len(known) == len(datasets):
            highest, error, number = max(known)
            calm = sorted(rise for rise, _, _ in known)[-2] < _SHARE * highest
            return Scope(alone=datasets[number] if calm and highest > _CLEAR * error else None, seen=seen)
    return Scope(alone=None, seen=_WAIT - 1) if len(steps) >= _WAIT else None


def _rise(series: Series, attempt: int, start_step: int, seen_step: int) -> tuple[float, float] | None:
    """How far a dataset's loss rose on average, and the standard error of that."""
    rows = slice(rows_up_to(series, (attempt, start_step - 1)), rows_up_to(series, (attempt, seen_step)))
    values: FloatArray = series.value[rows]
    values = values[np.isfinite(values)]
    before = values_before(series, attempt, start_step, _BEFORE)
    if len(before) < _FEWEST or not len(values):
        return None
    level = float(np.median(before))
    noise = 1.4826 * float(np.median(np.abs(before - level))) + 1e-3 * abs(level)
    return float(np.mean(values)) - level, noise / float(np.sqrt(len(values)))


def dataset_labels(series: Series) -> Labels:
    """The labels of a dataset's series, with the dataset by name: where no label says so, the metric does."""
    labels = dict(series.key.labels)
    labels.setdefault("dataset", series.key.metric.rsplit("/", 1)[-1])
    return labels_of(labels)

"""How much work a step is: a planned change of batch or sequence length is no slow-down."""

from __future__ import annotations

import re

import numpy as np

from holter.metrics import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series

_AGREE = 5
"""So many points in a row must agree on another amount of work before it is believed."""
_DIFFERENT, _SAME = 0.15, 0.08
_COUNTED = re.compile(r"flop|step|it/s|batches", re.IGNORECASE)


def work_per_step(run: RunData, series: Series) -> IntArray:
    """Number of the regime each point of `series` belongs to: equal numbers, equal work per step.

    Work is the logged batch size, or else tokens (samples) per second times the seconds the step took
    by the wall clock; where neither is known, everything is one regime. Rests on earlier points only.
    """
    known = _batch_size(run)
    if known is None:
        known = _tokens(run)
    if known is None:
        return np.zeros(len(series), dtype=np.int64)
    source, work = known
    regime = _regimes(work)
    where = np.searchsorted(_place(source), _place(series), side="right") - 1
    return np.where(where < 0, 0, regime[np.maximum(where, 0)])


def _place(series: Series) -> FloatArray:
    """One sortable number per point: attempts in order, steps within."""
    width = float(series.step.max() - series.step.min() + 1) if len(series) else 1.0
    return np.asarray(series.attempt * max(width, 1e9) + series.step, dtype=np.float64)


def _batch_size(run: RunData) -> tuple[Series, FloatArray] | None:
    keys = [key for key in sorted(run.series) if role_of(key) is Role.BATCH_SIZE and len(run.series[key])]
    if not keys:
        return None
    series = run.series[keys[0]]
    return series, series.value


def _tokens(run: RunData) -> tuple[Series, FloatArray] | None:
    for key in sorted(run.series):
        series = run.series[key]
        is_rate = role_of(key) is Role.THROUGHPUT and not _COUNTED.search(key.metric)
        if is_rate and len(series) > _AGREE and not any(name == "rank" for name, _ in key.labels):
            seconds = np.diff(series.time, prepend=np.nan)
            steps = np.diff(series.step, prepend=0)
            within = np.diff(series.attempt, prepend=-1) == 0
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                return series, np.where(within, series.value * seconds / steps, np.nan)
    return None


def _regimes(work: FloatArray) -> IntArray:
    """Numbers the amounts of work in the order in which they first appear."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(np.isfinite(work) & (work > 0), np.log(np.abs(work)), np.nan)
    logged = np.flatnonzero(np.isfinite(size))
    regime = np.zeros(len(work), dtype=np.int64)
    if len(logged) < _AGREE:
        return regime
    known_size, many = size[logged], len(logged) - _AGREE + 1
    shifted = [known_size[begin : begin + many] for begin in range(_AGREE)]
    low, high = np.minimum.reduce(shifted), np.maximum.reduce(shifted)
    agreed = high - low < _SAME
    places, levels = logged[_AGREE - 1 :][agreed], 0.5 * (low + high)[agreed]
    known: list[float] = []
    at = 0
    while at < len(places):
        current = float(levels[at])
        number = next((n for n, one in enumerate(known) if abs(one - current) < _DIFFERENT), len(known))
        if number == len(known):
            known.append(current)
        regime[places[at] :] = number
        # on to the first place that agrees on something else
        other = np.flatnonzero(np.abs(levels[at:] - known[number]) > _DIFFERENT)
        at = at + int(other[0]) if len(other) else len(places)
    return regime

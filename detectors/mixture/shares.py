"""Shares: how much of each dataset a total loss is made of, worked out where nobody logs it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.metrics import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series

_TRUST = 1e-3
"""Weight of what the shares were before, against what the losses say: decides what they leave open."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Parts:
    """A total loss [n] and the losses of its datasets [n, k], at rows at which all of them were logged."""

    series: Series
    names: tuple[str, ...]
    attempt: IntArray
    step: IntArray
    total: FloatArray
    parts: FloatArray
    logged: FloatArray | None
    """The shares as logged [n, k], None where not those of all datasets were."""


def parts_of(run: RunData) -> Parts | None:
    """The run's loss and those of its datasets; None with fewer than two of these."""
    keys = [key for key in sorted(run.series) if not any(name == "rank" for name, _ in key.labels)]
    total = next((run.series[key] for key in keys if role_of(key) is Role.LOSS), None)
    parts = {_dataset(run.series[key]): run.series[key] for key in keys if role_of(key) is Role.DATASET_LOSS}
    if total is None or len(parts) < 2:
        return None
    places = _places(total)
    rows = np.flatnonzero(np.isfinite(total.value))
    at: dict[str, IntArray] = {}
    for name, one in parts.items():
        own = _rows_at(_places(one), places[rows])
        there = (own >= 0) & np.isfinite(_pick(one.value, np.maximum(own, 0)))
        rows, at = rows[there], {other: index[there] for other, index in (at | {name: own}).items()}
    mixed = {_dataset(run.series[key]): run.series[key] for key in keys if role_of(key) is Role.MIXTURE}
    shares = [_latest(mixed[name], places[rows]) for name in parts if name in mixed]
    return Parts(
        series=total,
        names=tuple(parts),
        attempt=total.attempt[rows],
        step=total.step[rows],
        total=np.clip(total.value[rows], -1e12, 1e12),
        parts=np.stack([np.clip(one.value[at[name]], -1e12, 1e12) for name, one in parts.items()], axis=1),
        logged=_normal(np.stack(shares, axis=1)) if len(shares) == len(parts) else None,
    )


def _dataset(series: Series) -> str:
    return dict(series.key.labels).get("dataset") or series.key.metric.rsplit("/", 1)[-1]


def _places(series: Series) -> IntArray:
    """One number a row: attempts in order, steps within."""
    places: IntArray = series.attempt * 2**40 + np.clip(series.step, -(2**39), 2**39 - 1)
    return places


def _rows_at(places: IntArray, wanted: IntArray) -> IntArray:
    """The row at each of some places, -1 where there is none."""
    if np.array_equal(places, wanted):
        return np.arange(len(places))
    rows = np.minimum(np.searchsorted(places, wanted), max(len(places) - 1, 0))
    there = places[rows] == wanted if len(places) else np.zeros(len(wanted), dtype=bool)
    return np.where(there, rows, -1)


def _pick(value: FloatArray, index: IntArray) -> FloatArray:
    return value[index] if len(value) else np.full(len(index), np.nan)


def _latest(series: Series, places: IntArray) -> FloatArray:
    at = np.searchsorted(_places(series), places, side="right") - 1
    known = _pick(series.value, np.maximum(at, 0))
    return np.where(at >= 0, known, np.nan)


def _normal(shares: FloatArray) -> FloatArray:
    total = shares.sum(axis=1, keepdims=True)
    normal: FloatArray = shares / np.where(total > 0, total, np.nan)
    return normal


def fitted(total: FloatArray, parts: FloatArray, before: FloatArray) -> FloatArray:
    """The shares [k] by which losses of datasets [n, k] best add up to a total [n], together 1.

    Least squares; what these rows leave open stays as it was in `before` [k].
    """
    rest = total - parts @ before
    # shares move against each other: what one gains, the others lose
    centred = parts - parts.mean(axis=1, keepdims=True)
    square = centred.T @ centred
    trust = _TRUST * float(np.trace(square)) / len(before) + 1e-300
    moved: FloatArray = np.linalg.solve(square + trust * np.eye(len(before)), centred.T @ rest)
    shares: FloatArray = before + moved - moved.mean()
    return shares

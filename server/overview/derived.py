"""Curves that are worked out and not stored, thinned to what a screen can show: every extreme stays."""

from __future__ import annotations

from typing import Any

import numpy as np

from holter.report.excerpt import Stretch, between
from holter.server.keeping.sieve import sieve
from holter.server.store.format.block import Points
from holter.types import Series

_STAY = 4  # of each bucket: the first, the last, the lowest, the highest


def stretches(series: Series, points: int) -> list[dict[str, Any]]:
    """A curve's stretches, attempt by attempt, superseded ones apart, of about so many points together.

    Points without a value are left out: nothing is known there.
    """
    if not len(series):
        return []
    drawn = between(series, int(series.step.min()), int(series.step.max())).stretches
    known = [(one, np.isfinite(one.value)) for one in drawn]
    many = sum(int(np.count_nonzero(there)) for _, there in known)
    bucket = max(1, -(-_STAY * many // points))
    return [_thinned(one, there, bucket) for one, there in known if there.any()]


def _thinned(one: Stretch, there: np.ndarray[Any, np.dtype[np.bool_]], bucket: int) -> dict[str, Any]:
    step, value = one.step[there], one.value[there]
    if bucket > _STAY:
        clock = np.full(len(step), np.nan)
        stay = sieve(Points(step, clock, value), bucket, np.zeros(len(step), dtype=bool))
        step, value = step[stay], value[stay]
    return {"attempt": one.attempt, "ghost": one.ghost, "step": step.tolist(), "value": value.tolist()}

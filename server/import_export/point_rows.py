"""Points in long form, one per row, as files contain them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from holter.types import FloatArray, IntArray, Series, SeriesKey, labels_of

PIECE_POINTS = 262_144
"""Approximate number of points in memory at a time."""


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class PointRows:
    """Points, one per row; `key_index` [n] is the index of each one's series in `keys`. Times are NaN without
    a clock.
    """

    keys: list[SeriesKey]
    key_index: IntArray
    attempt: IntArray
    step: IntArray
    time: FloatArray
    value: FloatArray


@lru_cache(maxsize=100_000)
def parse_key(metric: str, labels: str) -> SeriesKey:
    """Return a series by its metric and its labels as a JSON object, empty for none. Raises ValueError."""
    if labels in ("", "{}"):
        return SeriesKey(metric)
    try:
        return SeriesKey(metric, labels_of(msgspec.json.decode(labels, type=dict[str, str | int | float])))
    except msgspec.DecodeError as error:
        raise ValueError(
            f"labels {labels!r}: expected a JSON object of names and values ({error})"
        ) from error


@dataclass(frozen=True, eq=False, slots=True)
class SeriesPiece:
    """Points of one series in a range of steps; `superseded` [n] are those that a newer attempt repeated."""

    series: Series
    superseded: NDArray[np.bool_]

"""Points in long form, as files have them, and the batches that they become."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import msgspec
import numpy as np

from holter.server.store.format.chunk import digest
from holter.types import Batch, Column, FloatArray, IntArray, SeriesKey, labels_of


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Rows:
    """Points, one a row; `which` [n] says which of `keys` each belongs to. Times are NaN without a clock."""

    keys: list[SeriesKey]
    which: IntArray
    attempt: IntArray
    step: IntArray
    time: FloatArray
    value: FloatArray


@lru_cache(maxsize=100_000)
def key_from(metric: str, labels: str) -> SeriesKey:
    """A series by its metric and its labels as a JSON object, empty for none. Raises ValueError."""
    if labels in ("", "{}"):
        return SeriesKey(metric)
    try:
        return SeriesKey(metric, labels_of(msgspec.json.decode(labels, type=dict[str, str | int | float])))
    except msgspec.DecodeError as error:
        raise ValueError(
            f"labels {labels!r}: expected a JSON object of names and values ({error})"
        ) from error


def batches(rows: Rows) -> Iterator[tuple[int, Batch]]:
    """The points as batches, one for each attempt; series that were logged together share its rows."""
    if not len(rows.step):
        return
    order = np.lexsort((rows.which, rows.attempt))
    which, attempt = rows.which[order], rows.attempt[order]
    new = (which[1:] != which[:-1]) | (attempt[1:] != attempt[:-1])
    bounds = [0, *(np.flatnonzero(new) + 1).tolist(), len(order)]
    held: dict[int, list[tuple[SeriesKey, IntArray]]] = {}
    for start, stop in pairwise(bounds):
        held.setdefault(int(attempt[start]), []).append((rows.keys[int(which[start])], order[start:stop]))
    for number, columns in held.items():
        yield number, _batch(rows, number, columns)


def _batch(rows: Rows, attempt: int, columns: list[tuple[SeriesKey, IntArray]]) -> Batch:
    places: dict[bytes, int] = {}
    clocks: list[IntArray] = []
    size = 0
    begins = []
    for _, at in columns:
        clock = digest(rows.step[at], rows.time[at])
        if clock not in places:
            places[clock] = size
            clocks.append(at)
            size += len(at)
        begins.append(places[clock])
    everything = np.concatenate(clocks)
    return Batch(
        steps=rows.step[everything],
        times=rows.time[everything],
        columns=tuple(
            Column(
                key=key,
                values=rows.value[at],
                rows=None if len(at) == size else np.arange(begin, begin + len(at), dtype=np.int64),
            )
            for (key, at), begin in zip(columns, begins, strict=True)
        ),
        attempt=str(attempt),
    )

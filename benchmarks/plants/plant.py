"""A run with a fault planted in it, and what should be said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from holter.types import Finding, FloatArray, Kind, RunData, Series, SeriesKey

Random = np.random.Generator
BEGIN = 1.7e9
"""The clock's first second, of the epoch."""


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A run, and its fault: `kinds` are those that see it (none: nothing may be said), `at` the step of
    `attempt` at which it begins, `late` (`early`) the steps after (before) it within which it must have
    been placed, ten logged points at least before it, `spacing` the steps of a logged point. `is_right`
    asks a finding that saw it for what it should know of it."""

    run: RunData
    kinds: frozenset[Kind] = frozenset()
    at: int = 0
    attempt: int = 0
    late: int = 0
    early: int = 20
    spacing: int = 1
    is_right: Callable[[Finding], bool] = lambda finding: True


Make = Callable[[Random, float, str], Planted]
"""Draws a run from a random state, the size of the fault and the name of the noise."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One kind of fault in some sizes, by name, under several kinds of noise."""

    make: Make
    sizes: Mapping[str, float]
    noises: tuple[str, ...]


def series(
    metric: str,
    value: ArrayLike,
    step: ArrayLike,
    *,
    attempt: ArrayLike = 0,
    seconds: ArrayLike | None = None,
    **labels: str,
) -> Series:
    """A series whose clock says `seconds` since the run began, or two for each step."""
    values, steps = np.asarray(value, dtype=np.float64), np.asarray(step, dtype=np.int64)
    since: FloatArray = 2.0 * steps if seconds is None else np.asarray(seconds, dtype=np.float64)
    return Series(
        key=SeriesKey(metric, tuple(sorted(labels.items()))),
        attempt=np.array(np.broadcast_to(np.asarray(attempt, dtype=np.int64), len(steps))),
        step=steps,
        time=BEGIN + since,
        value=values,
    )


def run_of(*several: Series) -> RunData:
    """A run of these series."""
    return RunData(series={one.key: one for one in several})


def drawn(random: Random, *among: int) -> int:
    """One of these numbers."""
    return int(random.choice(among))


def means(value: FloatArray, count: int) -> FloatArray:
    """The mean of every so many values, over the first axis; what is left over at the end is dropped."""
    whole = value[: len(value) // count * count]
    return np.asarray(whole.reshape(-1, count, *value.shape[1:]).mean(axis=1))

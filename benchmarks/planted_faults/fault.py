"""A simulated run with a planted fault, and the finding that is expected for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from holter.types import Finding, FloatArray, Kind, RunData, Series, SeriesKey

Random = np.random.Generator
START_TIME = 1.7e9
"""The wall time of the first step, in seconds since the epoch."""


@dataclass(frozen=True, kw_only=True)
class PlantedRun:
    """A run and its fault.

    `kinds` are the kinds of findings that detect it (empty: a healthy run, no findings expected), `onset` is
    the step of `attempt` at which the fault begins, `spacing` the number of steps per logged point. A finding
    matches if it begins at most `max_delay` steps after or `max_lead` steps (at least ten logged points)
    before the onset. `is_right` checks the details of a matching finding.
    """

    run: RunData
    kinds: frozenset[Kind] = frozenset()
    onset: int = 0
    attempt: int = 0
    max_delay: int = 0
    max_lead: int = 20
    spacing: int = 1
    is_right: Callable[[Finding], bool] = lambda finding: True

    @property
    def tolerance(self) -> int:
        """How many steps before the onset a finding may begin."""
        return max(10 * self.spacing, self.max_lead)


RunFactory = Callable[[Random, float, str], PlantedRun]
"""Builds a run from a random generator, the size of the fault and the name of the noise."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A kind of fault: how its runs are built, its sizes by name, and the names of the kinds of noise."""

    make: RunFactory
    sizes: Mapping[str, float]
    noises: tuple[str, ...]


def build_series(
    metric: str,
    value: ArrayLike,
    step: ArrayLike,
    *,
    attempt: ArrayLike = 0,
    seconds: ArrayLike | None = None,
    **labels: str,
) -> Series:
    """A series; `seconds` are its times since the start of the run (default: two seconds per step)."""
    values, steps = np.asarray(value, dtype=np.float64), np.asarray(step, dtype=np.int64)
    elapsed: FloatArray = 2.0 * steps if seconds is None else np.asarray(seconds, dtype=np.float64)
    return Series(
        key=SeriesKey(metric, tuple(sorted(labels.items()))),
        attempt=np.array(np.broadcast_to(np.asarray(attempt, dtype=np.int64), len(steps))),
        step=steps,
        time=START_TIME + elapsed,
        value=values,
    )


def build_run(*series: Series) -> RunData:
    """A run that consists of these series."""
    return RunData(series={each.key: each for each in series})


def choose(random: Random, *numbers: int) -> int:
    """One of these numbers at random."""
    return int(random.choice(numbers))


def block_means(value: FloatArray, count: int) -> FloatArray:
    """The means of blocks of `count` values along the first axis; an incomplete last block is dropped."""
    complete = value[: len(value) // count * count]
    return np.asarray(complete.reshape(-1, count, *value.shape[1:]).mean(axis=1))

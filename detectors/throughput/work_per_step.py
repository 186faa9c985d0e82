"""How much work a step is: a planned change of batch or sequence length is no slow-down."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.positions import Position, position_of
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series

_AGREE = 5
"""So many points in a row must agree on another amount of work before it is believed."""
_DIFFERENT, _SAME = 0.15, 0.08
_COUNTED = re.compile(r"flop|step|it/s|batches", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class WorkRegimes:
    """Amounts of work in the order in which they first appeared, and where which one of them began.

    `latest` are the logarithms of the last few amounts that were logged.
    """

    known: tuple[float, ...] = ()
    changes: tuple[tuple[Position, int], ...] = ()
    latest: tuple[float, ...] = ()

    def at(self, series: Series, rows: slice) -> IntArray:
        """The number of the regime at some rows of a series, from what was known there."""
        attempt, step = series.attempt[rows], series.step[rows]
        regime = np.zeros(len(step), dtype=np.int64)
        if not len(step):
            return regime
        begun = bisect_right(self.changes, position_of(series, rows.start), key=lambda change: change[0])
        for (since, from_step), number in self.changes[max(begun - 1, 0) :]:
            regime[(attempt > since) | ((attempt == since) & (step >= from_step))] = number
        return regime

    def and_then(self, amounts: FloatArray, series: Series, first: int) -> WorkRegimes:
        """With the amounts of work [n] at the rows from `first` on."""
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.where(np.isfinite(amounts) & (amounts > 0), np.log(np.abs(amounts)), np.nan)
        logged = np.flatnonzero(np.isfinite(size))
        sizes = np.concatenate((self.latest, size[logged]))
        latest = tuple(sizes[1 - _AGREE :].tolist())
        many = len(sizes) - _AGREE + 1
        if many <= 0 or not len(logged):
            return WorkRegimes(known=self.known, changes=self.changes, latest=latest)
        shifted = [sizes[begin : begin + many] for begin in range(_AGREE)]
        low, high = np.minimum.reduce(shifted), np.maximum.reduce(shifted)
        agreed = high - low < _SAME
        rows, levels = first + logged[-many:][agreed], 0.5 * (low + high)[agreed]
        return self._with(series, rows, levels, latest)

    def _with(
        self, series: Series, rows: IntArray, levels: FloatArray, latest: tuple[float, ...]
    ) -> WorkRegimes:
        known, changes, at = list(self.known), list(self.changes), 0
        while at < len(rows):
            if changes:
                # on to the first place that agrees on something else
                other = np.flatnonzero(np.abs(levels[at:] - known[changes[-1][1]]) > _DIFFERENT)
                if not len(other):
                    break
                at += int(other[0])
            level = float(levels[at])
            number = next((n for n, one in enumerate(known) if abs(one - level) < _DIFFERENT), len(known))
            if number == len(known):
                known.append(level)
            changes.append((position_of(series, int(rows[at])), number))
            at += 1
        return WorkRegimes(known=tuple(known), changes=tuple(changes), latest=latest)


def work_series(run: RunData) -> Series | None:
    """The series that tells how much work a step is: the batch size, or else how many tokens (samples) a
    second; None where neither is logged."""
    keys = [key for key in sorted(run.series) if role_of(key) is Role.BATCH_SIZE and len(run.series[key])]
    for key in keys:
        return run.series[key]
    for key in sorted(run.series):
        is_rate = role_of(key) is Role.THROUGHPUT and not _COUNTED.search(key.metric)
        if is_rate and len(run.series[key]) > _AGREE and not any(name == "rank" for name, _ in key.labels):
            return run.series[key]
    return None


def find_work_regimes(source: Series, state: IncrementalState) -> WorkRegimes:
    """The amounts of work per step, and when they changed. Each change rests on earlier points only.

    Work is the logged batch size, or else tokens (samples) per second times the seconds the step took
    by the wall clock.
    """
    checkpoints: ScanCheckpoints[WorkRegimes] = state.checkpoints(("work", source.key), [source])
    checkpoint = checkpoints.latest([source]) or Checkpoint(WorkRegimes(), (0,))
    (first,) = checkpoint.rows
    if first == len(source):
        return checkpoint.state
    regimes = checkpoint.state.and_then(_amounts(source, first), source, first)
    checkpoints.save(Checkpoint(regimes, (len(source),)))
    return regimes


def _amounts(source: Series, first: int) -> FloatArray:
    """Work per step at the rows from `first` on; NaN where it cannot be told."""
    if role_of(source.key) is Role.BATCH_SIZE:
        return source.value[first:]
    since = max(first - 1, 0)
    seconds, steps = np.diff(source.time[since:]), np.diff(source.step[since:])
    within = np.diff(source.attempt[since:]) == 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        amounts = np.where(within, source.value[since + 1 :] * seconds / steps, np.nan)
    return amounts if first else np.concatenate(([np.nan], amounts))

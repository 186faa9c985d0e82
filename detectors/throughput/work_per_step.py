"""Work per step: finds planned changes of batch or sequence length, which are no slow-downs."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.positions import Position, position_of
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series, SeriesKey


@dataclass(frozen=True, kw_only=True)
class WorkThresholds(Thresholds):
    """When the amount of work per step counts as changed."""

    agreeing_points: int = 5
    """Points in a row that must agree on another amount of work."""
    different: float = 0.15
    """Logarithm of a ratio. Amounts further apart are different regimes."""
    same: float = 0.08
    """Logarithm of a ratio. Points within this range agree."""


_LOGGED_WORK = (Role.BATCH_SIZE, Role.SEQUENCE_LENGTH)
_INPUT_SIZE = re.compile(
    r"(^|[/_.-])((image|img|input|crop|patch)_?(size|res)|([a-z]+_)?resolution|num_frames"
    r"|(clip|audio|segment)_?(len|length|seconds|duration))($|[/_.-])",
    re.IGNORECASE,
)
"""Names of the size of an input: pixels, frames and seconds are work as the length of a sequence is."""
_MOST_REGIMES = 2**20
"""Amounts of work of one series, at most, so that those of two series make one number."""
_NOT_WORK = re.compile(r"flop|step|it/s|batches", re.IGNORECASE)
"""Rates that do not count tokens or samples."""


@dataclass(frozen=True, kw_only=True)
class WorkRegimes:
    """Amounts of work in the order of their first appearance, and the position where each began.

    `changes` are positions with the number of the amount from there on; `latest` are the logarithms of the
    last few amounts that were logged.
    """

    known: tuple[float, ...] = ()
    changes: tuple[tuple[Position, int], ...] = ()
    latest: tuple[float, ...] = ()

    def at(self, series: Series, rows: slice) -> IntArray:
        """The number of the regime at some rows of a series, by what was known there."""
        attempt, step = series.attempt[rows], series.step[rows]
        regime = np.zeros(len(step), dtype=np.int64)
        if not len(step):
            return regime
        begun = bisect_right(self.changes, position_of(series, rows.start), key=lambda change: change[0])
        for (since, from_step), number in self.changes[max(begun - 1, 0) :]:
            regime[(attempt > since) | ((attempt == since) & (step >= from_step))] = number
        return regime

    def after(self, amounts: FloatArray, series: Series, first: int, limits: WorkThresholds) -> WorkRegimes:
        """The regimes after the amounts of work [n] at the rows from `first` on."""
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.where(np.isfinite(amounts) & (amounts > 0), np.log(np.abs(amounts)), np.nan)
        points = limits.agreeing_points
        logged = np.flatnonzero(np.isfinite(size))
        sizes = np.concatenate((self.latest, size[logged]))
        latest = tuple(sizes[1 - points :].tolist())
        windows = len(sizes) - points + 1
        if windows <= 0 or not len(logged):
            return WorkRegimes(known=self.known, changes=self.changes, latest=latest)
        shifted = [sizes[begin : begin + windows] for begin in range(points)]
        low, high = np.minimum.reduce(shifted), np.maximum.reduce(shifted)
        agreed = high - low < limits.same
        rows, levels = first + logged[-windows:][agreed], 0.5 * (low + high)[agreed]
        return self._with_changes(series, rows, levels, latest, limits)

    def _with_changes(
        self,
        series: Series,
        rows: IntArray,
        levels: FloatArray,
        latest: tuple[float, ...],
        limits: WorkThresholds,
    ) -> WorkRegimes:
        known, changes, index = list(self.known), list(self.changes), 0
        while index < len(rows):
            if changes:
                # skip to the first row that agrees on another amount
                distance = np.abs(levels[index:] - known[changes[-1][1]])
                other = np.flatnonzero(distance > limits.different)
                if not len(other):
                    break
                index += int(other[0])
            level = float(levels[index])
            same = (n for n, amount in enumerate(known) if abs(amount - level) < limits.different)
            number = next(same, len(known))
            if number == len(known):
                known.append(level)
            changes.append((position_of(series, int(rows[index])), number))
            index += 1
        return WorkRegimes(known=tuple(known), changes=tuple(changes), latest=latest)


def is_input_size(key: SeriesKey) -> bool:
    """Whether a series is named as the size of an input."""
    return role_of(key) is Role.OTHER and _INPUT_SIZE.search(key.metric) is not None


def work_series(run: RunData, limits: WorkThresholds) -> list[Series]:
    """The series of the work per step: batch and size of the inputs, or else tokens (samples) a second."""
    known = [key for key in sorted(run.series) if len(run.series[key])]
    kinds = [[key for key in known if role_of(key) is role] for role in _LOGGED_WORK]
    kinds += [[key for key in known if is_input_size(key)]]
    logged = [run.series[keys[0]] for keys in kinds if keys]
    if logged:
        return logged
    for key in sorted(run.series):
        is_rate = role_of(key) is Role.THROUGHPUT and not _NOT_WORK.search(key.metric)
        is_long = len(run.series[key]) > limits.agreeing_points if is_rate else False
        if is_long and key.rank is None:
            return [run.series[key]]
    return []


def joint_regimes(regimes: Sequence[WorkRegimes], series: Series, rows: slice) -> IntArray:
    """A number for each combination of the regimes at some rows of a series."""
    joint = np.zeros(len(series.step[rows]), dtype=np.int64)
    for each in regimes:
        joint = joint * _MOST_REGIMES + each.at(series, rows)
    return joint


def find_work_regimes(source: Series, state: IncrementalState, limits: WorkThresholds) -> WorkRegimes:
    """The amounts of work per step, and when they changed; each change depends on earlier points only.

    Work is the logged batch size or sequence length, or else tokens (samples) per second times the seconds
    that the step took by the wall clock.
    """
    checkpoints: ScanCheckpoints[WorkRegimes] = state.checkpoints(("work", source.key), [source])
    checkpoint = checkpoints.latest([source]) or Checkpoint(WorkRegimes(), (0,))
    (first,) = checkpoint.rows
    if first == len(source):
        return checkpoint.state
    regimes = checkpoint.state.after(_amounts(source, first), source, first, limits)
    checkpoints.save(Checkpoint(regimes, (len(source),)))
    return regimes


def _amounts(source: Series, first: int) -> FloatArray:
    """Work per step at the rows from `first` on; NaN where unknown."""
    if role_of(source.key) in _LOGGED_WORK or is_input_size(source.key):
        return source.value[first:]
    since = max(first - 1, 0)
    seconds, steps = np.diff(source.time[since:]), np.diff(source.step[since:])
    within = np.diff(source.attempt[since:]) == 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        amounts = np.where(within, source.value[since + 1 :] * seconds / steps, np.nan)
    return amounts if first else np.concatenate(([np.nan], amounts))

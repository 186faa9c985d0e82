"""Rows of a log whose loss is missing: every step of the interval was skipped, so there was none to log.

Groups of points or rows that belong together, by their numbers in an attempt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.positions import (
    attempt_rows,
    last_common_position,
    position_of,
    rows_of_attempt,
    rows_up_to,
)
from holter.roles import Role, role_of
from holter.types import IntArray, RunData, Series

_SHOWN = 64
"""More than it ever takes to speak of a group."""


@dataclass(frozen=True)
class Group:
    """`begun` are the numbers of the first of them, `last` that of the last one; so many `points` in all."""

    begun: tuple[int, ...]
    last: int
    points: int

    @staticmethod
    def of(numbers: Sequence[int]) -> Group:
        """A group of these, in their order."""
        return Group(tuple(numbers[:_SHOWN]), numbers[-1], len(numbers))

    @property
    def first(self) -> int:
        return self.begun[0]

    def and_then(self, numbers: Sequence[int]) -> Group:
        """With others that follow."""
        begun = (*self.begun, *numbers[: _SHOWN - len(self.begun)])
        return Group(begun, numbers[-1], self.points + len(numbers))


LASTING = 3
"""Rows in sequence: one skipped step, or two, is what loss scaling does all the time."""
_BESIDE = (Role.LEARNING_RATE, Role.LOSS_SCALE, Role.GRAD_NORM)
"""What the training loop logs by the same call as its loss, the surest first."""
_KNOWN, _MEMORY = 64, 1024
"""Rows before which the loss's share of them is not known, and rows that it is measured on."""
_SHARE = 0.95
"""A loss that is logged more rarely than in so many rows is sparse, and misses none."""
_CHANCE = 1e-6


@dataclass(frozen=True)
class _Stretch:
    """Rows of an attempt without a loss, and how many of them suffice to tell; None: never."""

    group: Group
    enough: int | None


@dataclass(frozen=True, eq=False)
class _Rows:
    """What the rows so far have shown, by attempt; of the last one how many there were, and which of the
    latest missed their loss."""

    found: Mapping[int, tuple[_Stretch, ...]] = field(default_factory=dict)
    attempt: int = -1
    count: int = 0
    missing: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def and_then(self, attempt: int, missing: NDArray[np.bool_]) -> _Rows:
        """With the next rows of an attempt."""
        before = self if attempt == self.attempt else _Rows(self.found)
        known = np.concatenate((before.missing, missing))
        begin = before.count - len(before.missing)
        found = list(before.found.get(attempt, ()))
        edges = np.flatnonzero(np.diff(np.concatenate(([False], missing, [False])).astype(np.int8)))
        total = np.concatenate(([0], np.cumsum(known)))
        for first, after in (edges.reshape(-1, 2) + before.count).tolist():
            if found and found[-1].group.last == first - 1:
                found[-1] = replace(found[-1], group=found[-1].group.and_then(range(first, after)))
                continue
            known_rows = min(first, _MEMORY)
            missed = int(total[first - begin] - total[first - known_rows - begin])
            share = (missed + 1) / (known_rows + 2)
            enough = None
            if known_rows >= _KNOWN and share <= 1 - _SHARE:
                enough = max(LASTING, int(np.ceil(np.log(_CHANCE) / np.log(share))))
            found.append(_Stretch(Group.of(range(first, after)), enough))
        return _Rows(
            found={**before.found, attempt: tuple(found)},
            attempt=attempt,
            count=before.count + len(missing),
            missing=known[-_MEMORY:].copy(),
        )


@dataclass(frozen=True)
class Absences:
    """By attempt, stretches of its rows without a loss, where nearly every row before had one: each with how
    many of them suffice to tell. `beside` has the rows."""

    beside: Series | None
    found: Mapping[int, tuple[_Stretch, ...]]

    def of(self, attempt: int) -> Iterator[tuple[IntArray, Group, int]]:
        """The steps of an attempt's rows [n], and each stretch in them."""
        for one in self.found.get(attempt, ()):
            if one.enough is not None and self.beside is not None:
                yield self.beside.step[rows_of_attempt(self.beside, attempt).rows], one.group, one.enough


def absences(run: RunData, state: IncrementalState) -> Absences:
    """What a run's log misses of its losses."""
    beside = _beside(run)
    # any training loss counts, that of a single dataset too
    losses = [s for key, s in run.series.items() if role_of(key) in (Role.LOSS, Role.DATASET_LOSS) and len(s)]
    if beside is None or not losses:
        return Absences(beside, {})
    every = [beside, *losses]
    checkpoints: ScanCheckpoints[_Rows] = state.checkpoints("absent", every)
    checkpoint = checkpoints.latest(every)
    rows, done = (checkpoint.state, checkpoint.rows[0]) if checkpoint else (_Rows(), 0)
    for place in sorted({last_common_position(every), position_of(beside, len(beside) - 1)}):
        upto = rows_up_to(beside, place)
        for span in attempt_rows(beside, done):
            steps = beside.step[span.first : min(span.after, upto)]
            if len(steps):
                rows = rows.and_then(span.attempt, ~np.isin(steps, _logged(losses, span.attempt, steps)))
        if upto > done:
            done = upto
            checkpoints.save(Checkpoint(rows, tuple(rows_up_to(one, place) for one in every), upto=place))
    return Absences(beside, rows.found)


def _beside(run: RunData) -> Series | None:
    """What the training loop logged beside its loss."""
    for role in _BESIDE:
        for key in sorted(run.series):
            if role_of(key) is role and not key.labels:
                return run.series[key] if len(run.series[key]) else None
    return None


def _logged(losses: list[Series], attempt: int, steps: IntArray) -> IntArray:
    """The steps among those given, and between them, at which any loss was logged."""
    first, last = (attempt, int(steps[0]) - 1), (attempt, int(steps[-1]))
    return np.concatenate([one.step[rows_up_to(one, first) : rows_up_to(one, last)] for one in losses])

"""Missing losses: rows of a log without a loss, since every step of their interval was skipped."""

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
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import IntArray, RunData, Series

_STORED_INDICES = 64
"""First indices of a group that are stored: more than it ever takes to report one."""
_REFERENCE_ROLES = (Role.LEARNING_RATE, Role.LOSS_SCALE, Role.GRAD_NORM)
"""What the training loop logs by the same call as its loss, the most reliable first."""


@dataclass(frozen=True, kw_only=True)
class MissingLossThresholds(Thresholds):
    """When rows without a loss are reported."""

    fewest_rows: int = 3
    """Rows in sequence, at least: loss scaling skips one or two steps all the time."""
    known_rows: int = 64
    """Rows before which the share of rows with a loss is not known."""
    share_rows: int = 1024
    """Rows that the share is measured on."""
    least_share: float = 0.95
    """Share of rows with a loss below which the loss is sparse and misses none."""
    chance: float = 1e-6
    """Probability that this many rows in sequence miss their loss by chance."""
    losses_per_row: float = 2.0
    """Steps with a loss per row, before them, from which on losses are logged by a call of their own, whose
    steps need not be those of the rows: they say nothing about each other's end."""


@dataclass(frozen=True)
class PointGroup:
    """Points or rows of an attempt that belong together, by their indices in the attempt.

    `first_indices` are those of the first 64 of them, `last` is the index of the last one, `points` their
    number.
    """

    first_indices: tuple[int, ...]
    last: int
    points: int

    @staticmethod
    def of(indices: Sequence[int]) -> PointGroup:
        """The group of these indices, in their order."""
        return PointGroup(tuple(indices[:_STORED_INDICES]), indices[-1], len(indices))

    @property
    def first(self) -> int:
        return self.first_indices[0]

    def extended(self, indices: Sequence[int]) -> PointGroup:
        """The group with further indices."""
        first_indices = (*self.first_indices, *indices[: _STORED_INDICES - len(self.first_indices)])
        return PointGroup(first_indices, indices[-1], self.points + len(indices))


@dataclass(frozen=True)
class _MissingGroup:
    """Rows of an attempt without a loss, and how many of them suffice to report it; None: never."""

    group: PointGroup
    required: int | None


@dataclass(frozen=True, eq=False)
class _MissingScanState:
    """The groups so far, by attempt; of the current attempt the number of rows and of steps with a loss, and
    which of the latest rows miss their loss."""

    groups: Mapping[int, tuple[_MissingGroup, ...]] = field(default_factory=dict)
    attempt: int = -1
    count: int = 0
    losses: int = 0
    missing: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def extended(
        self,
        attempt: int,
        missing: NDArray[np.bool_],
        losses: IntArray,
        thresholds: MissingLossThresholds,
    ) -> _MissingScanState:
        """The state after the next rows of an attempt [n], `losses` counting the steps with one up to it."""
        before = self if attempt == self.attempt else _MissingScanState(self.groups)
        known = np.concatenate((before.missing, missing))
        begin = before.count - len(before.missing)
        groups = list(before.groups.get(attempt, ()))
        edges = np.flatnonzero(np.diff(np.concatenate(([False], missing, [False])).astype(np.int8)))
        total = np.concatenate(([0], np.cumsum(known)))
        for first, stop in (edges.reshape(-1, 2) + before.count).tolist():
            if groups and groups[-1].group.last == first - 1:
                groups[-1] = replace(groups[-1], group=groups[-1].group.extended(range(first, stop)))
                continue
            rows = min(first, thresholds.share_rows)
            missed = int(total[first - begin] - total[first - rows - begin])
            known_losses = before.losses + (
                int(losses[first - before.count - 1]) if first > before.count else 0
            )
            has_own_steps = known_losses >= thresholds.losses_per_row * first
            required = None if has_own_steps else _required_rows(missed, rows, thresholds)
            groups.append(_MissingGroup(PointGroup.of(range(first, stop)), required))
        return _MissingScanState(
            groups={**before.groups, attempt: tuple(groups)} if groups else before.groups,
            attempt=attempt,
            count=before.count + len(missing),
            losses=before.losses + int(losses[-1]),
            missing=known[-thresholds.share_rows :].copy(),
        )


def _required_rows(missed: int, rows: int, thresholds: MissingLossThresholds) -> int | None:
    """How many rows in sequence without a loss suffice to report them, after `rows` of which some missed it.

    None where the loss is sparse, or too few rows are known.
    """
    share = (missed + 1) / (rows + 2)
    if rows < thresholds.known_rows or share > 1 - thresholds.least_share:
        return None
    return max(thresholds.fewest_rows, int(np.ceil(np.log(thresholds.chance) / np.log(share))))


@dataclass(frozen=True)
class MissingLosses:
    """By attempt, groups of rows without a loss where nearly every row before had one.

    `reference` is the series whose rows these are.
    """

    reference: Series | None
    groups: Mapping[int, tuple[_MissingGroup, ...]]

    def of(self, attempt: int) -> Iterator[tuple[IntArray, PointGroup, int]]:
        """The steps of an attempt's rows [n], with each group and how many rows suffice to report it."""
        for missing in self.groups.get(attempt, ()):
            if missing.required is not None and self.reference is not None:
                steps = self.reference.step[rows_of_attempt(self.reference, attempt).rows]
                yield steps, missing.group, missing.required


def find_missing_losses(
    run: RunData, state: IncrementalState, thresholds: MissingLossThresholds
) -> MissingLosses:
    """The rows of a run's log in which its losses are missing."""
    reference = _reference_series(run)
    # any training loss counts, including that of a single dataset
    losses = [s for key, s in run.series.items() if role_of(key) in (Role.LOSS, Role.DATASET_LOSS) and len(s)]
    if reference is None or not losses:
        return MissingLosses(reference, {})
    inputs = [reference, *losses]
    checkpoints: ScanCheckpoints[_MissingScanState] = state.checkpoints("missing_losses", inputs)
    checkpoint = checkpoints.latest(inputs)
    scan, done = (checkpoint.state, checkpoint.rows[0]) if checkpoint else (_MissingScanState(), 0)
    for position in sorted({last_common_position(inputs), position_of(reference, len(reference) - 1)}):
        upto = rows_up_to(reference, position)
        spans = [span for span in attempt_rows(reference, done) if span.first < upto]
        if any(_has_same_rows(reference, series, slice(done, upto)) for series in losses):
            spans = spans[-1:]  # of attempts in which none is missing, only the last is continued
        for span in spans:
            steps = reference.step[span.first : min(span.after, upto)]
            if len(steps):
                begins = span.first == 0 or reference.attempt[span.first - 1] != span.attempt
                after = int(steps[0]) - 1 if begins else int(reference.step[span.first - 1])
                present = _logged_steps(losses, span.attempt, after, int(steps[-1]))
                missing = np.zeros(len(steps), dtype=bool)
                if not np.array_equal(present, steps):
                    missing = ~np.isin(steps, present)
                up_to_each = np.searchsorted(present, steps, side="right")
                scan = scan.extended(span.attempt, missing, up_to_each, thresholds)
        if upto > done:
            done = upto
            rows = tuple(rows_up_to(series, position) for series in inputs)
            checkpoints.save(Checkpoint(scan, rows, upto=position))
    return MissingLosses(reference, scan.groups)


def _has_same_rows(left: Series, right: Series, rows: slice) -> bool:
    """Whether two series were logged at the same steps of the same attempts in these rows."""
    return np.array_equal(left.step[rows], right.step[rows]) and np.array_equal(
        left.attempt[rows], right.attempt[rows]
    )


def _reference_series(run: RunData) -> Series | None:
    """A series that the training loop logs together with its loss."""
    for role in _REFERENCE_ROLES:
        for key in sorted(run.series):
            if role_of(key) is role and not key.labels:
                return run.series[key] if len(run.series[key]) else None
    return None


def _logged_steps(losses: list[Series], attempt: int, after: int, last: int) -> IntArray:
    """The steps after one step up to another at which any loss was logged, in their order."""
    steps = [
        series.step[rows_up_to(series, (attempt, after)) : rows_up_to(series, (attempt, last))]
        for series in losses
    ]
    return steps[0] if len(steps) == 1 else np.unique(np.concatenate(steps))

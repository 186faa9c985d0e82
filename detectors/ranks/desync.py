"""Desync: ranks disagree on which collective comes next, or some of them have stopped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holter.detectors.detector import DetectorContext
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import last_common_position, rows_up_to
from holter.detectors.ranks.rank_matrix import RankMatrix, build_rank_matrix, series_by_rank
from holter.detectors.ranks.ras import REPORTS
from holter.detectors.thresholds import Thresholds
from holter.roles import Role
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity

_MAX_LISTED_RANKS = 16
_CHECKPOINT_DISTANCES = (0, 256, 4096, 65_536)
"""Rows from the newest at which a checkpoint is saved: rows of other ranks may still arrive before them."""


@dataclass(frozen=True, kw_only=True)
class DesyncThresholds(Thresholds):
    """When a rank whose sequence number differs from the others' is out of step."""

    stopped_rows: int = 3
    """Rows. A number must not change for this long: one that is read while it changes differs for a row."""
    usual_factor: float = 2.0
    """Times. The distance must exceed this many times the largest one before the rank stopped."""
    margin: float = 0.5
    """Collectives. Added to the distance that is required, so that equal numbers never differ."""
    same_count_distance: float = 8
    """Collectives. Ranks that were never further apart count the same ones: when all have stopped, any
    difference counts."""


@dataclass(frozen=True)
class DesyncDetector:
    """Compares the sequence numbers of the ranks' collectives, row by row.

    The numbers of ranks that are read at different moments differ a little while all of them advance. A rank
    that has stopped at another number than most others is where a hang begins, before it times out.
    """

    name: ClassVar[str] = "desync"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DESYNC})
    thresholds: DesyncThresholds = DesyncThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per time at which ranks diverge, with the ranks that differ."""
        for series in series_by_rank(run, Role.SEQUENCE):
            if series[0].key.step_unit == REPORTS:
                continue  # RAS reports are so rare that each one counts: another detector reads them
            metric = series[0].key.metric
            checkpoints = context.state.checkpoints((self.name, metric), series)
            for divergence in _scan(series, checkpoints, self.thresholds):
                yield _finding(series, divergence)


@dataclass(frozen=True, eq=False, kw_only=True)
class _RankDivergence:
    """A time at which some ranks, by their columns, were at another collective than the others.

    `start`, `detected` and `end` are steps, `end` None while it lasts. `own` is the number of the rank that
    is furthest back of them, `others` that of the majority.
    """

    attempt: int
    start: int
    detected: int
    ranks: tuple[int, ...]
    own: float
    others: float
    end: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class _SequenceState:
    """State of each rank [p] after some rows of an attempt.

    `number` is its sequence number, `rows` for how many rows it has not changed and `since` from which step;
    `usual` is its distance from the others when it stopped, `furthest` the largest ever.
    """

    attempt: int
    number: FloatArray
    rows: IntArray
    since: IntArray
    usual: FloatArray
    furthest: FloatArray

    @staticmethod
    def initial(attempt: int, ranks: int) -> _SequenceState:
        """The state before the first row of an attempt."""
        none, zero = np.zeros(ranks, dtype=np.int64), np.zeros(ranks)
        return _SequenceState(
            attempt=attempt, number=np.full(ranks, np.nan), rows=none, since=none, usual=zero, furthest=zero
        )

    def after(
        self, ranks: RankMatrix, divergences: list[_RankDivergence], thresholds: DesyncThresholds
    ) -> _SequenceState:
        """The state after further rows [n > 0] of the attempt; divergences in them are added to the list."""
        number = _forward_fill(np.concatenate((self.number[None], ranks.value)))
        moved, number = np.diff(number, axis=0) != 0, number[1:]
        row = np.arange(len(number))[:, None]
        last = np.maximum.accumulate(np.where(moved, row, -1), axis=0)
        stopped_before = last < 0
        # ranks that have logged nothing yet count as being where most are
        middle = _median_of_known(number)
        distance: FloatArray = np.nan_to_num(np.abs(number - middle[:, None]))
        furthest = np.maximum(np.maximum.accumulate(distance, axis=0), self.furthest)
        # the distance before it stopped: ranks are read at other moments, or count other collectives
        usual = np.where(
            stopped_before, self.usual, np.take_along_axis(furthest, np.maximum(last, 0), axis=0)
        )
        since = np.where(stopped_before, self.since, ranks.step[np.maximum(last, 0)])
        rows = np.where(stopped_before, self.rows + row + 1, row - last)
        stopped = (rows >= thresholds.stopped_rows) & np.isfinite(number)
        all_stopped = stopped.all(axis=1, keepdims=True)
        required = np.where(
            all_stopped & (usual <= thresholds.same_count_distance),
            thresholds.margin,
            thresholds.usual_factor * usual + thresholds.margin,
        )
        apart = stopped & (distance > required)
        _update_divergences(divergences, self.attempt, ranks.step, apart, since, (number, middle))
        return _SequenceState(
            attempt=self.attempt,
            number=number[-1],
            rows=rows[-1],
            since=since[-1],
            usual=usual[-1],
            furthest=furthest[-1],
        )


def _update_divergences(
    divergences: list[_RankDivergence],
    attempt: int,
    step: IntArray,
    apart: NDArray[np.bool_],
    since: IntArray,
    numbers: tuple[FloatArray, FloatArray],
) -> None:
    """Add the divergences that begin in these rows, and end the one that was active."""
    number, middle = numbers
    active = bool(divergences) and divergences[-1].attempt == attempt and divergences[-1].end is None
    is_apart = np.concatenate(([active], apart.any(axis=1)))
    for row in np.flatnonzero(is_apart[1:] != is_apart[:-1]).tolist():
        if is_apart[row]:
            divergences[-1] = replace(divergences[-1], end=int(step[row]))
            continue
        columns = apart[row]
        divergences.append(
            _RankDivergence(
                attempt=attempt,
                start=int(since[row][columns].min()),
                detected=int(step[row]),
                ranks=tuple(np.flatnonzero(columns).tolist()),
                own=float(number[row][columns].min()),
                others=float(middle[row]),
            )
        )


_ScanState = tuple[_SequenceState | None, tuple[_RankDivergence, ...]]


def _scan(
    series: list[Series], checkpoints: ScanCheckpoints[_ScanState], thresholds: DesyncThresholds
) -> tuple[_RankDivergence, ...]:
    """Every divergence, scanned from the last checkpoint on."""
    checkpoint = checkpoints.latest(series)
    (state, divergences), first = (
        (checkpoint.state, checkpoint.rows) if checkpoint else ((None, ()), (0,) * len(series))
    )
    matrix = build_rank_matrix(series, first)
    done, complete = 0, matrix.rows_up_to(last_common_position(series))
    # rows of a rank that is behind will still arrive, unless it has ended for good
    for upto in sorted(
        {*(max(complete - distance, 0) for distance in _CHECKPOINT_DISTANCES), len(matrix.step)}
    ):
        if upto > done:
            state, divergences = _after(matrix.slice_rows(done, upto), state, divergences, thresholds)
            done, position = upto, (int(matrix.attempt[upto - 1]), int(matrix.step[upto - 1]))
            rows = tuple(rows_up_to(each, position) for each in series)
            checkpoints.save(Checkpoint((state, divergences), rows, upto=position))
    return divergences


def _after(
    ranks: RankMatrix,
    state: _SequenceState | None,
    divergences: tuple[_RankDivergence, ...],
    thresholds: DesyncThresholds,
) -> _ScanState:
    """The state after further rows."""
    extended = list(divergences)
    for attempt in np.unique(ranks.attempt).tolist():
        rows = ranks.slice_rows(*np.searchsorted(ranks.attempt, (attempt, attempt + 1)).tolist())
        if state is None or state.attempt != attempt:
            state = _SequenceState.initial(attempt, len(ranks.keys))
        state = state.after(rows, extended, thresholds)
    return state, tuple(extended)


def _median_of_known(number: FloatArray) -> FloatArray:
    """The median of each row [rows] over the ranks that have logged; NaN where none has."""
    ordered = np.sort(number, axis=1)
    count = np.isfinite(ordered).sum(axis=1)
    middle: FloatArray = ordered[np.arange(len(ordered)), np.maximum(count - 1, 0) // 2]
    return middle


def _forward_fill(value: FloatArray) -> FloatArray:
    """Each rank's number at each row, the last one that it logged; NaN before its first."""
    row = np.arange(len(value))[:, None]
    last = np.maximum.accumulate(np.where(np.isfinite(value), row, 0), axis=0)
    filled: FloatArray = np.take_along_axis(value, last, axis=0)
    return filled


def _finding(series: list[Series], divergence: _RankDivergence) -> Finding:
    own, others, end = divergence.own, divergence.others, divergence.end
    ranks = [series[column].key.rank or "" for column in divergence.ranks]
    labels = series[divergence.ranks[0]].key.labels if len(ranks) == 1 else ()
    subject = f"Rank {ranks[0]} is" if len(ranks) == 1 else f"{len(ranks)} ranks are"
    relation = "behind" if own < others else "ahead of"
    return Finding(
        kind=Kind.DESYNC,
        metric=series[0].key.metric,
        labels=labels,
        attempt=divergence.attempt,
        start_step=divergence.start,
        end_step=end,
        detected_step=divergence.detected,
        classified_step=divergence.detected,
        severity=Severity.CRITICAL if end is None else Severity.WARNING,
        confidence=0.9,
        summary=(
            f"{subject} at collective {own:,.0f} since step {divergence.start:,}, the others at "
            f"{others:,.0f}: they wait for each other."
        ),
        advice=(
            f"Check the stacks of rank {', '.join(ranks[:_MAX_LISTED_RANKS])}, {relation} the others; the "
            "job will hang until the collective times out."
        ),
        evidence={
            "ranks": [int(rank) if rank.isdecimal() else rank for rank in ranks[:_MAX_LISTED_RANKS]],
            "count": len(ranks),
            "sequence": own,
            "others": others,
        },
    )

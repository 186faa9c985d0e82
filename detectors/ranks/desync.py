"""Desync: ranks disagree on which collective comes next, or some of them have stopped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holter.detectors.ranks.ranks import Ranks, by_rank, rank_of
from holter.metrics import Role
from holter.tuning import Tuning
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Severity

_STANDS = 3
"""Rows for which a number must stand still: one that is asked for while it changes differs for a row."""
_ALIKE = 8
"""Ranks that were never further apart count the same collectives: when all stand, any difference counts."""
_SHOWN = 16


@dataclass(frozen=True)
class Desync:
    """Compares the sequence numbers of the ranks' collectives, row by row.

    Ranks that are asked at different moments differ a little while all of them go on. A rank that stands
    still while its number is not that of most others is where a hang begins, before it times out.
    """

    name: ClassVar[str] = "desync"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DESYNC})
    tuning: Tuning = Tuning()

    def detect(self, run: RunData) -> Iterable[Finding]:
        """One finding per time at which ranks part, naming those that differ."""
        for ranks in by_rank(run, Role.SEQUENCE):
            if ranks.keys[0].own_steps is not None:  # its rows are no moments at which ranks were asked
                continue
            for attempt in np.unique(ranks.attempt).tolist():
                yield from _in_attempt(ranks, np.flatnonzero(ranks.attempt == attempt))


def _in_attempt(ranks: Ranks, rows: IntArray) -> Iterator[Finding]:
    number = _known(ranks.value[rows])
    if len(number) <= _STANDS:
        return
    moved = np.concatenate((np.ones((1, number.shape[1]), dtype=bool), np.diff(number, axis=0) != 0))
    row = np.arange(len(number))[:, None]
    since = np.maximum.accumulate(np.where(moved, row, 0), axis=0)
    # of ranks not heard of yet nothing is known: they count as where most are
    distance: FloatArray = np.nan_to_num(np.abs(number - _middle(number)[:, None]))
    # how far apart they were before it stood still: asked at other moments, or counting other collectives
    usual = np.take_along_axis(np.maximum.accumulate(distance, axis=0), since, axis=0)
    stands = (row - since >= _STANDS) & np.isfinite(number)
    nobody_moves = stands.all(axis=1, keepdims=True)
    apart = stands & (distance > np.where(nobody_moves & (usual <= _ALIKE), 0.5, 2 * usual + 0.5))
    suspicious = np.count_nonzero(apart, axis=1) > 0
    at = 0
    while at < len(number):
        first = at + int(np.argmax(suspicious[at:]))
        if not suspicious[first]:
            return
        calm = np.flatnonzero(~suspicious[first:])
        end = first + int(calm[0]) if len(calm) else None
        yield _finding(ranks, rows, number, (int(since[first][apart[first]].min()), first, end), apart[first])
        at = len(number) if end is None else end


def _middle(number: FloatArray) -> FloatArray:
    """The median of each row [rows] over the ranks that have been heard of; NaN where there are none."""
    ordered = np.sort(number, axis=1)
    count = np.isfinite(ordered).sum(axis=1)
    middle: FloatArray = ordered[np.arange(len(ordered)), np.maximum(count - 1, 0) // 2]
    return middle


def _known(value: FloatArray) -> FloatArray:
    """Each rank's number at each row, the last one that it logged; NaN before its first."""
    row = np.arange(len(value))[:, None]
    last = np.maximum.accumulate(np.where(np.isfinite(value), row, 0), axis=0)
    known: FloatArray = np.take_along_axis(value, last, axis=0)
    return known


def _finding(
    ranks: Ranks,
    rows: IntArray,
    number: FloatArray,
    span: tuple[int, int, int | None],
    apart: NDArray[np.bool_],
) -> Finding:
    start, seen, end = span
    step = ranks.step[rows]
    different = [rank_of(ranks.keys[one]) or "" for one in np.flatnonzero(apart).tolist()]
    own, others = float(number[seen][apart].min()), float(_middle(number[seen : seen + 1])[0])
    one_rank = ranks.keys[int(np.flatnonzero(apart)[0])].labels if len(different) == 1 else ()
    who = f"Rank {different[0]} is" if len(different) == 1 else f"{len(different)} ranks are"
    behind = "behind" if own < others else "ahead"
    return Finding(
        kind=Kind.DESYNC,
        metric=ranks.keys[0].metric,
        labels=one_rank,
        attempt=int(ranks.attempt[rows[0]]),
        start_step=int(step[start]),
        end_step=None if end is None else int(step[end]),
        detected_step=int(step[seen]),
        classified_step=int(step[seen]),
        severity=Severity.CRITICAL if end is None else Severity.WARNING,
        confidence=0.9,
        summary=(
            f"{who} at collective {own:,.0f} since step {int(step[start]):,}, the others at {others:,.0f}: "
            "they wait for each other."
        ),
        advice=(
            f"Look at the stacks of rank {', '.join(different[:_SHOWN])}, {behind} the others; the job will "
            "hang until the collective times out."
        ),
        evidence={
            "ranks": [int(one) if one.isdecimal() else one for one in different[:_SHOWN]],
            "count": len(different),
            "sequence": own,
            "others": others,
        },
    )

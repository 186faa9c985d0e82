"""Desync: ranks disagree on which collective comes next, or some of them have stopped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holter.detectors.detector import DetectorContext
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import rows_upto, settled
from holter.detectors.ranks.rank_matrix import RankMatrix, build_rank_matrix, rank_of, series_by_rank
from holter.detectors.ranks.ras import REPORTS
from holter.roles import Role
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity

_STANDS = 3
"""Rows for which a number must stand still: one that is asked for while it changes differs for a row."""
_ALIKE = 8
"""Ranks that were never further apart count the same collectives: when all stand, any difference counts."""
_SHOWN = 16
_APART = (0, 256, 4096, 65_536)
"""Rows from the newest at which what is known is kept: other rows may come yet."""


@dataclass(frozen=True)
class DesyncDetector:
    """Compares the sequence numbers of the ranks' collectives, row by row.

    Ranks that are asked at different moments differ a little while all of them go on. A rank that stands
    still while its number is not that of most others is where a hang begins, before it times out.
    """

    name: ClassVar[str] = "desync"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DESYNC})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per time at which ranks part, naming those that differ."""
        state = context.state
        for series in series_by_rank(run, Role.SEQUENCE):
            if series[0].key.own_steps == REPORTS:
                continue  # asked so seldom that each report counts
            metric = series[0].key.metric
            for parting in _partings(series, state.checkpoints((self.name, metric), series)):
                yield _finding(series, parting)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Parting:
    """A time at which some ranks, by their columns, were not where the others were; places are steps, `end`
    None while it lasts. `own`: where the one furthest back of them was."""

    attempt: int
    start: int
    seen: int
    ranks: tuple[int, ...]
    own: float
    others: float
    end: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class _Standing:
    """What is known of each rank [p] after some rows of an attempt: its number, since which row (counted
    backwards, from 0) and step it stands, how far it was from the others then, and the furthest ever."""

    attempt: int
    number: FloatArray
    rows: IntArray
    since: IntArray
    usual: FloatArray
    furthest: FloatArray

    @staticmethod
    def at_first(attempt: int, ranks: int) -> _Standing:
        """Before the first row of an attempt."""
        none, zero = np.zeros(ranks, dtype=np.int64), np.zeros(ranks)
        return _Standing(
            attempt=attempt, number=np.full(ranks, np.nan), rows=none, since=none, usual=zero, furthest=zero
        )

    def and_then(self, ranks: RankMatrix, found: list[_Parting]) -> _Standing:
        """With further rows [n > 0] of the attempt; tells what is found in them."""
        number = _known(np.concatenate((self.number[None], ranks.value)))
        moved, number = np.diff(number, axis=0) != 0, number[1:]
        row = np.arange(len(number))[:, None]
        last = np.maximum.accumulate(np.where(moved, row, -1), axis=0)
        stood = last < 0
        # of ranks not heard of yet nothing is known: they count as where most are
        middle = _middle(number)
        distance: FloatArray = np.nan_to_num(np.abs(number - middle[:, None]))
        furthest = np.maximum(np.maximum.accumulate(distance, axis=0), self.furthest)
        # how far apart they were before it stood still: asked at other moments, or counting other collectives
        usual = np.where(stood, self.usual, np.take_along_axis(furthest, np.maximum(last, 0), axis=0))
        since = np.where(stood, self.since, ranks.step[np.maximum(last, 0)])
        rows = np.where(stood, self.rows + row + 1, row - last)
        stands = (rows >= _STANDS) & np.isfinite(number)
        nobody_moves = stands.all(axis=1, keepdims=True)
        apart = stands & (distance > np.where(nobody_moves & (usual <= _ALIKE), 0.5, 2 * usual + 0.5))
        _tell(found, self.attempt, ranks.step, apart, since, (number, middle))
        return _Standing(
            attempt=self.attempt,
            number=number[-1],
            rows=rows[-1],
            since=since[-1],
            usual=usual[-1],
            furthest=furthest[-1],
        )


def _tell(
    found: list[_Parting],
    attempt: int,
    step: IntArray,
    apart: NDArray[np.bool_],
    since: IntArray,
    numbers: tuple[FloatArray, FloatArray],
) -> None:
    """Add what parts in these rows, and end what was going on."""
    number, middle = numbers
    lasting = bool(found) and found[-1].attempt == attempt and found[-1].end is None
    suspicious = np.concatenate(([lasting], apart.any(axis=1)))
    for row in np.flatnonzero(suspicious[1:] != suspicious[:-1]).tolist():
        if suspicious[row]:
            found[-1] = replace(found[-1], end=int(step[row]))
            continue
        who = apart[row]
        found.append(
            _Parting(
                attempt=attempt,
                start=int(since[row][who].min()),
                seen=int(step[row]),
                ranks=tuple(np.flatnonzero(who).tolist()),
                own=float(number[row][who].min()),
                others=float(middle[row]),
            )
        )


_State = tuple[_Standing | None, tuple[_Parting, ...]]


def _partings(series: list[Series], checkpoints: ScanCheckpoints[_State]) -> tuple[_Parting, ...]:
    """Every parting, looked for from where the last look ended."""
    checkpoint = checkpoints.latest(series)
    (standing, found), first = (
        (checkpoint.state, checkpoint.rows) if checkpoint else ((None, ()), (0,) * len(series))
    )
    table = build_rank_matrix(series, first)
    done, behind = 0, table.rows_upto(settled(series))
    # a rank that is behind comes yet, unless it has ended for good
    for upto in sorted({*(max(behind - apart, 0) for apart in _APART), len(table.step)}):
        if upto > done:
            standing, found = _after(table.slice_rows(done, upto), standing, found)
            done, place = upto, (int(table.attempt[upto - 1]), int(table.step[upto - 1]))
            checkpoints.save(
                Checkpoint((standing, found), tuple(rows_upto(one, place) for one in series), upto=place)
            )
    return found


def _after(ranks: RankMatrix, standing: _Standing | None, found: tuple[_Parting, ...]) -> _State:
    """What is known after further rows."""
    more = list(found)
    for attempt in np.unique(ranks.attempt).tolist():
        rows = ranks.slice_rows(*np.searchsorted(ranks.attempt, (attempt, attempt + 1)).tolist())
        if standing is None or standing.attempt != attempt:
            standing = _Standing.at_first(attempt, len(ranks.keys))
        standing = standing.and_then(rows, more)
    return standing, tuple(more)


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


def _finding(series: list[Series], parting: _Parting) -> Finding:
    own, others, end = parting.own, parting.others, parting.end
    different = [rank_of(series[one].key) or "" for one in parting.ranks]
    one_rank = series[parting.ranks[0]].key.labels if len(different) == 1 else ()
    who = f"Rank {different[0]} is" if len(different) == 1 else f"{len(different)} ranks are"
    behind = "behind" if own < others else "ahead"
    return Finding(
        kind=Kind.DESYNC,
        metric=series[0].key.metric,
        labels=one_rank,
        attempt=parting.attempt,
        start_step=parting.start,
        end_step=end,
        detected_step=parting.seen,
        classified_step=parting.seen,
        severity=Severity.CRITICAL if end is None else Severity.WARNING,
        confidence=0.9,
        summary=(
            f"{who} at collective {own:,.0f} since step {parting.start:,}, the others at {others:,.0f}: "
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

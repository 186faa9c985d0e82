"""Ranks that call different collectives at one place of their sequence: each waits for the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import rows_upto, settled
from holter.detectors.ranks.naming import (
    ANONYMOUS,
    describe_call,
    describe_ranks,
    rank_as_evidence,
    rank_or_process,
)
from holter.detectors.ranks.rank_matrix import build_rank_matrix, common_key, hosts_of_ranks
from holter.plurals import verb
from holter.types import Finding, FloatArray, Kind, RunData, Series, SeriesKey, Severity

_CALLS = frozenset({"nccl_call", "collective_call"})
_SHOWN = 16


@dataclass(frozen=True)
class CallMismatchDetector:
    """Compares the call of each rank at each opCount of a communicator, or sequence number of a group.

    A call stands for its operation, elements, type and reduction as one number, so two that differ never
    meet: no threshold is needed. Communicators without an id are told by their size, and compared only
    where no more processes call than belong to one.
    """

    name: ClassVar[str] = "different_calls"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DESYNC})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per attempt: the first call at which ranks differ; other communicators follow suit."""
        state = context.state
        first: dict[int, tuple[_Parting, list[Series]]] = {}
        for series in _side_by_side(run):
            checkpoints: ScanCheckpoints[dict[int, _Parting]] = state.checkpoints(
                (self.name, common_key(series[0].key)), series
            )
            for attempt, parting in _partings(series, checkpoints).items():
                if attempt not in first or parting.step < first[attempt][0].step:
                    first[attempt] = parting, series
        for attempt in sorted(first):
            parting, series = first[attempt]
            yield _finding(run, series, attempt, parting)


@dataclass(frozen=True)
class _Parting:
    """The step at which calls differ first, and each rank's call there, NaN where it has made none."""

    step: int
    calls: tuple[float, ...]


def _side_by_side(run: RunData) -> list[list[Series]]:
    """The calls of the ranks of each communicator."""
    alike: dict[SeriesKey, list[Series]] = {}
    for key in sorted(run.series):
        if key.metric in _CALLS and len(run.series[key]) and rank_or_process(key):
            alike.setdefault(common_key(key), []).append(run.series[key])
    return [series for series in alike.values() if len(series) > 1 and not _too_many(series)]


def _too_many(series: Sequence[Series]) -> bool:
    """Whether several communicators may be meant: more processes call than one of that size has."""
    size = ANONYMOUS.match(dict(series[0].key.labels).get("comm", ""))
    return size is not None and len(series) > int(size[1])


def _partings(series: list[Series], checkpoints: ScanCheckpoints[dict[int, _Parting]]) -> dict[int, _Parting]:
    """By attempt, looked for from where the last look ended."""
    checkpoint = checkpoints.latest(series)
    found, first = (checkpoint.state, checkpoint.rows) if checkpoint else ({}, (0,) * len(series))
    table = build_rank_matrix(series, first)
    done = 0
    # a rank that is behind comes yet, unless it has ended for good
    for upto in sorted({table.rows_upto(settled(series)), len(table.step)}):
        if upto > done:
            found = dict(found)
            for row in _differing(table.value[done:upto]) + done:
                place = int(table.attempt[row]), int(table.step[row])
                found.setdefault(place[0], _Parting(place[1], tuple(table.value[row].tolist())))
            done, place = upto, (int(table.attempt[upto - 1]), int(table.step[upto - 1]))
            checkpoints.save(Checkpoint(found, tuple(rows_upto(one, place) for one in series), upto=place))
    return found


def _differing(calls: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The rows [rows, ranks] in which two calls differ."""
    known = np.isfinite(calls)
    least = np.where(known, calls, np.inf).min(axis=1)
    most = np.where(known, calls, -np.inf).max(axis=1)
    return np.flatnonzero(least < most)


def _finding(run: RunData, series: list[Series], attempt: int, parting: _Parting) -> Finding:
    odd, usual = _odd(parting.calls)
    key, step = common_key(series[0].key), parting.step
    ranks = [rank_or_process(series[one].key) for one in odd]
    own = describe_call(run, series[odd[0]].key, attempt, step)
    theirs = describe_call(run, series[usual[0]].key, attempt, step)
    others = describe_ranks([rank_or_process(series[usual[0]].key)]) if len(usual) == 1 else "the others"
    hosts = hosts_of_ranks(run, ranks)
    where = f" ({', '.join(hosts[:4])})" if hosts else ""
    behind, last = _behind(series, attempt)
    return Finding(
        kind=Kind.DESYNC,
        metric=key.metric,
        labels=series[odd[0]].key.labels if len(odd) == 1 else key.labels,
        attempt=attempt,
        start_step=step,
        detected_step=step,
        classified_step=step,
        severity=Severity.CRITICAL,
        confidence=0.9 if ANONYMOUS.match(dict(key.labels).get("comm", "")) else 0.97,
        summary=(
            f"At {_counted(key, step)} {describe_ranks(ranks)}{where} {verb(len(ranks), 'calls', 'call')} {own}, "
            f"{others} {theirs}: they wait for each other and will hang."
        ),
        advice=(
            f"Look at the code path that {describe_ranks(ranks)} took: a branch, a data loader that ended early, an "
            "exception or a parameter without gradient makes one rank call something else."
            + (
                f" {describe_ranks([behind]).capitalize()} has come least far: begin with its stack."
                if behind
                else ""
            )
        ),
        evidence={
            "ranks": [rank_as_evidence(rank) for rank in ranks[:_SHOWN]],
            "count": len(ranks),
            "call": own,
            "others_call": theirs,
            **({"behind": rank_as_evidence(behind), "last": last} if behind else {}),
            **({"hosts": hosts[:_SHOWN]} if hosts else {}),
        },
    )


def _counted(key: SeriesKey, step: int) -> str:
    """The place of a call as its log prints it: NCCL's opCount is hexadecimal there."""
    counted = key.own_steps or "step"
    return f"{counted} {step:x}" if counted == "opCount" else f"{counted} {step:,}"


def _odd(calls: tuple[float, ...]) -> tuple[list[int], list[int]]:
    """The ranks whose call is not the one that most make, and those whose it is; of two that are as many,
    the one of the lowest rank counts as usual."""
    known = [call for call in calls if call == call]
    usual = max(dict.fromkeys(known), key=known.count)
    odd = [rank for rank, call in enumerate(calls) if call == call and call != usual]
    return odd, [rank for rank, call in enumerate(calls) if call == usual]


def _behind(series: list[Series], attempt: int) -> tuple[str, int]:
    """The one rank whose last call stands before those of all others, and where; "" if there is none."""
    last = []
    for one in series:
        row = rows_upto(one, (attempt, 2**62))
        if row and one.attempt[row - 1] == attempt:
            last.append((int(one.step[row - 1]), rank_or_process(one.key)))
    last.sort()
    alone = len(last) > 1 and last[0][0] < last[1][0]
    return (last[0][1], last[0][0]) if alone else ("", 0)

"""Call mismatch: ranks call different collectives at the same position of their sequence, and hang."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import last_common_position, rows_up_to
from holter.detectors.ranks.naming import (
    ANONYMOUS,
    describe_call,
    describe_ranks,
    rank_as_evidence,
    rank_or_process,
)
from holter.detectors.ranks.rank_matrix import build_rank_matrix, common_key, hosts_of_ranks
from holter.detectors.thresholds import Thresholds
from holter.plurals import verb
from holter.types import Finding, FloatArray, Kind, RunData, Series, SeriesKey, Severity

_CALL_METRICS = frozenset({"nccl_call", "collective_call"})
_MAX_LISTED_RANKS = 16


@dataclass(frozen=True, kw_only=True)
class CallMismatchThresholds(Thresholds):
    """How certain a call mismatch is."""

    confidence: float = 0.97
    """Confidence where the communicator has an id."""
    anonymous_confidence: float = 0.9
    """Confidence where the communicator is identified by its size only."""


@dataclass(frozen=True)
class CallMismatchDetector:
    """Compares the calls of the ranks at each opCount of a communicator, or sequence number of a group.

    A call is logged as one number made of its operation, elements, type and reduction, so two calls that
    differ never match and no threshold is needed. Communicators without an id are identified by their size,
    and compared only where no more processes call than belong to one.
    """

    name: ClassVar[str] = "different_calls"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DESYNC})
    thresholds: CallMismatchThresholds = CallMismatchThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per attempt: the first call at which ranks differ, since other communicators follow."""
        state = context.state
        first: dict[int, tuple[_CallMismatch, list[Series]]] = {}
        for series in _series_by_communicator(run):
            checkpoints: ScanCheckpoints[dict[int, _CallMismatch]] = state.checkpoints(
                (self.name, common_key(series[0].key)), series
            )
            for attempt, mismatch in _find_mismatches(series, checkpoints).items():
                if attempt not in first or mismatch.step < first[attempt][0].step:
                    first[attempt] = mismatch, series
        for attempt in sorted(first):
            mismatch, series = first[attempt]
            yield _finding(run, series, attempt, mismatch, self.thresholds)


@dataclass(frozen=True)
class _CallMismatch:
    """The first step at which calls differ, and each rank's call there, NaN where it made none."""

    step: int
    calls: tuple[float, ...]


def _series_by_communicator(run: RunData) -> list[list[Series]]:
    """The calls of the ranks of each communicator."""
    by_communicator: dict[SeriesKey, list[Series]] = {}
    for key in sorted(run.series):
        if key.metric in _CALL_METRICS and len(run.series[key]) and rank_or_process(key):
            by_communicator.setdefault(common_key(key), []).append(run.series[key])
    return [
        series
        for series in by_communicator.values()
        if len(series) > 1 and not _has_several_communicators(series)
    ]


def _has_several_communicators(series: Sequence[Series]) -> bool:
    """Whether the series may be of several communicators: more processes call than one of that size has."""
    size = ANONYMOUS.match(series[0].key.label("comm") or "")
    return size is not None and len(series) > int(size[1])


def _find_mismatches(
    series: list[Series], checkpoints: ScanCheckpoints[dict[int, _CallMismatch]]
) -> dict[int, _CallMismatch]:
    """The first mismatch of each attempt, scanned from the last checkpoint on."""
    checkpoint = checkpoints.latest(series)
    mismatches, first = (checkpoint.state, checkpoint.rows) if checkpoint else ({}, (0,) * len(series))
    matrix = build_rank_matrix(series, first)
    done = 0
    # rows of a rank that is behind will still arrive, unless it has ended for good
    for upto in sorted({matrix.rows_up_to(last_common_position(series)), len(matrix.step)}):
        if upto > done:
            mismatches = dict(mismatches)
            for row in _differing(matrix.value[done:upto]) + done:
                position = int(matrix.attempt[row]), int(matrix.step[row])
                mismatches.setdefault(
                    position[0], _CallMismatch(position[1], tuple(matrix.value[row].tolist()))
                )
            done, position = upto, (int(matrix.attempt[upto - 1]), int(matrix.step[upto - 1]))
            checkpoints.save(
                Checkpoint(mismatches, tuple(rows_up_to(each, position) for each in series), upto=position)
            )
    return mismatches


def _differing(calls: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The rows of calls [rows, ranks] in which two calls differ."""
    known = np.isfinite(calls)
    least = np.where(known, calls, np.inf).min(axis=1)
    most = np.where(known, calls, -np.inf).max(axis=1)
    return np.flatnonzero(least < most)


def _finding(
    run: RunData,
    series: list[Series],
    attempt: int,
    mismatch: _CallMismatch,
    limits: CallMismatchThresholds,
) -> Finding:
    minority, majority = _split_by_call(mismatch.calls)
    key, step = common_key(series[0].key), mismatch.step
    ranks = [rank_or_process(series[column].key) for column in minority]
    call = describe_call(run, series[minority[0]].key, attempt, step)
    others_call = describe_call(run, series[majority[0]].key, attempt, step)
    only_one = len(majority) == 1
    others = describe_ranks([rank_or_process(series[majority[0]].key)]) if only_one else "the others"
    hosts = hosts_of_ranks(run, ranks)
    where = f" ({', '.join(hosts[:4])})" if hosts else ""
    behind, last = _furthest_behind(series, attempt)
    is_anonymous = ANONYMOUS.match(key.label("comm") or "")
    subject = f"{describe_ranks(ranks)}{where} {verb(len(ranks), 'calls', 'call')}"
    return Finding(
        kind=Kind.DESYNC,
        metric=key.metric,
        labels=series[minority[0]].key.labels if len(minority) == 1 else key.labels,
        attempt=attempt,
        start_step=step,
        detected_step=step,
        classified_step=step,
        severity=Severity.CRITICAL,
        confidence=limits.anonymous_confidence if is_anonymous else limits.confidence,
        summary=(
            f"At {_describe_position(key, step)} {subject} {call}, {others} {others_call}: they wait for "
            "each other and will hang."
        ),
        advice=(
            f"Check the code path that {describe_ranks(ranks)} took: a branch, a data loader that ended "
            "early, an exception or a parameter without gradient makes one rank call something else."
            + (
                f" {describe_ranks([behind]).capitalize()} is furthest behind: begin with its stack."
                if behind
                else ""
            )
        ),
        evidence={
            "ranks": [rank_as_evidence(rank) for rank in ranks[:_MAX_LISTED_RANKS]],
            "count": len(ranks),
            "call": call,
            "others_call": others_call,
            **({"behind": rank_as_evidence(behind), "last": last} if behind else {}),
            **({"hosts": hosts[:_MAX_LISTED_RANKS]} if hosts else {}),
        },
    )


def _describe_position(key: SeriesKey, step: int) -> str:
    """The position of a call as its log prints it: NCCL's opCount is hexadecimal there."""
    counter = key.step_unit or "step"
    return f"{counter} {step:x}" if counter == "opCount" else f"{counter} {step:,}"


def _split_by_call(calls: tuple[float, ...]) -> tuple[list[int], list[int]]:
    """The ranks that make another call than most, and those that make the call that most make.

    Of two calls that equally many make, that of the lowest rank counts as the majority's.
    """
    known = [call for call in calls if call == call]
    most_common = max(dict.fromkeys(known), key=known.count)
    minority = [rank for rank, call in enumerate(calls) if call == call and call != most_common]
    return minority, [rank for rank, call in enumerate(calls) if call == most_common]


def _furthest_behind(series: list[Series], attempt: int) -> tuple[str, int]:
    """The single rank whose last call is before those of all others, and that call; "" for none."""
    last = []
    for each in series:
        row = rows_up_to(each, (attempt, 2**62))
        if row and each.attempt[row - 1] == attempt:
            last.append((int(each.step[row - 1]), rank_or_process(each.key)))
    last.sort()
    is_single = len(last) > 1 and last[0][0] < last[1][0]
    return (last[0][1], last[0][0]) if is_single else ("", 0)

"""What follows from another finding is no second incident.

Decided by what never changes once spoken, so that no finding that was spoken vanishes again: a
consequence is left out only if its cause had been spoken first. Where the cause is found later, the
finding stays and names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from holter.detectors.correlation import merge_correlated
from holter.detectors.positions import rows_of_attempt, rows_up_to
from holter.detectors.ranks.rank_matrix import build_rank_matrix, series_by_rank
from holter.roles import Role
from holter.types import Finding, Kind, RunData, Series, SeriesKey, Severity

_LOSS = frozenset({Kind.SPIKE_FAST, Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED, Kind.DIVERGENCE})
_ROWS = 10
"""Rows of rank timings that a slow-down of the whole run waits for: time for the ranks to explain it."""
_NEAR = 8


def inhibit(findings: Iterable[Finding], run: RunData) -> list[Finding]:
    """The findings that stand for an event of their own."""
    all_of_them = list(findings)
    causes = [one for one in all_of_them if one.kind in (Kind.STRAGGLER, Kind.COMM_SLOWDOWN)]
    replays = [one for one in all_of_them if one.kind is Kind.REPEATED_DATA]
    faults = [one for one in all_of_them if one.kind is Kind.GPU_FAULT and one.severity is Severity.CRITICAL]
    timed = [*series_by_rank(run, Role.COMPUTE_TIME), *series_by_rank(run, Role.STEP_TIME)]
    timings = timed[0] if timed else None
    kept: list[Finding | None] = []
    for finding in all_of_them:
        if finding.kind is Kind.THROUGHPUT_REGRESSION and timings is not None:
            kept.append(_beside_causes(finding, causes, timings, run))
        elif finding.kind is Kind.STALL:
            kept.append(_beside_fault(finding, faults))
        elif not any(_follows(finding, replay) for replay in replays):
            kept.append(finding)
    return merge_correlated((finding for finding in kept if finding is not None), run)


def _beside_fault(finding: Finding, faults: list[Finding]) -> Finding:
    """A silence that began with a GPU's fault names it: both are told, for each asks for something else."""
    own = [one for one in faults if (one.attempt, one.peak_step) == (finding.attempt, finding.start_step)]
    if not own:
        return finding
    return replace(
        finding,
        summary=f"{finding.summary} Before it: {own[-1].summary}",
        advice=own[-1].advice,
        evidence={**finding.evidence, "because_of": own[-1].as_reference()},
    )


def _beside_causes(
    finding: Finding, causes: list[Finding], timings: list[Series], run: RunData
) -> Finding | None:
    """A slow-down of the run waits until the ranks can tell; it is theirs if they were slow by then."""
    spacing = _spacing(timings, finding)
    spoken = _step_from(run, finding, max(finding.detected_step, finding.start_step + _ROWS * spacing))
    if spoken is None:
        return None
    own = [one for one in causes if _began_with(one, finding, _NEAR * spacing)]
    if any(one.detected_step <= spoken for one in own):
        return None
    finding = replace(finding, detected_step=spoken, classified_step=spoken)
    if not own:
        return finding
    rank = dict(own[0].labels).get("rank")
    why = "Collectives take longer for all ranks." if rank is None else f"The others wait for rank {rank}."
    return replace(
        finding,
        severity=Severity.INFO,
        summary=f"{finding.summary} {why}",
        evidence={**finding.evidence, "because_of": own[0].as_reference()},
    )


def _spacing(timings: list[Series], finding: Finding) -> int:
    """Steps between two rows of rank timings around the finding's start; 0 where there were none before."""
    last = [rows_up_to(one, (finding.attempt, finding.start_step)) for one in timings]
    begin = [rows_of_attempt(one, finding.attempt).first for one in timings]
    first = [max(start, row - _NEAR) for start, row in zip(begin, last, strict=True)]
    before = build_rank_matrix(timings, first, last).step[-_NEAR:]
    return int(np.median(np.diff(before))) if len(before) > 1 else 0


def _step_from(run: RunData, finding: Finding, step: int) -> int | None:
    """The first logged step from `step` on in the finding's attempt, None while it has not come so far."""
    series = run.series[SeriesKey(finding.metric, finding.labels)]
    span = rows_of_attempt(series, finding.attempt)
    logged = series.step[span.rows]
    after = int(np.searchsorted(logged, step))
    if after < len(logged):
        return int(logged[after])
    return int(logged[-1]) if span.after < len(series) else None


def _began_with(one: Finding, other: Finding, slack: int) -> bool:
    return one.attempt == other.attempt and abs(one.start_step - other.start_step) <= slack


def _follows(finding: Finding, replay: Finding) -> bool:
    """Whether a rise of the loss is the place where a replay ends, or a bad resume is the replay."""
    if finding.attempt != replay.attempt or finding.detected_step <= replay.detected_step:
        return False
    spacing = max((replay.detected_step - replay.start_step) // max(int(replay.evidence["points"]), 1), 1)
    if finding.kind is Kind.RESUME_ARTIFACT:
        return abs(finding.start_step - replay.start_step) <= _NEAR * spacing
    expected = int(replay.evidence["expected_step"])
    return finding.kind in _LOSS and abs(finding.start_step - expected) <= _NEAR * spacing

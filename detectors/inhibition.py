"""Inhibition: findings that follow from another finding are left out, or name their cause.

Decided by what never changes once a finding was reported, so that no reported finding disappears again: a
consequence is left out only if its cause had been detected first. Where the cause is detected later, the
finding stays and names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from holter.detectors.correlation import merge_correlated
from holter.detectors.evaluation.early_rise import EARLY_ROWS
from holter.detectors.positions import rows_of_attempt, rows_up_to
from holter.detectors.ranks.rank_matrix import build_rank_matrix, series_by_rank
from holter.detectors.signals.fitted_loss import follows_fitted_loss
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, Kind, RunData, Series, SeriesKey, Severity


@dataclass(frozen=True, kw_only=True)
class InhibitionThresholds(Thresholds):
    """When a finding counts as a consequence of another one."""

    rows_to_wait: int = 10
    """Rows of rank timings for which a slow-down of the run waits, so that a slow rank is found first."""
    signal_steps: int = 100
    """Steps between a change of the loss and a break of another signal that follows from it."""
    slow_points: int = 32
    """Points until its detection from which on a rise of the loss is the beginning of a slower one."""
    weak_strength: float = 2.0
    """Strength of the evidence below which a rise within a slower one is a part of it."""
    near_rows: int = 8
    """Rows of timings, or points of a loss, within which a consequence begins with its cause."""


_THRESHOLDS = InhibitionThresholds()
_LOSSES = (Role.LOSS, Role.DATASET_LOSS, Role.EVAL_LOSS)
_LOSS_RISES = frozenset({Kind.SPIKE_FAST, Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED, Kind.DIVERGENCE})

_EXPLAIN_BREAKS = _LOSS_RISES | {Kind.NONFINITE, Kind.HIDDEN_NONFINITE, Kind.RESUME_ARTIFACT}


def inhibit(findings: Iterable[Finding], run: RunData) -> list[Finding]:
    """The findings without those that follow from another one, one per event."""
    findings = list(findings)
    slow_ranks = [each for each in findings if each.kind in (Kind.STRAGGLER, Kind.COMM_SLOWDOWN)]
    replays = [each for each in findings if each.kind is Kind.REPEATED_DATA]
    faults = [each for each in findings if each.kind is Kind.GPU_FAULT and each.severity is Severity.CRITICAL]
    changes = [each for each in findings if each.kind in _EXPLAIN_BREAKS and not _is_signal_break(each)]
    slow_rises = [
        rise
        for rise in findings
        if _is_slow_rise(rise) and not any(_is_same_rise(change, rise) for change in changes)
    ]
    timed = [*series_by_rank(run, Role.COMPUTE_TIME), *series_by_rank(run, Role.STEP_TIME)]
    timings = timed[0] if timed else None
    independent: list[Finding | None] = []
    followed: dict[int, list[Finding]] = {}
    for finding in findings:
        if finding.kind is Kind.THROUGHPUT_REGRESSION and timings is not None:
            reported, cause = _with_slow_rank(finding, slow_ranks, timings, run)
            independent.append(reported)
            if reported is None and cause is not None:
                followed.setdefault(id(cause), []).append(finding)
        elif finding.kind is Kind.STALL:
            independent.append(_with_gpu_fault(finding, faults))
        elif _is_signal_break(finding):
            is_explained = any(_explains_break(change, finding) for change in changes)
            if not is_explained and not follows_fitted_loss(finding, run):
                independent.append(finding)
        elif not _is_same_or_part(finding, slow_rises) and not any(
            _follows_replay(finding, replay) for replay in replays
        ):
            independent.append(finding)
    return merge_correlated(
        (_with_slowdowns(each, followed.get(id(each), [])) for each in independent if each is not None), run
    )


def _with_slowdowns(slow_rank: Finding, slowdowns: list[Finding]) -> Finding:
    """A slow rank, or slow collectives, with what the run lost by it: both are one incident."""
    if not slowdowns:
        return slow_rank
    lost = max(float(each.evidence["lost"]) for each in slowdowns)
    also = [*slow_rank.evidence.get("also", ()), *(each.as_reference() for each in slowdowns)]
    return replace(
        slow_rank,
        summary=f"{slow_rank.summary} The run lost {lost:.0%} of its throughput.",
        evidence={**slow_rank.evidence, "also": also},
    )


def _is_slow_rise(finding: Finding) -> bool:
    """Whether it is about a loss that rose over many thousands of points."""
    return "lowest_step" in finding.evidence


def _is_same_or_part(finding: Finding, slow_rises: list[Finding]) -> bool:
    """Whether a rise of the loss is the course of another one that had been detected; `slow_rises` are those
    that are not."""
    if _is_slow_rise(finding) and finding not in slow_rises:
        return True
    return any(_is_part_of(rise, finding) for rise in slow_rises)


def _is_same_rise(change: Finding, slow_rise: Finding) -> bool:
    """Whether a slow rise had been detected in shorter means already, or as a rise that it continues."""
    if (
        change is slow_rise
        or change.attempt != slow_rise.attempt
        or change.detected_step > slow_rise.detected_step
    ):
        return False
    if _is_early(slow_rise):
        lasts = change.end_step is None or change.end_step > slow_rise.detected_step
        return lasts and (_is_same_loss(change, slow_rise) or _are_evaluations(change, slow_rise))
    lowest, halfway = slow_rise.evidence["lowest_step"], (slow_rise.start_step + slow_rise.detected_step) / 2
    # a weak rise late in the course of a slow one does not say what the slow one does
    is_early = lowest <= change.start_step and change.detected_step <= halfway
    is_slow = change.evidence.get("points_to_detect", 0) >= _THRESHOLDS.slow_points
    lasts = change.end_step is None or change.end_step > slow_rise.detected_step
    is_its_course = _is_same_loss(change, slow_rise) and lasts and lowest <= change.start_step <= halfway
    return _continues(change, slow_rise) or (is_slow and (is_early or is_its_course))


def _is_part_of(slow_rise: Finding, rise: Finding) -> bool:
    """Whether a rise is a part of the course of a slow one that had been detected and lasted: a clear one is
    an event of its own."""
    if rise is slow_rise or rise.attempt != slow_rise.attempt:
        return False
    lasted = slow_rise.end_step is None or slow_rise.end_step >= rise.detected_step
    if _is_early(slow_rise) and _are_evaluations(rise, slow_rise):
        return rise.kind in _LOSS_RISES and lasted and slow_rise.detected_step <= rise.detected_step
    if not _is_same_loss(rise, slow_rise):
        return False
    is_weak = 1 <= rise.evidence.get("strength", 0.0) < _THRESHOLDS.weak_strength
    is_within = slow_rise.detected_step <= rise.detected_step and slow_rise.start_step <= rise.start_step
    return rise.kind in _LOSS_RISES and is_within and lasted and is_weak


def _is_early(slow_rise: Finding) -> bool:
    """Whether a rise was seen in the first rows of a run, which are too few to know its noise before."""
    return int(slow_rise.evidence["points_to_detect"]) <= EARLY_ROWS


def _are_evaluations(*findings: Finding) -> bool:
    """Whether all are about evaluation losses: they measure the same model."""
    return all(role_of(SeriesKey(each.metric, each.labels)) is Role.EVAL_LOSS for each in findings)


def _is_same_loss(one: Finding, other: Finding) -> bool:
    return (one.metric, one.labels) == (other.metric, other.labels)


def _continues(change: Finding, slow_rise: Finding) -> bool:
    """Whether a slow rise is the course of a rise of the same loss that began about as early.

    What is over halfway to the detection of the slow rise was known to be over by then: an end is certain
    soon after.
    """
    lowest, lasted = slow_rise.evidence["lowest_step"], slow_rise.detected_step - slow_rise.start_step
    halfway, early = (slow_rise.start_step + share * lasted for share in (0.5, 0.25))
    margin = (slow_rise.detected_step - lowest) / 2
    lasts = change.end_step is None or change.end_step > halfway
    return _is_same_loss(change, slow_rise) and lasts and lowest - margin <= change.start_step <= early


def _is_signal_break(finding: Finding) -> bool:
    """Whether it is about a signal next to the loss, such as a gradient norm."""
    role = role_of(SeriesKey(finding.metric, finding.labels))
    return finding.kind is Kind.METRIC_COLLAPSE or (finding.kind is Kind.DIVERGENCE and role not in _LOSSES)


def _explains_break(change: Finding, signal: Finding) -> bool:
    """Whether a signal broke with a change of the loss, or masked values, that had been detected."""
    if change.attempt != signal.attempt or change.detected_step > signal.detected_step:
        return False
    developed = signal.detected_step - signal.start_step
    return abs(change.start_step - signal.start_step) <= max(_THRESHOLDS.signal_steps, developed)


def _with_gpu_fault(stall: Finding, faults: list[Finding]) -> Finding:
    """The stall, naming the GPU fault that it began with. Both are reported: each needs another action."""
    position = (stall.attempt, stall.start_step)
    causes = [fault for fault in faults if (fault.attempt, fault.peak_step) == position]
    if not causes:
        return stall
    cause = causes[-1]
    return replace(stall, evidence={**stall.evidence, "because_of": cause.as_reference()})


def _with_slow_rank(
    slowdown: Finding, slow_ranks: list[Finding], timings: list[Series], run: RunData
) -> tuple[Finding | None, Finding | None]:
    """The slow-down of the run, once the ranks' timings can explain it, and the slow rank that does.

    No slow-down while it waits for the timings, and if slow ranks were found by then."""
    spacing = _spacing(timings, slowdown)
    due_step = max(slowdown.detected_step, slowdown.start_step + _THRESHOLDS.rows_to_wait * spacing)
    reported_step = _first_logged_step(run, slowdown, due_step)
    if reported_step is None:
        return None, None
    near = _THRESHOLDS.near_rows * spacing
    # the onset of a slow-down is not known better than the delay of its detection
    last_step = slowdown.detected_step + near
    causes = [
        cause
        for cause in slow_ranks
        if cause.attempt == slowdown.attempt and slowdown.start_step - near <= cause.start_step <= last_step
    ]
    earlier = [cause for cause in causes if cause.detected_step <= reported_step]
    if earlier:
        return None, earlier[0]
    slowdown = replace(slowdown, detected_step=reported_step, classified_step=reported_step)
    if not causes:
        return slowdown, None
    evidence = {**slowdown.evidence, "because_of": causes[0].as_reference()}
    return replace(slowdown, severity=Severity.INFO, evidence=evidence), causes[0]


def _spacing(timings: list[Series], finding: Finding) -> int:
    """Steps between two rows of rank timings before the finding's start; 0 where there were none."""
    rows = _THRESHOLDS.near_rows
    last = [rows_up_to(series, (finding.attempt, finding.start_step)) for series in timings]
    begin = [rows_of_attempt(series, finding.attempt).first for series in timings]
    first = [max(start, row - rows) for start, row in zip(begin, last, strict=True)]
    before = build_rank_matrix(timings, first, last).step[-rows:]
    return int(np.median(np.diff(before))) if len(before) > 1 else 0


def _first_logged_step(run: RunData, finding: Finding, step: int) -> int | None:
    """The first logged step from `step` on in the finding's attempt; None while it has not been reached."""
    series = run.series[SeriesKey(finding.metric, finding.labels)]
    span = rows_of_attempt(series, finding.attempt)
    logged = series.step[span.rows]
    row = int(np.searchsorted(logged, step))
    if row < len(logged):
        return int(logged[row])
    return int(logged[-1]) if span.after < len(series) else None


def _follows_replay(finding: Finding, replay: Finding) -> bool:
    """Whether a rise of the loss is the end of repeated data, or a resume artifact is its beginning."""
    if finding.attempt != replay.attempt or finding.detected_step <= replay.detected_step:
        return False
    spacing = max((replay.detected_step - replay.start_step) // max(int(replay.evidence["points"]), 1), 1)
    near = _THRESHOLDS.near_rows * spacing
    if finding.kind is Kind.RESUME_ARTIFACT:
        return abs(finding.start_step - replay.start_step) <= near
    expected = int(replay.evidence["expected_step"])
    return finding.kind in _LOSS_RISES and abs(finding.start_step - expected) <= near

"""One event over several kinds: who spoke first stays, takes up what the others say, and the cause's name.

Decided by what never changes once spoken (places, and the order of speaking), as in consequences.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from holter.detectors.positions import rows_of_attempt
from holter.roles import Role, role_of
from holter.types import Finding, Kind, RunData, SeriesKey, Severity

_SPIKES = frozenset({Kind.SPIKE_FAST, Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED, Kind.DIVERGENCE})
_MOVES = _SPIKES | {Kind.SUDDEN_DROP, Kind.OUTLIER_BATCH}
_HANGS = frozenset({Kind.DESYNC, Kind.GPU_FAULT})
_STEPS, _ROWS, _SHIFTED_ROWS = 100, 8, 32
"""How near two beginnings of one event are: overflows follow each other within so many steps or rows; a
shift of the data is placed no better than to so many rows."""
_SPACED = 64
_SHARES = ("shares_before", "shares", "by_shares")


def _rank(severity: Severity) -> int:
    return severity.rank


@dataclass(frozen=True)
class _Joined:
    """How two findings are one: whether the later one is the cause and gives its name, and whether the
    earlier one is as serious as either."""

    renamed: bool = False
    worse: bool = False


def merge_correlated(findings: Iterable[Finding], run: RunData) -> list[Finding]:
    """The findings, one per event, in the order in which they were spoken."""
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda one: (one.attempt, one.detected_step, one.kind in _MOVES)):
        for number, earlier in enumerate(kept):
            joined = _joined(earlier, finding, run)
            if joined is not None:
                kept[number] = _taken_up(earlier, finding, joined)
                break
        else:
            kept.append(finding)
    return kept


def _joined(earlier: Finding, later: Finding, run: RunData) -> _Joined | None:
    """How the later finding belongs to the earlier one; None: it is an event of its own."""
    pair = {earlier.kind, later.kind}
    if _is_evaluated(later) and not _is_evaluated(earlier):
        return _evaluates(earlier, later, run)
    if earlier.attempt != later.attempt or not pair & _CROSSING:
        return None
    if pair == {Kind.RESUME_ARTIFACT}:
        return _Joined(worse=True)  # a restart is one event, whatever it did not restore
    spacing = _spacing(earlier, run)
    if Kind.LOSS_SCALE_COLLAPSE in pair:
        return _overflows(earlier, later, max(_STEPS, _ROWS * spacing))
    if Kind.HIDDEN_NONFINITE in pair:
        return _hides(earlier, later, _ROWS * spacing)
    if Kind.MIXTURE_SHIFT in pair:
        return _shifts(earlier, later, spacing)
    since = later.start_step - earlier.detected_step
    hangs = earlier.kind in _HANGS and later.kind is Kind.STALL and since <= max(_STEPS, _ROWS * spacing)
    return _Joined(worse=True) if hangs else None


def _is_evaluated(finding: Finding) -> bool:
    return role_of(SeriesKey(finding.metric, finding.labels)) is Role.EVAL_LOSS


def _evaluates(earlier: Finding, later: Finding, run: RunData) -> _Joined | None:
    """An evaluation is worse because of what the training loss showed since the one before the last."""
    of_loss = role_of(SeriesKey(earlier.metric, earlier.labels)) in _TRAINED
    since = later.start_step - 2 * _spacing(later, run)
    caused = earlier.kind in _HARMS and of_loss and since < earlier.start_step <= later.detected_step
    return _Joined() if caused and earlier.attempt == later.attempt and later.kind in _WORSE else None


def _overflows(earlier: Finding, later: Finding, near: int) -> _Joined | None:
    """Gradients that overflow make the scale collapse; a loss that is NaN or spikes makes them overflow."""
    apart = later.start_step - earlier.start_step
    if Kind.NONFINITE in (earlier.kind, later.kind) and abs(apart) <= near:
        of_gradient = role_of(SeriesKey(earlier.metric, earlier.labels)) is Role.GRAD_NORM
        return _Joined(renamed=earlier.kind is Kind.NONFINITE and of_gradient, worse=True)
    spikes = earlier.kind in _SPIKES or later.kind in _SPIKES
    return _Joined(worse=True) if spikes and 0 <= apart <= near else None


def _hides(earlier: Finding, later: Finding, near: int) -> _Joined | None:
    """A logger that begins to hide NaN, or stops, moves the curve; what it shows is the same event."""
    if Kind.NONFINITE in (earlier.kind, later.kind):
        return _Joined(worse=True) if abs(later.start_step - earlier.start_step) <= near else None
    if earlier.kind is not Kind.HIDDEN_NONFINITE or later.kind not in _MOVES:
        return None
    edges = (earlier.start_step, earlier.evidence.get("good_step"))
    framed = any(edge is not None and abs(later.start_step - edge) <= near for edge in edges)
    return _Joined() if framed else None


def _shifts(earlier: Finding, later: Finding, spacing: int) -> _Joined | None:
    """Other data explain where the loss moves to."""
    apart = abs(later.start_step - earlier.start_step)
    # a spike of one dataset alone has nothing to do with shares
    same = (earlier.metric, earlier.labels) == (later.metric, later.labels)
    moves = same and (earlier.kind in _MOVES or later.kind in _MOVES)
    near = apart <= _SHIFTED_ROWS * spacing
    return _Joined(renamed=later.kind is Kind.MIXTURE_SHIFT) if moves and near else None


_TRAINED = (Role.LOSS, Role.DATASET_LOSS, Role.GRAD_NORM)
_WORSE = _SPIKES | {Kind.NONFINITE, Kind.RESUME_ARTIFACT}
_HARMS = _WORSE | {Kind.OUTLIER_BATCH, Kind.MIXTURE_SHIFT, Kind.LOSS_SCALE_COLLAPSE}
_CROSSING = _HANGS | {
    Kind.LOSS_SCALE_COLLAPSE,
    Kind.HIDDEN_NONFINITE,
    Kind.MIXTURE_SHIFT,
    Kind.RESUME_ARTIFACT,
}
"""Kinds that share their events with others."""


def _spacing(finding: Finding, run: RunData) -> int:
    """Steps between two rows of the finding's series before it began."""
    series = run.series.get(SeriesKey(finding.metric, finding.labels))
    if series is None:
        return 1
    span = rows_of_attempt(series, finding.attempt)
    upto = span.first + int(np.searchsorted(series.step[span.rows], finding.start_step))
    before = series.step[max(span.first, upto - _SPACED) : upto]
    return int(np.median(np.diff(before))) if len(before) > 1 else 1


def _told_by(other: Finding) -> dict[str, object]:
    """What only the other one knows: how the data changed."""
    return {name: other.evidence[name] for name in _SHARES if name in other.evidence}


def _taken_up(earlier: Finding, later: Finding, joined: _Joined) -> Finding:
    """The earlier finding with the later one as evidence, or under its name."""
    named, other = (later, earlier) if joined.renamed else (earlier, later)
    also = [*earlier.evidence.get("also", ()), other.as_reference()]
    severity = max(earlier.severity, later.severity, key=_rank) if joined.worse else named.severity
    return replace(
        named,
        metric=earlier.metric,
        labels=earlier.labels,
        attempt=earlier.attempt,
        start_step=earlier.start_step,
        detected_step=earlier.detected_step,
        severity=severity,
        evidence={**_told_by(other), **named.evidence, "also": also},
    )

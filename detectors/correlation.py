"""Correlation: findings of several kinds that belong to one event become one finding.

The finding that was detected first stays, takes up what the others state as evidence, and is renamed where a
later one is the cause. Decided by what never changes once a finding was reported (positions, and the order of
detection), as in inhibition.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from holter.detectors.formatting import figure
from holter.detectors.numerics.masked_nan import ABSURD_VALUE
from holter.detectors.positions import rows_of_attempt
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, Kind, RunData, SeriesKey


@dataclass(frozen=True, kw_only=True)
class CorrelationThresholds(Thresholds):
    """How close the starts of two findings of one event are."""

    near_steps: int = 100
    """Steps within which overflows, collapses of the loss scale and spikes of one event begin."""
    near_rows: int = 8
    """Points of the earlier finding's series; applies where points are further apart than the steps above.
    So many after an accuracy or a reward is seen to fall, a mean of it over up to a hundred begins to."""
    mixture_shift_rows: int = 32
    """Points. The start of a shift of the data mixture is not known more precisely."""
    spacing_rows: int = 64
    """Points before a finding from which the spacing of its series is taken, as their median."""


_THRESHOLDS = CorrelationThresholds()
_SPIKES = frozenset({Kind.SPIKE_FAST, Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED, Kind.DIVERGENCE})
_LOSS_CHANGES = _SPIKES | {Kind.SUDDEN_DROP, Kind.OUTLIER_BATCH}
_HANG_CAUSES = frozenset({Kind.DESYNC, Kind.GPU_FAULT})
_GAIN_ROLES = (Role.ACCURACY, Role.REWARD)
_TRAINING_ROLES = (Role.LOSS, Role.DATASET_LOSS, Role.GRAD_NORM)
_DEGRADED_EVALUATION = _SPIKES | {Kind.NONFINITE, Kind.RESUME_ARTIFACT}
_DEGRADING = _DEGRADED_EVALUATION | {Kind.OUTLIER_BATCH, Kind.MIXTURE_SHIFT, Kind.LOSS_SCALE_COLLAPSE}
_CORRELATED_KINDS = _HANG_CAUSES | {
    Kind.LOSS_SCALE_COLLAPSE,
    Kind.HIDDEN_NONFINITE,
    Kind.METRIC_COLLAPSE,
    Kind.MIXTURE_SHIFT,
    Kind.RESUME_ARTIFACT,
}
"""Kinds that may belong to one event with findings of other kinds."""
_MIXTURE_EVIDENCE = ("shares_before", "shares", "by_shares")


@dataclass(frozen=True)
class _Merge:
    """How two findings become one.

    `renamed`: the later one is the cause and gives its kind. `swapped`: the earlier one belongs to the later
    one. `most_severe`: the merged finding is as severe as the more severe of the two. `states_both`: where
    the later one is more severe, the sentences of both and its advice.
    """

    renamed: bool = False
    swapped: bool = False
    most_severe: bool = False
    states_both: bool = False


def merge_correlated(findings: Iterable[Finding], run: RunData) -> list[Finding]:
    """The findings, one per event, in the order of detection."""
    events = _Events()
    for finding in sorted(
        findings, key=lambda each: (each.attempt, each.detected_step, each.kind in _LOSS_CHANGES)
    ):
        for index in events.candidates(finding):
            earlier = events.merged[index]
            merge = _merge_of(earlier, finding, run)
            if merge is not None:
                pair = (finding, earlier) if merge.swapped else (earlier, finding)
                events.replace(index, _merged(*pair, merge))
                break
        else:
            events.append(finding)
    return events.merged


class _Events:
    """The findings so far, one per event, by attempt: a run with thousands of spikes compares none of them
    with each other."""

    def __init__(self) -> None:
        self.merged: list[Finding] = []
        self._of_attempt: dict[int, list[int]] = {}
        self._correlated: dict[int, list[int]] = {}

    def candidates(self, finding: Finding) -> list[int]:
        """The indices of the events to which a finding may belong, in their order."""
        may_follow_any = finding.kind in _CORRELATED_KINDS or _is_of_evaluation(finding)
        return (self._of_attempt if may_follow_any else self._correlated).get(finding.attempt, [])

    def append(self, finding: Finding) -> None:
        """Add an event."""
        self._of_attempt.setdefault(finding.attempt, []).append(len(self.merged))
        self.merged.append(finding)
        self._index_kind(len(self.merged) - 1)

    def replace(self, index: int, finding: Finding) -> None:
        """Replace an event by one that has taken up another finding of its attempt."""
        self.merged[index] = finding
        self._index_kind(index)

    def _index_kind(self, index: int) -> None:
        finding = self.merged[index]
        correlated = self._correlated.setdefault(finding.attempt, [])
        if finding.kind not in _CORRELATED_KINDS:
            return
        place = bisect_left(correlated, index)
        if correlated[place : place + 1] != [index]:
            correlated.insert(place, index)


def _merge_of(earlier: Finding, later: Finding, run: RunData) -> _Merge | None:
    """How the later finding belongs to the earlier one's event; None: it is an event of its own."""
    pair = {earlier.kind, later.kind}
    if _is_of_evaluation(later) and not _is_of_evaluation(earlier):
        return _evaluation(earlier, later, run)
    if earlier.attempt != later.attempt or not pair & _CORRELATED_KINDS:
        return None
    if pair == {Kind.RESUME_ARTIFACT}:
        return _Merge(most_severe=True)  # a restart is one event, whatever it did not restore
    if pair == {Kind.METRIC_COLLAPSE}:
        return _lost_together(earlier, later, _THRESHOLDS.near_rows * _spacing(earlier, run))
    spacing = _spacing(earlier, run)
    near = max(_THRESHOLDS.near_steps, _THRESHOLDS.near_rows * spacing)
    if Kind.LOSS_SCALE_COLLAPSE in pair:
        return _overflow(earlier, later, near)
    if Kind.HIDDEN_NONFINITE in pair:
        return _masking(earlier, later, _THRESHOLDS.near_rows * spacing)
    if Kind.MIXTURE_SHIFT in pair:
        return _mixture(earlier, later, _THRESHOLDS.mixture_shift_rows * spacing)
    elapsed = later.start_step - earlier.detected_step
    if earlier.kind in _HANG_CAUSES and later.kind is Kind.STALL and elapsed <= near:
        return _Merge(most_severe=True)
    # the loss ended before the ranks showed why
    if earlier.kind is Kind.STALL and later.kind is Kind.DESYNC and 0 <= elapsed <= near:
        return _Merge(swapped=True, most_severe=True)
    return None


def _is_of_evaluation(finding: Finding) -> bool:
    return role_of(SeriesKey(finding.metric, finding.labels)) is Role.EVAL_LOSS


def _evaluation(earlier: Finding, later: Finding, run: RunData) -> _Merge | None:
    """An evaluation that is worse because of what the training loss showed in the last two intervals."""
    of_training = role_of(SeriesKey(earlier.metric, earlier.labels)) in _TRAINING_ROLES
    since = later.start_step - 2 * _spacing(later, run)
    caused = earlier.kind in _DEGRADING and of_training and since < earlier.start_step <= later.detected_step
    same_attempt = earlier.attempt == later.attempt
    if not caused or not same_attempt or later.kind not in _DEGRADED_EVALUATION:
        return None
    # what is over for the training loss, or too little to matter, may still have damaged the model
    return _Merge(most_severe=True, states_both=True)


def _lost_together(earlier: Finding, later: Finding, near: int) -> _Merge | None:
    """Accuracies and rewards that fall at the same steps measure the same model, and a mean over more points
    falls later."""
    are_gains = all(role_of(SeriesKey(each.metric, each.labels)) in _GAIN_ROLES for each in (earlier, later))
    return (
        _Merge(most_severe=True) if are_gains and later.start_step <= earlier.detected_step + near else None
    )


def _overflow(earlier: Finding, later: Finding, near: int) -> _Merge | None:
    """Overflowing gradients make the loss scale collapse; a NaN or spiking loss makes them overflow."""
    distance = later.start_step - earlier.start_step
    if Kind.NONFINITE in (earlier.kind, later.kind) and abs(distance) <= near:
        of_gradient = role_of(SeriesKey(earlier.metric, earlier.labels)) is Role.GRAD_NORM
        return _Merge(renamed=earlier.kind is Kind.NONFINITE and of_gradient, most_severe=True)
    spikes = earlier.kind in _SPIKES or later.kind in _SPIKES
    return _Merge(most_severe=True) if spikes and 0 <= distance <= near else None


def _masking(earlier: Finding, later: Finding, near: int) -> _Merge | None:
    """A logger that begins to mask NaN, or stops, moves the curve: both are the same event."""
    if Kind.NONFINITE in (earlier.kind, later.kind):
        if abs(later.start_step - earlier.start_step) > near:
            return None
        return _Merge(renamed=_has_exploded(earlier, later), most_severe=True)
    if earlier.kind is not Kind.HIDDEN_NONFINITE or later.kind not in _LOSS_CHANGES:
        return None
    # counts of skipped steps mask nothing: what the loss does next to them is real
    if (earlier.metric, earlier.labels) != (later.metric, later.labels):
        return None
    edges = (earlier.start_step, earlier.evidence.get("good_step"))
    at_edge = any(edge is not None and abs(later.start_step - edge) <= near for edge in edges)
    return _Merge() if at_edge else None


def _has_exploded(absurd: Finding, nonfinite: Finding) -> bool:
    """Whether a series was absurdly large until it was NaN or infinite: a log that shows these masks none."""
    if (absurd.kind, absurd.evidence.get("how")) != (Kind.HIDDEN_NONFINITE, ABSURD_VALUE):
        return False
    good = absurd.evidence["good_step"]
    is_same = str(SeriesKey(nonfinite.metric, nonfinite.labels)) in absurd.evidence["metrics"]
    return is_same and (good is None or nonfinite.start_step <= good)


def _mixture(earlier: Finding, later: Finding, near: int) -> _Merge | None:
    """A change of the data mixture explains where the loss moved to."""
    # a spike of one dataset alone is independent of the shares
    same_series = (earlier.metric, earlier.labels) == (later.metric, later.labels)
    of_loss = same_series and (earlier.kind in _LOSS_CHANGES or later.kind in _LOSS_CHANGES)
    is_near = abs(later.start_step - earlier.start_step) <= near
    return _Merge(renamed=later.kind is Kind.MIXTURE_SHIFT) if of_loss and is_near else None


def _spacing(finding: Finding, run: RunData) -> int:
    """Steps between two points of the finding's series before it began."""
    series = run.series.get(SeriesKey(finding.metric, finding.labels))
    if series is None:
        return 1
    span = rows_of_attempt(series, finding.attempt)
    upto = span.first + int(np.searchsorted(series.step[span.rows], finding.start_step))
    before = series.step[max(span.first, upto - _THRESHOLDS.spacing_rows) : upto]
    return int(np.median(np.diff(before))) if len(before) > 1 else 1


def _merged(earlier: Finding, later: Finding, merge: _Merge) -> Finding:
    """The earlier finding with the later one as evidence, or the later one at the earlier one's position."""
    main, other = (later, earlier) if merge.renamed else (earlier, later)
    also = [*earlier.evidence.get("also", ()), other.as_reference()]
    severities = (earlier.severity, later.severity)
    mixture = {key: other.evidence[key] for key in _MIXTURE_EVIDENCE if key in other.evidence}
    if merge.renamed and earlier.kind is Kind.HIDDEN_NONFINITE:
        main = _exploded(earlier, later)
    if merge.states_both and later.severity.rank > earlier.severity.rank:
        main = replace(main, summary=f"{earlier.summary} {later.summary}", advice=later.advice)
    return replace(
        main,
        metric=earlier.metric,
        labels=earlier.labels,
        attempt=earlier.attempt,
        start_step=earlier.start_step,
        detected_step=earlier.detected_step,
        severity=max(severities, key=lambda each: each.rank) if merge.most_severe else main.severity,
        evidence={**mixture, **main.evidence, "also": also},
    )


def _exploded(absurd: Finding, nonfinite: Finding) -> Finding:
    """The finding of NaN or infinity, which says that the series had been absurdly large before."""
    series, value = SeriesKey(absurd.metric, absurd.labels), figure(absurd.evidence["value"])
    since = f"{absurd.start_step:,}"
    return replace(
        nonfinite,
        peak_step=absurd.peak_step,
        summary=f"{series} rose to {value} at step {since}. {nonfinite.summary}",
        advice=nonfinite.advice.replace(f"before step {nonfinite.start_step:,}", f"before step {since}"),
    )

"""Evaluation losses: jumps, an upward turn and NaN, each reported as early as so few points allow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from holter.detectors.detector import DetectorContext
from holter.detectors.evaluation.nonfinite import (
    NonfiniteEvaluationThresholds,
    find_nonfinite_evaluations,
)
from holter.detectors.evaluation.outcome import (
    EvaluationRise,
    RiseOutcome,
    determine_outcome,
    drift_course,
)
from holter.detectors.evaluation.scan import (
    EvaluationHistory,
    EvaluationScanState,
    EvaluationScanThresholds,
    EvidenceWeight,
    scan_evaluations,
)
from holter.detectors.evaluation.train_loss import (
    TrainingComparison,
    TrainingComparisonThresholds,
    compare_with_training_loss,
)
from holter.detectors.formatting import from_to
from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.loss.announced_changes import AnnouncedChangeThresholds, find_announced_change
from holter.detectors.loss.excursions.segment import AttemptSegment, split_attempts
from holter.detectors.loss.precursors import Precursors, PrecursorThresholds, find_precursors
from holter.detectors.positions import position_of, rows_up_to
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, Kind, RunData, Series, Severity, reference_to


@dataclass(frozen=True, kw_only=True)
class EvaluationThresholds(Thresholds):
    """All thresholds of the detection in evaluation losses."""

    doubt: float = 0.3
    """Confidence lacking at a strength of 1; it falls with the square of the strength."""
    scan: EvaluationScanThresholds = EvaluationScanThresholds()
    """How rises are detected and followed."""
    nonfinite: NonfiniteEvaluationThresholds = NonfiniteEvaluationThresholds()
    """When NaN or infinite evaluations are reported."""
    training: TrainingComparisonThresholds = TrainingComparisonThresholds()
    """When the training loss counts as having risen as well."""
    precursors: PrecursorThresholds = PrecursorThresholds()
    """How a planned change of the learning rate changes the evidence."""
    announced: AnnouncedChangeThresholds = AnnouncedChangeThresholds()
    """Which logged changes announce a rise."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluationDetection:
    """A rise with its outcome, and with the series and the evaluations it was detected in."""

    series: Series
    segment: AttemptSegment
    rise: EvaluationRise
    outcome: RiseOutcome

    def step(self, index: int) -> int:
        return int(self.segment.step[index])

    def is_same_event(self, later: EvaluationDetection) -> bool:
        """Whether a rise of another series, detected later, is this one: it was not known to be over then."""
        if self.rise.attempt != later.rise.attempt or self.series is later.series:
            return False
        back, confirmed = self.outcome.back, self.outcome.confirmed
        if back is None or confirmed is None or self.step(confirmed) > later.step(later.rise.detected):
            return True
        return later.step(later.rise.start) <= self.step(back)


@dataclass(frozen=True, kw_only=True)
class EvaluationDetector:
    """Detects where an evaluation loss rises, once, for good or more and more, or is not finite."""

    name: ClassVar[str] = "evaluation"
    kinds: ClassVar[frozenset[Kind]] = frozenset(
        {
            Kind.SPIKE_FAST,
            Kind.SPIKE_SLOW,
            Kind.SPIKE_UNRECOVERED,
            Kind.DIVERGENCE,
            Kind.RESUME_ARTIFACT,
            Kind.NONFINITE,
        }
    )
    thresholds: EvaluationThresholds = EvaluationThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterator[Finding]:
        """Findings on the evaluation losses; several that rise together are one."""
        losses = [
            run.series[key]
            for key in sorted(run.series)
            if role_of(key) is Role.EVAL_LOSS and key.rank is None
        ]
        if not losses:
            return
        # of the other series only a planned change of the learning rate changes the evidence
        precursors = replace(find_precursors(run, context.state, self.thresholds.precursors), norm=None)
        detections = [
            detection for series in losses for detection in self._detect_in(series, precursors, context)
        ]
        for first, *others in _events(detections):
            yield self._finding(run, first, others)
        nonfinite = {
            (finding.attempt, finding.start_step): finding
            for series in reversed(losses)
            for finding in find_nonfinite_evaluations(series, self.thresholds.nonfinite)
        }
        yield from (nonfinite[position] for position in sorted(nonfinite))

    def _detect_in(
        self, series: Series, precursors: Precursors, context: DetectorContext
    ) -> Iterator[EvaluationDetection]:
        tuning = context.tuning.of(series.key.metric)
        segments = split_attempts(series, context.state)
        by_attempt = {segment.attempt: segment for segment in segments}
        rises = _scan_incrementally(
            segments, series, precursors, context.state, tuning.sensitivity, self.thresholds.scan
        )
        for rise in rises:
            segment = by_attempt[rise.attempt]
            outcome = determine_outcome(
                rise,
                segment.step,
                segment.value,
                _next_start(rises, rise, len(segment.step)),
                tuning.fast_recovery_steps,
                self.thresholds.scan.outcome,
            )
            yield EvaluationDetection(series=series, segment=segment, rise=rise, outcome=outcome)

    def _finding(
        self, run: RunData, detection: EvaluationDetection, others: list[EvaluationDetection]
    ) -> Finding:
        rise, outcome, key = detection.rise, detection.outcome, detection.series.key
        start, detected = detection.step(rise.start), detection.step(rise.detected)
        good_step = detection.step(rise.start - 1) if rise.start else start
        training = compare_with_training_loss(
            run, rise.attempt, good_step, detected, self.thresholds.training
        )
        announced = find_announced_change(run, rise.attempt, good_step, detected, self.thresholds.announced)
        peak = float(detection.segment.value[outcome.peak])
        back = None if outcome.back is None else detection.step(outcome.back)
        low, reached, risen_since = rise.baseline, peak, start
        if outcome.kind is Kind.DIVERGENCE:
            value = detection.segment.value
            until = len(value) if outcome.back is None else outcome.back
            course = drift_course(rise, value, until, self.thresholds.scan.outcome)
            low, reached, good_step = course.low, course.high, detection.step(course.last_low)
            risen_since = detection.step(course.last_low + 1)
        also = [_reference_to_rise(other) for other in others]
        return Finding(
            kind=outcome.kind,
            metric=key.metric,
            labels=key.labels,
            attempt=rise.attempt,
            start_step=start,
            detected_step=detected,
            peak_step=detection.step(outcome.peak),
            end_step=back,
            classified_step=None if outcome.classified is None else detection.step(outcome.classified),
            severity=_severity(outcome, training, is_announced=announced is not None),
            confidence=float(1 - self.thresholds.doubt / min(max(rise.strength, 1.0), 1e6) ** 2),
            summary=_summary(detection, risen_since, (low, reached), back, training),
            advice=_advice(outcome.kind, good_step, start if back is not None else None, training),
            evidence={
                "baseline": rise.baseline,
                "peak": peak,
                "noise": rise.sigma,
                "noise_known_from": rise.known,
                "strength": rise.strength,
                "evaluations": rise.width,
                "recovery_steps": None if back is None else back - start,
                "cause": training.cause,
                **training.evidence,
                **({"rollback_upto": good_step} if _needs_rollback(outcome, training) else {}),
                **({"also": also} if also else {}),
            },
        )


def _next_start(rises: tuple[EvaluationRise, ...], rise: EvaluationRise, end: int) -> int:
    """The evaluation at which the next rise of the same attempt begins, `end` if there is none."""
    return next(
        (later.start for later in rises if later.attempt == rise.attempt and later.start > rise.start), end
    )


def _events(detections: list[EvaluationDetection]) -> list[list[EvaluationDetection]]:
    """The rises grouped by event, each group headed by the one that was detected first."""
    events: list[list[EvaluationDetection]] = []
    in_order = sorted(
        detections, key=lambda detection: (detection.rise.attempt, detection.step(detection.rise.detected))
    )
    for detection in in_order:
        event = next((event for event in events if event[0].is_same_event(detection)), None)
        if event is None:
            events.append([detection])
        else:
            event.append(detection)
    return events


def _scan_incrementally(
    segments: list[AttemptSegment],
    series: Series,
    precursors: Precursors,
    state: IncrementalState,
    sensitivity: float,
    thresholds: EvaluationScanThresholds,
) -> tuple[EvaluationRise, ...]:
    """Every rise of a series, split into segments; only evaluations since the last pass are scanned."""
    inputs = [series, *precursors.series]
    results: ScanCheckpoints[tuple[EvaluationRise, ...]] = state.checkpoints(
        ("evaluation", "rises", series.key), inputs
    )
    result = results.latest(inputs)
    if result is not None and result.rows[0] == len(series):
        return result.state
    checkpoints: ScanCheckpoints[EvaluationScanState] = state.checkpoints(("evaluation", series.key), inputs)
    checkpoint = checkpoints.latest(inputs)
    scan_state = EvaluationScanState(attempt=-1, history=EvaluationHistory())
    if checkpoint is not None:
        scan_state = checkpoint.state
    for segment in segments:
        if segment.attempt > scan_state.attempt:
            scan_state = scan_state.next_attempt(segment.attempt, int(segment.step[0]))
        if segment.attempt < scan_state.attempt:
            continue
        weight = _evidence_weight(segment, precursors, sensitivity)
        for next_state in scan_evaluations(scan_state, segment.step, segment.value, weight, thresholds):
            scan_state = next_state
            if scan_state.is_final:
                position = position_of(series, segment.row(scan_state.index - 1))
                rows = tuple(rows_up_to(member, position) for member in inputs)
                checkpoints.save(Checkpoint(scan_state, rows, upto=position))
    if len(series):
        position = position_of(series, len(series) - 1)
        rows = tuple(rows_up_to(member, position) for member in inputs)
        results.save(Checkpoint(scan_state.rises, rows, upto=position))
    return scan_state.rises


def _evidence_weight(segment: AttemptSegment, precursors: Precursors, sensitivity: float) -> EvidenceWeight:
    return lambda first, stop: sensitivity * precursors.factor(segment, first, stop)


def _severity(outcome: RiseOutcome, training: TrainingComparison, *, is_announced: bool) -> Severity:
    """A rise that a logged change announced is information once it is back, or while it may come back.

    One that lasts is no more than a warning where the training loss did not rise: the run continues,
    and the checkpoint before is the result.
    """
    lasts = outcome.back is None and outcome.kind not in (Kind.SPIKE_FAST, Kind.SPIKE_SLOW)
    if is_announced and not lasts:
        return Severity.INFO
    is_critical = outcome.severity is Severity.CRITICAL
    return Severity.WARNING if is_critical and training.rose is False else outcome.severity


def _reference_to_rise(detection: EvaluationDetection) -> dict[str, object]:
    key = detection.series.key
    return reference_to(
        detection.outcome.kind,
        metric=key.metric,
        labels=key.labels,
        attempt=detection.rise.attempt,
        start_step=detection.step(detection.rise.start),
    )


def _needs_rollback(outcome: RiseOutcome, training: TrainingComparison) -> bool:
    """Whether the model got worse, as far as is known, and not its evaluation."""
    return outcome.back is None and (outcome.kind is Kind.DIVERGENCE or training.rose is not False)


_TRAINING_CLAUSE = {
    True: ", and the training loss rose with it",
    False: ", while the training loss did not",
    None: "",
}


def _summary(
    detection: EvaluationDetection,
    start_step: int,
    levels: tuple[float, float],
    back_step: int | None,
    training: TrainingComparison,
) -> str:
    """What happened, in one sentence."""
    kind, clause = detection.outcome.kind, _TRAINING_CLAUSE[training.rose]
    loss, start = f"Evaluation loss {detection.series.key}", f"{start_step:,}"
    moved, back = from_to(*levels), ""
    if back_step is not None:
        back = f" and was back at step {back_step:,}"
    if kind is Kind.DIVERGENCE:
        verb = "rose" if back else "has been rising since"
        return f"{loss} {verb} about step {start}, {moved}{back}{clause}."
    when = "with the restart at" if kind is Kind.RESUME_ARTIFACT else "at"
    stays = " and stays there" if kind is Kind.SPIKE_UNRECOVERED else back
    return f"{loss} rose {moved} {when} step {start}{stays}{clause}."


def _advice(kind: Kind, good_step: int, back_from: int | None, training: TrainingComparison) -> str:
    """What to do about a rise after a good evaluation at `good_step`; `back_from`: where it began, if it is
    back."""
    good = f"{good_step:,}"
    if back_from is not None:
        return (
            f"Nothing to do now; evaluate the checkpoint of step {back_from:,} again before it is used, and "
            "those up to the recovery."
        )
    if kind is Kind.DIVERGENCE and training.rose is False:
        return f"The model overfits, or the training data drift: keep the checkpoint of step {good}."
    if kind is Kind.RESUME_ARTIFACT:
        return "Compare weights, evaluation data and precision with those before the restart."
    if training.rose is False:
        return "Check the evaluation first: its data, its code, the checkpoint it loads."
    if training.rose is None:
        return (
            f"Evaluate the checkpoint of step {good} again: it shows if the model or the evaluation changed."
        )
    return f"The model got worse: go back to a checkpoint up to step {good}, and check the batches since."

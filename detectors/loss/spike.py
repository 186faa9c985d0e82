"""Spikes, divergence and bad resumes: excursions of the training loss, one finding per event.

The total loss and the losses of single datasets are scanned separately. Detections at the same time are one
event; the first one names it, and keeps naming it. What the total shows is its event.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from holter.detectors.detector import DetectorContext
from holter.detectors.loss.affected_datasets import (
    AffectedDatasetThresholds,
    dataset_labels,
    find_affected_dataset,
)
from holter.detectors.loss.announced_changes import (
    AnnouncedChangeThresholds,
    find_announced_change,
    follow_change,
    outgrows_change,
)
from holter.detectors.loss.classify import KINDS, classify
from holter.detectors.loss.components import ComponentThresholds, after_waiting, components_of, is_total
from holter.detectors.loss.detections import (
    LossDetection,
    merge_excursions,
    with_rate_mismatches,
    with_unmarked_restarts,
)
from holter.detectors.loss.dip_returns import DipReturnThresholds, dip_before
from holter.detectors.loss.excursions.evidence_factor import (
    EvidenceFactor,
    GradientEvidence,
    remember_latest,
)
from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.loss.excursions.resume_scan import scan_incrementally
from holter.detectors.loss.excursions.scan_thresholds import ExcursionThresholds
from holter.detectors.loss.excursions.segment import split_attempts
from holter.detectors.loss.lr_mismatch import (
    RateMismatches,
    RateMismatchThresholds,
    find_rate_mismatches,
)
from holter.detectors.loss.messages import (
    RollbackThresholds,
    SpikeFacts,
    advise_on_spike,
    rollback_for,
    summarize_spike,
)
from holter.detectors.loss.periodic_rises import PeriodicRiseThresholds, without_repetitions
from holter.detectors.loss.preceding_changes import PrecedingChangeThresholds, find_preceding_changes
from holter.detectors.loss.precursors import Precursors, PrecursorThresholds, find_precursors
from holter.detectors.loss.reported_events import ReportedEvents
from holter.detectors.loss.unmarked_restarts import UnmarkedRestartThresholds, find_unmarked_restarts
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.tuning import Tuning
from holter.types import Finding, Kind, RunData, Series, SeriesKey

_LEVEL_POINTS = 8
"""Points whose median is a level that a drift has reached."""


@dataclass(frozen=True, kw_only=True)
class SpikeThresholds(Thresholds):
    """All thresholds of the detection of spikes, divergence and bad resumes."""

    dataset_lone_evidence: float = 0.5
    """Factor on the evidence of a single point of a single dataset: it rests on few samples, and one of them
    may be far out in healthy data."""
    lost_rows: int = 3
    """Rows in sequence of a loss that is NaN or infinite after which a rise before them has not come back: a
    loss scaler skips one or two."""
    doubt: float = 0.3
    """Confidence lacking at a strength of 1; it falls with the square of the strength."""
    excursions: ExcursionThresholds = ExcursionThresholds()
    """How excursions are detected and followed."""
    precursors: PrecursorThresholds = PrecursorThresholds()
    """How other metrics raise or lower the evidence."""
    rate_mismatches: RateMismatchThresholds = RateMismatchThresholds()
    """When a restart counts as one with another learning rate."""
    unmarked_restarts: UnmarkedRestartThresholds = UnmarkedRestartThresholds()
    """When a restart is recognized that the log does not mark."""
    datasets: AffectedDatasetThresholds = AffectedDatasetThresholds()
    """When a rise is attributed to a single dataset."""
    components: ComponentThresholds = ComponentThresholds()
    """When an event of a component of the loss is reported, or one of the total."""
    periodic_rises: PeriodicRiseThresholds = PeriodicRiseThresholds()
    """When a rise only repeats earlier ones, as at the boundaries of epochs."""
    preceding_changes: PrecedingChangeThresholds = PrecedingChangeThresholds()
    """When a change of another metric is reported with an event."""
    announced_changes: AnnouncedChangeThresholds = AnnouncedChangeThresholds()
    """When a change that the run logged explains a rise as planned."""
    dip_returns: DipReturnThresholds = DipReturnThresholds()
    """When a rise is a return from a dip."""
    rollback: RollbackThresholds = RollbackThresholds()
    """Where the advice rolls back to."""

    def of_one_dataset(self, datasets: int) -> ExcursionThresholds:
        """How excursions are detected in the loss of one of so many datasets: each has its share of the
        chance of a false alarm, and single points count less."""
        alarms = self.excursions.alarms
        errors = float(-ndtri(ndtr(-alarms.mean_errors) / max(datasets, 1)))
        share = replace(
            alarms,
            sum_chance=alarms.sum_chance / max(datasets, 1),
            mean_errors=errors,
            both_mean_errors=alarms.both_mean_errors * errors / alarms.mean_errors,
            lone_evidence=self.dataset_lone_evidence,
        )
        return replace(self.excursions, alarms=share)


@dataclass(frozen=True, kw_only=True)
class SpikeDetector:
    """Detects where a training loss leaves its trend upwards, and restarts that move it."""

    name: ClassVar[str] = "spike"
    kinds: ClassVar[frozenset[Kind]] = KINDS
    thresholds: SpikeThresholds = SpikeThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterator[Finding]:
        """Findings on the training loss, and on the losses of single datasets."""
        by_role: dict[Role, list[Series]] = {Role.LOSS: [], Role.DATASET_LOSS: []}
        for key in sorted(run.series):
            # thousands of ranks repeat the loss of the run
            if role_of(key) in by_role and key.rank is None:
                by_role[role_of(key)].append(run.series[key])
        # an event of the total and of its components is named by the total
        components = components_of(by_role[Role.LOSS])
        losses = sorted(by_role[Role.LOSS], key=lambda series: not is_total(series.key))
        datasets = by_role[Role.DATASET_LOSS]
        scan = _LossScan(
            run=run,
            context=context,
            thresholds=self.thresholds,
            mismatches=find_rate_mismatches(run, context.state, self.thresholds.rate_mismatches),
            precursors=find_precursors(run, context.state, self.thresholds.precursors),
        )
        of_one_dataset = self.thresholds.of_one_dataset(len(datasets))
        detections = [
            *(
                detection
                for series in losses
                for detection in scan.detect_in(series, is_component=series.key in components)
            ),
            *(detection for series in datasets for detection in scan.detect_in(series, of_one_dataset)),
        ]
        # the total first where both were detected at one step
        detections.sort(
            key=lambda detection: (
                detection.excursion.attempt,
                detection.reported_step,
                detection.series in datasets,
            )
        )
        reporter = _EventReporter(
            run=run,
            tuning=context.tuning,
            thresholds=self.thresholds,
            mismatches=scan.mismatches,
            events=ReportedEvents(run, context.state),
        )
        yield from reporter.findings(detections, datasets, next(iter(losses), None), components)
        reporter.events.save()


@dataclass(frozen=True, eq=False, kw_only=True)
class _LossScan:
    """The scan of a run's losses, with what other series contribute to it."""

    run: RunData
    context: DetectorContext
    thresholds: SpikeThresholds
    mismatches: RateMismatches
    precursors: Precursors

    def detect_in(
        self, series: Series, own: ExcursionThresholds | None = None, *, is_component: bool = False
    ) -> list[LossDetection]:
        """The detections in one series; `own` are its thresholds where they are not those of the total."""
        state, thresholds = self.context.state, self.thresholds
        limits = thresholds.excursions if own is None else own
        segments = split_attempts(series, state)
        by_attempt = {segment.attempt: segment for segment in segments}
        sensitivity = self.context.tuning.of(series.key.metric).sensitivity
        inputs = [series, *self.precursors.series]
        precursors = self.precursors
        gradient = GradientEvidence(
            points=tuple(points for points, _ in self.thresholds.precursors.gradient.rises.all_means),
            errors=precursors.gradient_errors,
            since_restart=precursors.restart_errors,
            factor=lambda segment, first, stop: sensitivity * precursors.planned_factor(segment, first, stop),
        )
        factor = EvidenceFactor(
            remember_latest(
                lambda segment, first, stop: sensitivity * precursors.factor(segment, first, stop)
            ),
            least=sensitivity * precursors.least,
            most=sensitivity * precursors.most,
            gradient=None if precursors.norm is None else gradient,
        )
        excursions = scan_incrementally(
            segments,
            inputs,
            state.checkpoints((SpikeDetector.name, series.key), inputs),
            limits,
            mismatched=self.mismatches,
            factor=factor,
        )
        detections = without_repetitions(
            self.run,
            merge_excursions(series, excursions, by_attempt, thresholds.excursions.trains),
            thresholds.periodic_rises,
        )
        if role_of(series.key) is Role.LOSS:
            detections = with_rate_mismatches(
                detections,
                series,
                segments,
                self.mismatches,
                thresholds.excursions.baseline,
                thresholds.rate_mismatches.strength,
            )
        restarts = find_unmarked_restarts(self.run, series, state, thresholds.unmarked_restarts)
        detections = with_unmarked_restarts(detections, restarts)
        return after_waiting(detections, thresholds.components) if is_component else detections


@dataclass(frozen=True, eq=False, kw_only=True)
class _EventReporter:
    """Turns detections in several series into one finding per event."""

    run: RunData
    tuning: Tuning
    thresholds: SpikeThresholds
    mismatches: RateMismatches
    events: ReportedEvents

    def findings(
        self,
        detections: list[LossDetection],
        datasets: list[Series],
        total: Series | None,
        components: Collection[SeriesKey],
    ) -> Iterator[Finding]:
        """One finding per event, of detections in the order in which they are reported.

        Those of `components` name no event of another series than a component.
        """
        reported: dict[tuple[int, SeriesKey], list[LossDetection]] = {}
        several = len({detection.series.key for detection in detections}) > 1
        for detection in detections:
            if several and any(
                earlier.is_same_event(detection)
                for (attempt, key), events in reported.items()
                if attempt == detection.excursion.attempt
                and key != detection.series.key
                and (key not in components or detection.series.key in components)
                for earlier in events
            ):
                continue
            _add(reported, detection)
            excursion = detection.excursion
            waited = detection.waited
            affected = find_affected_dataset(
                [] if excursion.at_restart else datasets,
                excursion.attempt,
                detection.start_step,
                detection.segment.step[excursion.detected :],
                self.thresholds.datasets,
            )
            if affected is None:
                continue
            if affected.dataset is None:
                series = detection.series if total is None or detection.series not in datasets else total
                waited = max(waited, affected.waited)
                yield self._known_finding(detection, detection, series.key, waited)
                continue
            # the dataset's own curve shows the development best
            own = next(
                (
                    other
                    for other in detections
                    if other.series is affected.dataset and detection.is_same_event(other)
                ),
                None,
            )
            if own is not None:
                _add(reported, own)
            key = SeriesKey(affected.dataset.key.metric, dataset_labels(affected.dataset))
            yield self._known_finding(detection, own or detection, key, max(waited, affected.waited))

    def _known_finding(
        self, detection: LossDetection, development: LossDetection, key: SeriesKey, waited: int
    ) -> Finding:
        """The finding of a detection, from an earlier pass where the event was over by then."""
        form = partial(self._finding, detection, development, key, waited)
        return self.events.finding_of(detection, development, key, waited, form)

    def _finding(
        self, detection: LossDetection, development: LossDetection, key: SeriesKey, waited: int
    ) -> Finding:
        """The finding of a detection, whose development is taken from another one of the same event.

        `waited` is the number of points after the detection that were needed to name the series.
        """
        detected_step = int(detection.segment.step[detection.excursion.detected + waited])
        attempt = development.excursion.attempt
        announced = find_announced_change(
            self.run,
            attempt,
            detection.start_step,
            int(detection.segment.step[detection.excursion.detected]),
            self.thresholds.announced_changes,
        )
        is_announced, may_last = False, False
        if announced is not None:
            is_announced, may_last = self._explains(announced, development)
        is_expected = detection.is_usual or is_announced
        may_last = may_last or detection.excursion.jumps >= self.thresholds.periodic_rises.usual_jumps
        dip = dip_before(
            development.excursion,
            development.segment,
            self.thresholds.excursions.recovery,
            self.thresholds.dip_returns,
        )
        facts = self._facts(
            detection,
            development,
            key,
            detected_step,
            is_expected=is_expected or dip is not None,
            may_last=may_last or dip is not None,
        )
        changes = find_preceding_changes(
            self.run, attempt, facts.start_step, detected_step, self.thresholds.preceding_changes
        )
        if announced is not None and announced["what"] not in {change["what"] for change in changes}:
            changes.append(announced)
        points = detection.excursion.detected - detection.excursion.start + waited + 1
        strength = min(max(detection.excursion.strength, 1.0), 1e6)
        return Finding(
            kind=facts.classification.kind,
            metric=key.metric,
            labels=key.labels,
            attempt=attempt,
            start_step=facts.start_step,
            detected_step=detected_step,
            peak_step=facts.peak_step,
            end_step=facts.end_step,
            classified_step=facts.classification.classified_step,
            severity=facts.classification.severity,
            confidence=float(1 - self.thresholds.doubt / strength**2),
            summary=summarize_spike(replace(facts, dip=dip)),
            advice=advise_on_spike(facts),
            evidence={
                **_evidence(development.excursion, facts),
                "points_to_detect": points,
                "precursors": changes,
            },
        )

    def _explains(self, announced: dict[str, Any], development: LossDetection) -> tuple[bool, bool]:
        """Whether an announced change explains a rise, as far as is known, and also that it lasts."""
        limits, excursion = self.thresholds.announced_changes, development.excursion
        last = excursion.recovery.last_seen if excursion.recovery.back is None else excursion.recovery.back
        until = development.step(last) or development.start_step
        followed = follow_change(self.run, announced, excursion.attempt, until, limits)
        explains = not outgrows_change(announced, followed, excursion, development.segment, limits)
        return explains, explains and followed.lasts

    def _facts(
        self,
        detection: LossDetection,
        development: LossDetection,
        key: SeriesKey,
        detected_step: int,
        *,
        is_expected: bool,
        may_last: bool,
    ) -> SpikeFacts:
        """The facts of an event, by the detection that shows its development best."""
        excursion, recovery = development.excursion, development.excursion.recovery
        lost_at = development.lost_at(self.thresholds.lost_rows)
        classification = classify(
            excursion,
            development.segment,
            self.tuning.of(development.series.key.metric),
            self.thresholds.excursions.recovery,
            settled_at=development.settled_at,
            is_lost=lost_at is not None,
            is_expected=is_expected,
            may_last=may_last,
        )
        peak_step = max(development.step(recovery.peak) or 0, detection.start_step)
        is_back = recovery.confirmed is not None
        rollback = rollback_for(
            classification.kind,
            self.thresholds.rollback,
            start_step=detection.start_step,
            peak_step=peak_step,
            detected_step=detected_step,
            spacing=detection.segment.steps_since_previous(detection.excursion.start),
            unit=detection.segment.unit,
        )
        is_over = is_back and classification.kind is Kind.SPIKE_SLOW
        has_mismatch = excursion.at_restart and development.restart is None
        return SpikeFacts(
            classification=classification,
            baseline=excursion.baseline,
            peak=float(development.segment.value[excursion.start + recovery.peak]),
            start_step=detection.start_step,
            peak_step=peak_step,
            end_step=development.step(recovery.back) if is_back else None,
            last_step=development.step(recovery.last_seen) or detection.start_step,
            labels=key.labels,
            component="" if role_of(key) is not Role.LOSS or is_total(key) else str(key.metric),
            level=_drift_level(development) if classification.kind is Kind.DIVERGENCE else None,
            lost_at=lost_at,
            down=excursion.down,
            rate_mismatch=self.mismatches.get(excursion.attempt) if has_mismatch else None,
            unmarked_restart=development.restart,
            # a slow spike that is over needs no rollback
            rollback=None if is_over else rollback,
            is_expected=is_expected,
        )


def _drift_level(detection: LossDetection) -> tuple[float, int]:
    """The highest median of so many points in sequence, of blocks and of the latest, and its last step."""
    excursion, segment = detection.excursion, detection.segment
    recovery = excursion.recovery
    last = recovery.last_seen if recovery.back is None else max(recovery.back - 1, 0)
    values = segment.value[excursion.start : excursion.start + last + 1]
    size = min(_LEVEL_POINTS, len(values))
    blocks = values[: len(values) // size * size].reshape(-1, size)
    medians = np.median(np.concatenate((blocks, values[None, -size:])), axis=1)
    highest = int(np.argmax(medians))
    end = min((highest + 1) * size, len(values)) - 1
    return float(medians[highest]), int(segment.step[excursion.start + end])


def _add(reported: dict[tuple[int, SeriesKey], list[LossDetection]], detection: LossDetection) -> None:
    reported.setdefault((detection.excursion.attempt, detection.series.key), []).append(detection)


def _evidence(excursion: Excursion, facts: SpikeFacts) -> dict[str, Any]:
    """The numbers a finding rests on, and those that its advice names."""
    evidence: dict[str, Any] = {
        "baseline": excursion.baseline,
        "peak": facts.peak,
        "noise": excursion.noise.sigma,
        "recovery_steps": facts.classification.recovery_steps,
        "strength": excursion.strength,
    }
    if facts.rate_mismatch is not None:
        evidence |= {
            "learning_rate_expected": facts.rate_mismatch.expected,
            "learning_rate_found": facts.rate_mismatch.actual,
        }
    if facts.down and facts.rate_mismatch is None:
        evidence["cause"] = "undetermined"
    if facts.unmarked_restart is not None:
        evidence |= {
            "seam": facts.unmarked_restart.sign,
            "seam_step": facts.unmarked_restart.step,
            "seam_size": facts.unmarked_restart.size,
        }
    if excursion.evidence_factor != 1.0:
        evidence["belief"] = excursion.evidence_factor
    if facts.rollback is not None:
        evidence["rollback_upto"] = facts.rollback.upto
        if facts.rollback.skip_from is not None:
            evidence |= {
                "skip_from": facts.rollback.skip_from,
                "skip_until": facts.rollback.skip_until,
            }
    return evidence

"""Evaluation losses: jumps, an upward turn, NaN; each told as far as so few points can tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from holter.detectors.detector import DetectorContext
from holter.detectors.evaluation.messages import advice_on, summary_of
from holter.detectors.evaluation.nonfinite import no_numbers
from holter.detectors.evaluation.outcome import Course, Rise, course_of
from holter.detectors.evaluation.scan import Asked, Known, Scanned, scan
from holter.detectors.evaluation.train_loss import training_beside
from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.loss.excursions.segment import Stretch, stretches_of
from holter.detectors.loss.precursors import Precursors, precursors_of
from holter.detectors.positions import position_of, rows_up_to
from holter.roles import Role, role_of
from holter.types import Finding, Kind, RunData, Series, reference_to


@dataclass(frozen=True, eq=False, kw_only=True)
class _Seen:
    """A rise with the series and the evaluations it was seen in, and how it went on."""

    series: Series
    stretch: Stretch
    rise: Rise
    course: Course

    def step(self, index: int) -> int:
        return int(self.stretch.step[index])

    def is_same(self, later: _Seen) -> bool:
        """Whether a rise of another series, told later, is this one, not known to be over by then."""
        if self.rise.attempt != later.rise.attempt or self.series is later.series:
            return False
        back, confirmed = self.course.back, self.course.confirmed
        if back is None or confirmed is None or self.step(confirmed) > later.step(later.rise.detected):
            return True
        return later.step(later.rise.start) <= self.step(back)


@dataclass(frozen=True, kw_only=True)
class EvaluationDetector:
    """Finds where an evaluation loss rises, once, for good or more and more, or is no number."""

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

    def detect(self, run: RunData, context: DetectorContext) -> Iterator[Finding]:
        """Findings on the evaluation losses; several that rise together are one."""
        state = context.state
        series = [
            run.series[key]
            for key in sorted(run.series)
            if role_of(key) is Role.EVAL_LOSS and not any(name == "rank" for name, _ in key.labels)
        ]
        if not series:
            return
        # of the other series only a planned change of the learning rate changes what is asked
        believed = replace(precursors_of(run, state), norm=None)
        seen = [one for each in series for one in _in(each, believed, context)]
        for first, *also in _events(seen):
            yield _finding(run, first, also)
        bad = {(one.attempt, one.start_step): one for each in reversed(series) for one in no_numbers(each)}
        yield from (bad[place] for place in sorted(bad))


def _in(series: Series, believed: Precursors, context: DetectorContext) -> Iterator[_Seen]:
    tuning = context.tuning.of(series.key.metric)
    stretches = stretches_of(series, context.state)
    by_attempt = {stretch.attempt: stretch for stretch in stretches}
    rises = _rises(stretches, series, believed, context.state, tuning.sensitivity)
    for rise in rises:
        stretch = by_attempt[rise.attempt]
        until = next((one.start for one in rises if _after(one, rise)), len(stretch.step))
        course = course_of(rise, stretch.step, stretch.value, until, tuning.fast_recovery_steps)
        yield _Seen(series=series, stretch=stretch, rise=rise, course=course)


def _after(one: Rise, other: Rise) -> bool:
    return one.attempt == other.attempt and one.start > other.start


def _events(seen: list[_Seen]) -> list[list[_Seen]]:
    """The rises that are one event, each event with the one that was told first at its head."""
    events: list[list[_Seen]] = []
    for one in sorted(seen, key=lambda one: (one.rise.attempt, one.step(one.rise.detected))):
        event = next((event for event in events if event[0].is_same(one)), None)
        if event is None:
            events.append([one])
        else:
            event.append(one)
    return events


def _rises(
    stretches: list[Stretch],
    series: Series,
    believed: Precursors,
    state: IncrementalState,
    sensitivity: float,
) -> tuple[Rise, ...]:
    """Every rise of a series, cut into stretches; only what has come since the last look costs anything."""
    both = [series, *believed.series]
    answers: ScanCheckpoints[tuple[Rise, ...]] = state.checkpoints(("evaluation", "found", series.key), both)
    answer = answers.latest(both)
    if answer is not None and answer.rows[0] == len(series):
        return answer.state
    checkpoints: ScanCheckpoints[Scanned] = state.checkpoints(("evaluation", series.key), both)
    checkpoint = checkpoints.latest(both)
    now = Scanned(attempt=-1, known=Known()) if checkpoint is None else checkpoint.state
    for stretch in stretches:
        if stretch.attempt > now.attempt:
            now = now.next_attempt(stretch.attempt, int(stretch.step[0]))
        if stretch.attempt < now.attempt:
            continue
        for standing in scan(now, stretch.step, stretch.value, _asked(stretch, believed, sensitivity)):
            now = standing
            if now.is_whole:
                place = position_of(series, stretch.row(now.at - 1))
                checkpoints.save(Checkpoint(now, tuple(rows_up_to(one, place) for one in both), upto=place))
    if len(series):
        place = position_of(series, len(series) - 1)
        answers.save(Checkpoint(now.found, tuple(rows_up_to(one, place) for one in both), upto=place))
    return now.found


def _asked(stretch: Stretch, believed: Precursors, sensitivity: float) -> Asked:
    return lambda first, after: sensitivity * believed.at(stretch, first, after)


def _finding(run: RunData, seen: _Seen, also: list[_Seen]) -> Finding:
    rise, course = seen.rise, seen.course
    start, detected = seen.step(rise.start), seen.step(rise.detected)
    first = seen.step(rise.start - 1) if rise.start else start
    beside = training_beside(run, rise.attempt, first, detected)
    peak = float(seen.stretch.value[course.peak])
    back = None if course.back is None else seen.step(course.back)
    others = [
        reference_to(
            one.course.kind,
            metric=one.series.key.metric,
            labels=one.series.key.labels,
            attempt=one.rise.attempt,
            start_step=one.step(one.rise.start),
        )
        for one in also
    ]
    return Finding(
        kind=course.kind,
        metric=seen.series.key.metric,
        labels=seen.series.key.labels,
        attempt=rise.attempt,
        start_step=start,
        detected_step=detected,
        peak_step=seen.step(course.peak),
        end_step=back,
        classified_step=None if course.settled is None else seen.step(course.settled),
        severity=course.severity,
        confidence=float(1 - 0.3 / min(max(rise.strength, 1.0), 1e6) ** 2),
        summary=summary_of(seen.series.key, course.kind, start, rise.baseline, peak, back, beside),
        advice=advice_on(course.kind, first, back is not None, beside),
        evidence={
            "baseline": rise.baseline,
            "peak": peak,
            "noise": rise.sigma,
            "noise_known_from": rise.known,
            "strength": rise.strength,
            "evaluations": rise.width,
            "recovery_steps": None if back is None else back - start,
            "cause": beside.cause,
            **beside.evidence,
            **({"also": others} if others else {}),
        },
    )

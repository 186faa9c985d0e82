"""Spikes, divergence and bad resumes: excursions of the loss, one finding per real event.

The total loss and the losses of single datasets are scanned apart. What is found at the same time is one
event; who spoke first names it, and stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from holter.detectors.detector import DetectorContext
from holter.detectors.loss.affected_datasets import dataset_labels, scope_of
from holter.detectors.loss.classify import KINDS, verdict_on
from holter.detectors.loss.detections import Sighting, is_same, with_other_rates, with_seams
from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.loss.excursions.resume_scan import resumed
from holter.detectors.loss.excursions.segment import Stretch, stretches_of
from holter.detectors.loss.lr_mismatch import OtherRates, other_rates
from holter.detectors.loss.messages import Story, advice_on, rollback_for, summary_of
from holter.detectors.loss.precursors import Precursors, precursors_of
from holter.detectors.loss.related_changes import circumstances
from holter.detectors.loss.unmarked_restarts import seams_of
from holter.roles import Role, role_of
from holter.tuning import Tuning
from holter.types import Finding, Kind, RunData, Series, SeriesKey

_TRAIN = 2
"""Rises shortly after each other that are told apart; more of them are an oscillation."""
_DATASET = 0.5
"""Sensitivity on the loss of one dataset: its points rest on few samples, and there are many datasets."""


@dataclass(frozen=True, kw_only=True)
class SpikeDetector:
    """Finds where a training loss leaves its trend upwards, and restarts that move it."""

    name: ClassVar[str] = "spike"
    kinds: ClassVar[frozenset[Kind]] = KINDS

    def detect(self, run: RunData, context: DetectorContext) -> Iterator[Finding]:
        """Findings on the training loss, and on those of single datasets."""
        by_role: dict[Role, list[Series]] = {Role.LOSS: [], Role.DATASET_LOSS: []}
        for key in sorted(run.series):
            # thousands of ranks repeat the loss of the run
            if role_of(key) in by_role and not any(name == "rank" for name, _ in key.labels):
                by_role[role_of(key)].append(run.series[key])
        datasets = by_role[Role.DATASET_LOSS]
        rates = other_rates(run)
        believed = precursors_of(run, context.state)
        sightings = [
            *(
                one
                for series in by_role[Role.LOSS]
                for one in self._in(run, series, believed, rates, context, 1.0)
            ),
            *(
                one
                for series in datasets
                for one in self._in(run, series, believed, rates, context, _DATASET)
            ),
        ]
        # the total first where both spoke at one step
        sightings.sort(key=lambda one: (one.excursion.attempt, one.detected_step, one.series in datasets))
        total = next(iter(by_role[Role.LOSS]), None)
        yield from self._speak(run, sightings, datasets, total, rates, context.tuning)

    def _in(
        self,
        run: RunData,
        series: Series,
        believed: Precursors,
        rates: OtherRates,
        context: DetectorContext,
        share: float,
    ) -> list[Sighting]:
        stretches = stretches_of(series, context.state)
        by_attempt = {stretch.attempt: stretch for stretch in stretches}
        share *= context.tuning.of(series.key.metric).sensitivity
        excursions = resumed(
            stretches,
            [series, *believed.series],
            context.state.checkpoints((self.name, series.key), [series, *believed.series]),
            doubtful=rates,
            belief=lambda stretch, first, after: share * believed.at(stretch, first, after),
        )
        seen = [
            Sighting(series=series, stretch=by_attempt[one.attempt], excursion=one, parts=parts)
            for one, parts in _as_one(excursions, by_attempt)
        ]
        is_total = role_of(series.key) is Role.LOSS
        seen = with_other_rates(seen, series, stretches, rates) if is_total else seen
        return with_seams(seen, seams_of(run, series, context.state))

    def _speak(
        self,
        run: RunData,
        sightings: list[Sighting],
        datasets: list[Series],
        total: Series | None,
        rates: OtherRates,
        tuning: Tuning,
    ) -> Iterator[Finding]:
        spoken: list[Sighting] = []
        for sighting in sightings:
            if any(is_same(earlier, sighting) for earlier in spoken):
                continue
            spoken.append(sighting)
            excursion = sighting.excursion
            scope = scope_of(
                [] if excursion.resumed else datasets,
                excursion.attempt,
                sighting.start_step,
                sighting.stretch.step[excursion.detected :],
            )
            if scope is None:
                continue
            if scope.alone is None:
                rose = sighting.series if total is None or sighting.series not in datasets else total
                yield self._finding(run, sighting, rose.key, scope.seen, rates, tuning)
                continue
            # its own curve tells best how it went on
            own = next((s for s in sightings if s.series is scope.alone and is_same(sighting, s)), None)
            spoken += [own] if own is not None else []
            key = SeriesKey(scope.alone.key.metric, dataset_labels(scope.alone))
            yield self._finding(run, sighting, key, scope.seen, rates, tuning, development=own)

    def _finding(
        self,
        run: RunData,
        sighting: Sighting,
        key: SeriesKey,
        waited: int,
        rates: OtherRates,
        tuning: Tuning,
        development: Sighting | None = None,
    ) -> Finding:
        shown = development or sighting
        detected_step = int(sighting.stretch.step[sighting.excursion.detected + waited])
        story = self._story(sighting, shown, key, detected_step, rates, tuning)
        before = circumstances(run, shown.excursion.attempt, story.start_step, detected_step)
        points = sighting.excursion.detected - sighting.excursion.start + waited + 1
        return Finding(
            kind=story.verdict.kind,
            metric=key.metric,
            labels=key.labels,
            attempt=shown.excursion.attempt,
            start_step=story.start_step,
            detected_step=detected_step,
            peak_step=story.peak_step,
            end_step=story.end_step,
            classified_step=story.verdict.classified_step,
            severity=story.verdict.severity,
            confidence=float(1 - 0.3 / min(max(sighting.excursion.strength, 1.0), 1e6) ** 2),
            summary=summary_of(story),
            advice=advice_on(story),
            evidence={**_evidence(shown.excursion, story), "points_to_detect": points, "precursors": before},
        )

    def _story(
        self,
        sighting: Sighting,
        shown: Sighting,
        key: SeriesKey,
        detected_step: int,
        rates: OtherRates,
        tuning: Tuning,
    ) -> Story:
        """What is told of a sighting, by how the one that shows it best went on."""
        excursion, returns = shown.excursion, shown.excursion.returns
        verdict = verdict_on(excursion, shown.stretch, tuning.of(shown.series.key.metric))
        peak_step = max(shown.step(returns.peak) or 0, sighting.start_step)
        is_back = returns.confirmed is not None
        return Story(
            verdict=verdict,
            baseline=excursion.baseline,
            peak=float(shown.stretch.value[excursion.start + returns.peak]),
            start_step=sighting.start_step,
            peak_step=peak_step,
            end_step=shown.step(returns.back) if is_back else None,
            last_step=shown.step(returns.last) or sighting.start_step,
            labels=key.labels,
            down=excursion.down,
            rate=rates.get(excursion.attempt) if excursion.resumed and shown.seam is None else None,
            seam=shown.seam,
            # nobody goes back behind what is over
            rollback=None
            if is_back and verdict.kind is Kind.SPIKE_SLOW
            else rollback_for(
                verdict.kind,
                start_step=sighting.start_step,
                peak_step=peak_step,
                seen_step=detected_step,
                spacing=sighting.stretch.apart(sighting.excursion.start),
            ),
        )


def _as_one(
    excursions: list[Excursion], stretches: dict[int, Stretch]
) -> Iterator[tuple[Excursion, tuple[Excursion, ...]]]:
    """Each excursion with its parts: those that reach back into the one before are its going on, and of a
    train the third and all after it are the second's."""
    events: list[list[Excursion]] = []
    in_train = 0
    for one in excursions:
        before = events[-1][-1] if events else None
        follows = before is not None and before.is_soon_followed_by(one, stretches[one.attempt])
        if before is not None and (before.began_before(one) or (follows and in_train >= _TRAIN)):
            events[-1].append(one)
            continue
        in_train = in_train + 1 if follows else 1
        events.append([one])
    for parts in events:
        whole = parts[0]
        for later in parts[1:]:
            whole = whole.going_on(later, stretches[whole.attempt])
        yield whole, tuple(parts)


def _evidence(excursion: Excursion, story: Story) -> dict[str, Any]:
    """The numbers a finding rests on, and those that its advice names."""
    evidence: dict[str, Any] = {
        "baseline": excursion.baseline,
        "peak": story.peak,
        "noise": excursion.noise.sigma,
        "recovery_steps": story.verdict.recovery_steps,
        "strength": excursion.strength,
    }
    if story.rate is not None:
        evidence |= {
            "learning_rate_expected": story.rate.expected,
            "learning_rate_found": story.rate.found,
        }
    if story.down and story.rate is None:
        evidence["cause"] = "undetermined"
    if story.seam is not None:
        evidence |= {
            "seam": story.seam.sign,
            "seam_step": story.seam.step,
            "seam_size": story.seam.size,
        }
    if excursion.belief != 1.0:
        evidence["belief"] = excursion.belief
    if story.rollback is not None:
        evidence["rollback_upto"] = story.rollback.upto
        if story.rollback.skip_from is not None:
            evidence |= {"skip_from": story.rollback.skip_from, "skip_until": story.rollback.skip_until}
    return evidence

"""Spikes, divergence and bad resumes: excursions of the loss, one finding per real event.

The total loss and the losses of single datasets are scanned apart. What is found at the same time is one
event; who spoke first names it, and stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from holter.detectors.excursion import Excursion, Stretch, excursions_of, stretches_of
from holter.detectors.precursors import Precursors, precursors_of
from holter.detectors.resume import OtherRates, other_learning_rates
from holter.detectors.scope import dataset_labels, scope_of
from holter.detectors.tuning import Tuning
from holter.detectors.verdict import KINDS, verdict_on
from holter.detectors.wording import advice_on, summary_of
from holter.metrics import Role, role_of
from holter.types import Finding, Kind, Labels, RunData, Series

_DATASET = 0.6
"""Sensitivity on the loss of one dataset: its points rest on few samples, and there are many datasets."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Sighting:
    """An excursion with the series and the stretch of points it was seen in."""

    series: Series
    stretch: Stretch
    excursion: Excursion

    def step(self, index: int | None) -> int | None:
        """The step of a point counted from the excursion's start."""
        return None if index is None else int(self.stretch.step[self.excursion.start + index])

    @property
    def start_step(self) -> int:
        return int(self.stretch.step[self.excursion.start])

    @property
    def detected_step(self) -> int:
        return int(self.stretch.step[self.excursion.detected])

    def is_open_at(self, step: int) -> bool:
        """Whether, as far as was known at a step, it had not ended."""
        confirmed = self.step(self.excursion.returns.confirmed)
        return confirmed is None or confirmed > step


@dataclass(frozen=True, kw_only=True)
class SpikeDetector:
    """Finds where a training loss leaves its trend upwards, and restarts that move it."""

    tuning: Tuning = Tuning()
    name: ClassVar[str] = "spike"
    kinds: ClassVar[frozenset[Kind]] = KINDS

    def detect(self, run: RunData) -> Iterator[Finding]:
        """Findings on the training loss, and on those of single datasets."""
        by_role: dict[Role, list[Series]] = {Role.LOSS: [], Role.DATASET_LOSS: []}
        for key in sorted(run.series):
            # thousands of ranks repeat the loss of the run
            if role_of(key) in by_role and not any(name == "rank" for name, _ in key.labels):
                by_role[role_of(key)].append(run.series[key])
        datasets = by_role[Role.DATASET_LOSS]
        rates = other_learning_rates(run)
        believed = precursors_of(run)
        sightings = [
            *(one for series in by_role[Role.LOSS] for one in self._in(series, believed, rates, 1.0)),
            *(one for series in datasets for one in self._in(series, believed, rates, _DATASET)),
        ]
        # the total first where both spoke at one step
        sightings.sort(key=lambda one: (one.excursion.attempt, one.detected_step, one.series in datasets))
        yield from self._speak(sightings, datasets)

    def _in(
        self, series: Series, believed: Precursors, rates: OtherRates, share: float
    ) -> Iterator[Sighting]:
        stretches = stretches_of(series.attempt, series.step, series.value)
        by_attempt = {stretch.attempt: stretch for stretch in stretches}
        for excursion in excursions_of(
            stretches,
            doubtful=rates,
            belief=lambda stretch: share * self.tuning.sensitivity * believed.at(stretch),
        ):
            yield Sighting(series=series, stretch=by_attempt[excursion.attempt], excursion=excursion)

    def _speak(self, sightings: list[Sighting], datasets: list[Series]) -> Iterator[Finding]:
        spoken: list[Sighting] = []
        for sighting in sightings:
            if any(_is_same(earlier, sighting) for earlier in spoken):
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
                total = next((s for s in spoken if s.series not in datasets), sighting).series
                yield self._finding(sighting, total.key.metric, total.key.labels, scope.seen)
                continue
            # its own curve tells best how it went on
            own = next((s for s in sightings if s.series is scope.alone and _is_same(sighting, s)), None)
            yield self._finding(
                sighting, scope.alone.key.metric, dataset_labels(scope.alone), scope.seen, development=own
            )

    def _finding(
        self,
        sighting: Sighting,
        metric: str,
        labels: Labels,
        waited: int,
        development: Sighting | None = None,
    ) -> Finding:
        shown = development or sighting
        excursion, returns = shown.excursion, shown.excursion.returns
        verdict = verdict_on(excursion, shown.stretch, self.tuning)
        values = shown.stretch.value[excursion.start :]
        evidence = {
            "baseline": excursion.baseline,
            "peak": float(values[returns.peak]),
            "noise": excursion.noise.sigma,
            "recovery_steps": verdict.recovery_steps,
        }
        start_step = sighting.start_step
        end_step = shown.step(returns.back) if returns.confirmed is not None else None
        return Finding(
            kind=verdict.kind,
            metric=metric,
            labels=labels,
            attempt=excursion.attempt,
            start_step=start_step,
            detected_step=int(sighting.stretch.step[sighting.excursion.detected + waited]),
            peak_step=max(shown.step(returns.peak) or start_step, start_step),
            end_step=end_step,
            classified_step=verdict.classified_step,
            severity=verdict.severity,
            confidence=float(min(0.99, 1 - 0.3 / max(excursion.strength, 1.0) ** 2)),
            summary=summary_of(verdict, evidence, start_step=start_step, labels=labels),
            advice=advice_on(verdict, start_step=start_step, end_step=end_step),
            evidence=evidence,
        )


def _is_same(earlier: Sighting, later: Sighting) -> bool:
    """Whether a sighting in another series is the event that was already spoken of."""
    if earlier.excursion.attempt != later.excursion.attempt or earlier.series is later.series:
        return False
    if earlier.is_open_at(later.detected_step):
        return True
    back = earlier.step(earlier.excursion.returns.back)
    return back is not None and later.start_step <= back

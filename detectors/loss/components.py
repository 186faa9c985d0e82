"""Components of a loss: training losses that a run logs next to their total (`loss_cls` next to `loss`).

The total is what training lowers. What it shows is reported as its event, whatever its components showed
before; what a component shows and the total does not is an exchange between the components: information.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from holter.detectors.loss.detections import LossDetection
from holter.detectors.loss.excursions.usual_rises import MEDIAN_ERROR
from holter.detectors.loss.messages import COMPONENT_ADVICE
from holter.detectors.positions import rows_of_attempt, rows_up_to
from holter.detectors.robust_statistics import mad_sigma, median
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, is_total_loss, is_user_role, role_of
from holter.types import Finding, FloatArray, Kind, RunData, Series, SeriesKey, Severity


@dataclass(frozen=True, kw_only=True)
class ComponentThresholds(Thresholds):
    """When an event of a component is one of the total, or of no consequence for it."""

    waited_points: int = 8
    """Points after its detection in a component for which a rise is not reported: the total, which has more
    noise and may be logged a row later, names it if it shows it by then."""
    level_points: int = 64
    """Points of the total before a rise of a component, and the latest ones since, that are compared."""
    fewest_points: int = 8
    """Points of the total before the rise without which nothing is known of it."""
    errors: float = 3.0
    """Standard errors of the difference of both medians by which the total must have risen, too."""
    floor_share: float = 1e-5
    """Share of the level that counts as noise at least: numbers are not logged more precisely."""


_THRESHOLDS = ComponentThresholds()
_RISES = frozenset({Kind.SPIKE_FAST, Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED, Kind.DIVERGENCE})
_OF_ROLLBACK = frozenset({"rollback_upto", "skip_from", "skip_until"})
"""Evidence of a rollback, which a rise that the total does not show needs none of."""


def is_total(key: SeriesKey) -> bool:
    """Whether a training loss is a total: by its name, or since the user named it a loss."""
    return is_total_loss(key) or is_user_role(key)


def components_of(losses: list[Series]) -> frozenset[SeriesKey]:
    """Which of the training losses of a run are components of a total; none where there is no total."""
    components = frozenset(series.key for series in losses if not is_total(series.key))
    return components if len(components) < len(losses) else frozenset()


def after_waiting(detections: list[LossDetection], thresholds: ComponentThresholds) -> list[LossDetection]:
    """The detections in a component of which enough points are known since, as known at the last of these."""
    return [
        replace(detection, waited=thresholds.waited_points)
        for detection in detections
        if detection.excursion.detected + thresholds.waited_points < len(detection.segment.step)
    ]


def judged_by_total(finding: Finding, run: RunData) -> Finding:
    """The finding, as information if it is a rise of a component that the total does not show."""
    key = SeriesKey(finding.metric, finding.labels)
    if finding.kind not in _RISES or finding.severity is Severity.INFO:
        return finding
    if role_of(key) is not Role.LOSS or is_total(key) or key not in run.series:
        return finding
    losses = (each for each in sorted(run.series) if role_of(each) is Role.LOSS and is_total(each))
    totals = [run.series[each] for each in losses if each.rank is None]
    component = run.series[key]
    last = rows_of_attempt(component, finding.attempt).after - 1
    until = int(component.step[last]) if finding.end_step is None else finding.end_step
    rises = [_rises(total, finding.attempt, finding.start_step, until) for total in totals]
    if False not in rises or True in rises:
        return finding
    return replace(
        finding,
        severity=Severity.INFO,
        summary=f"{finding.summary} The total loss did not rise beyond its noise.",
        advice=COMPONENT_ADVICE,
        evidence={name: value for name, value in finding.evidence.items() if name not in _OF_ROLLBACK},
    )


def _rises(total: Series, attempt: int, start_step: int, until: int) -> bool | None:
    """Whether the total is higher at the end of a rise of its component than before it; None if unknown."""
    limits = _THRESHOLDS
    span = rows_of_attempt(total, attempt)
    begin, end = rows_up_to(total, (attempt, start_step - 1)), rows_up_to(total, (attempt, until))
    before = _latest(total.value[span.first : begin], limits.level_points)
    now = _latest(total.value[begin:end], limits.level_points)
    if len(before) < limits.fewest_points or not len(now):
        return None
    level = median(before)
    sigma = mad_sigma(before, level) + limits.floor_share * abs(level)
    noise = max(sigma, mad_sigma(now, median(now)))
    error = MEDIAN_ERROR * float(np.sqrt(sigma**2 / len(before) + noise**2 / len(now)))
    return median(now) - level > limits.errors * error


def _latest(values: FloatArray, points: int) -> FloatArray:
    finite: FloatArray = values[-2 * points :]
    return finite[np.isfinite(finite)][-points:]

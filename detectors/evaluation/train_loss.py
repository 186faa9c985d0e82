"""Comparison with the training loss: whether the model got worse, or only what is evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holter.detectors.positions import rows_up_to, values_before
from holter.detectors.robust_statistics import mad_sigma
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import RunData


@dataclass(frozen=True, kw_only=True)
class TrainingComparisonThresholds(Thresholds):
    """When the training loss counts as having risen with an evaluation loss."""

    points: int = 64
    """Points of the training loss up to the first of two evaluations, and between them, that are compared."""
    fewest_points: int = 16
    """Points up to the first evaluation without which the comparison is not made."""
    fewest_later_points: int = 4
    """Points between the two, with fewer of which it is open whether it rose where they are higher."""
    clear_errors: float = 4.0
    """Standard errors by which it must have risen; they are doubled, since neighboring points resemble each
    other."""
    least_share: float = 0.01
    """Share of the level by which it must have risen as well."""


@dataclass(frozen=True, kw_only=True)
class TrainingComparison:
    """Whether the training loss rose too; None where the log does not show it."""

    rose: bool | None
    evidence: dict[str, Any] = field(default_factory=dict)

    @property
    def cause(self) -> str:
        """Where to look for the cause: "training", "evaluation", or "undetermined"."""
        return {True: "training", False: "evaluation", None: "undetermined"}[self.rose]


def compare_with_training_loss(
    run: RunData,
    attempt: int,
    before_step: int,
    detected_step: int,
    thresholds: TrainingComparisonThresholds,
) -> TrainingComparison:
    """The training loss up to the last good evaluation's step against that from there to the detection."""
    keys = [key for key in sorted(run.series) if role_of(key) is Role.LOSS]
    keys = [key for key in keys if key.rank is None]
    if not keys:
        return TrainingComparison(rose=None)
    series = run.series[keys[0]]
    before = values_before(series, attempt, before_step + 1, thresholds.points)
    first, stop = (rows_up_to(series, (attempt, step)) for step in (before_step, detected_step))
    now = series.value[first:stop]
    now = now[np.isfinite(now)][-thresholds.points :]
    if len(before) < thresholds.fewest_points or not len(now):
        return TrainingComparison(rose=None)
    old, new = float(np.median(before)), float(np.median(now))
    error = mad_sigma(before, old) * 2 * np.sqrt(1 / len(before) + 1 / len(now))
    rose = bool(new - old > max(thresholds.clear_errors * error, thresholds.least_share * abs(old)))
    # a few points must be lower than the last before them
    if not rose and len(now) < thresholds.fewest_later_points and new > before[-1]:
        return TrainingComparison(rose=None)
    return TrainingComparison(rose=rose, evidence={"training_loss_before": old, "training_loss": new})

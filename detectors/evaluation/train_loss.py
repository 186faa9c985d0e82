"""Comparison with the training loss: whether the model got worse, or only what is evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holter.detectors.positions import values_before
from holter.detectors.robust_statistics import mad_sigma
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import RunData


@dataclass(frozen=True, kw_only=True)
class TrainingComparisonThresholds(Thresholds):
    """When the training loss counts as having risen with an evaluation loss."""

    points: int = 64
    """Points of the training loss up to each of the two evaluations that are compared."""
    fewest_points: int = 16
    """Points without which the comparison is not made."""
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
    """The training loss up to the last good evaluation's step against that up to the step of detection."""
    keys = [key for key in sorted(run.series) if role_of(key) is Role.LOSS]
    keys = [key for key in keys if not any(name == "rank" for name, _ in key.labels)]
    if not keys:
        return TrainingComparison(rose=None)
    series = run.series[keys[0]]
    before = values_before(series, attempt, before_step + 1, thresholds.points)
    now = values_before(series, attempt, detected_step + 1, thresholds.points)
    if min(len(before), len(now)) < thresholds.fewest_points:
        return TrainingComparison(rose=None)
    old, new = float(np.median(before)), float(np.median(now))
    error = mad_sigma(before, old) * 2 * np.sqrt(2 / len(before))
    rose = bool(new - old > max(thresholds.clear_errors * error, thresholds.least_share * abs(old)))
    return TrainingComparison(rose=rose, evidence={"training_loss_before": old, "training_loss": new})

"""Evaluations that are NaN or infinite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from holter.detectors.positions import attempt_rows
from holter.detectors.thresholds import Thresholds
from holter.plurals import counted
from holter.types import Finding, Kind, Series, Severity


@dataclass(frozen=True, kw_only=True)
class NonfiniteEvaluationThresholds(Thresholds):
    """When NaN or infinite evaluations are reported."""

    finite_before: int = 3
    """Finite evaluations in sequence that must precede: some logs write NaN between evaluations."""
    nonfinite_share: float = 0.2
    """Share of nonfinite rows from which on NaN means that nothing was evaluated."""
    confidence: float = 0.95
    """Confidence in a finding: the evaluation itself may be at fault."""


def find_nonfinite_evaluations(
    series: Series, thresholds: NonfiniteEvaluationThresholds
) -> Iterator[Finding]:
    """One finding for each sequence of NaN or infinite evaluations, detected at its first."""
    finite = np.isfinite(series.value)
    if finite.all():
        return
    nonfinite_before = np.concatenate(([0], np.cumsum(~finite)))
    for span in attempt_rows(series):
        nonfinite = ~finite[span.rows]
        firsts = span.first + np.flatnonzero(nonfinite & ~np.concatenate(([False], nonfinite[:-1])))
        for row in firsts.tolist():
            finite_before = thresholds.finite_before
            if row < finite_before or nonfinite_before[row] > nonfinite_before[row - finite_before]:
                continue
            if nonfinite_before[row] > thresholds.nonfinite_share * row:
                continue
            finite_again = np.flatnonzero(finite[row : span.after])
            finite_row = row + int(finite_again[0]) if len(finite_again) else None
            yield _finding(series, row, finite_row, thresholds.confidence)


def _finding(series: Series, row: int, finite_row: int | None, confidence: float) -> Finding:
    step, count = int(series.step[row]), 0 if finite_row is None else finite_row - row
    value_name = "NaN" if np.isnan(series.value[row]) else "infinite"
    after = "" if finite_row is None else f" and was finite again {counted(count, 'evaluation')} later"
    return Finding(
        kind=Kind.NONFINITE,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=int(series.attempt[row]),
        start_step=step,
        peak_step=step,
        end_step=None if finite_row is None else int(series.step[finite_row]),
        detected_step=step,
        classified_step=step,
        severity=Severity.WARNING,
        confidence=confidence,
        summary=f"Evaluation loss {series.key} became {value_name} at step {step:,}{after}.",
        advice="If the training loss is finite, evaluate this checkpoint again in fp32, sample by sample.",
        evidence={"before": float(series.value[row - 1]), "points": count or 1},
    )

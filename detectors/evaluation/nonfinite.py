"""Evaluations that are no numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from holter.detectors.positions import attempt_rows
from holter.plurals import counted
from holter.types import Finding, Kind, Series, Severity

_FINITE = 3
"""Evaluations in sequence that must have been numbers before: who writes NaN between evaluations has none."""
_SHARE = 0.2
"""Share of rows without a number from which on NaN says that nothing was evaluated."""


def no_numbers(series: Series) -> Iterator[Finding]:
    """One finding for each sequence of NaN or infinite evaluations, told at its first."""
    finite = np.isfinite(series.value)
    if finite.all():
        return
    bad = np.concatenate(([0], np.cumsum(~finite)))
    for span in attempt_rows(series):
        inside = ~finite[span.rows]
        firsts = span.first + np.flatnonzero(inside & ~np.concatenate(([False], inside[:-1])))
        for row in firsts.tolist():
            if row < _FINITE or bad[row] > bad[row - _FINITE] or bad[row] > _SHARE * row:
                continue
            good = np.flatnonzero(finite[row : span.after])
            yield _finding(series, row, row + int(good[0]) if len(good) else None)


def _finding(series: Series, row: int, good: int | None) -> Finding:
    step, count = int(series.step[row]), 0 if good is None else good - row
    word = "NaN" if np.isnan(series.value[row]) else "infinite"
    over = "" if good is None else f" and a number again {counted(count, 'evaluation')} later"
    return Finding(
        kind=Kind.NONFINITE,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=int(series.attempt[row]),
        start_step=step,
        peak_step=step,
        end_step=None if good is None else int(series.step[good]),
        detected_step=step,
        classified_step=step,
        severity=Severity.WARNING,
        confidence=0.95,
        summary=f"Evaluation loss {series.key} became {word} at step {step:,}{over}.",
        advice="Where the training loss is finite: evaluate this checkpoint again in fp32, sample by sample.",
        evidence={"before": float(series.value[row - 1]), "points": count or 1},
    )

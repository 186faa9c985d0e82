"""NaN and infinite losses: exact, spoken at the first one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.tuning import Tuning
from holter.metrics import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity

_APART = 5
"""Non-finite points with fewer finite ones between them are one event."""


@dataclass(frozen=True, kw_only=True)
class NonfiniteDetector:
    """Finds where a training loss is NaN or infinite."""

    tuning: Tuning = Tuning()
    name: ClassVar[str] = "nonfinite"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.NONFINITE})

    def detect(self, run: RunData) -> Iterator[Finding]:
        """Findings on every training loss of the run."""
        for series in run.series.values():
            if role_of(series.key) is Role.LOSS:
                for attempt in np.unique(series.attempt):
                    mine = series.attempt == attempt
                    yield from self._in(series, int(attempt), series.step[mine], series.value[mine])

    def _in(self, series: Series, attempt: int, step: IntArray, value: FloatArray) -> Iterator[Finding]:
        bad = np.flatnonzero(~np.isfinite(value))
        for group in np.split(bad, np.flatnonzero(np.diff(bad) > _APART) + 1):
            if len(group):
                yield self._speak(series, attempt, step, value, group)

    def _speak(
        self, series: Series, attempt: int, step: IntArray, value: FloatArray, group: IntArray
    ) -> Finding:
        first, last = int(group[0]), int(group[-1])
        over = len(value) - last > _APART
        before = value[max(first - 20, 0) : first]
        # halved, so that the mean of the middle two stays finite too
        known = before[np.isfinite(before)] / 2
        word = "NaN" if np.isnan(value[first]) else "infinite"
        after = f" and was finite again {_count(len(group))} later" if over else ""
        return Finding(
            kind=Kind.NONFINITE,
            metric=series.key.metric,
            labels=series.key.labels,
            attempt=attempt,
            start_step=int(step[first]),
            detected_step=int(step[first]),
            peak_step=int(step[first]),
            end_step=int(step[last + 1]) if over else None,
            classified_step=int(step[first]),
            severity=Severity.WARNING if over else Severity.CRITICAL,
            confidence=1.0,
            summary=f"Loss became {word} at step {step[first]:,}{after}.",
            advice="Look at loss scale, gradient norm and the batch of this step."
            if over
            else f"Stop the run; roll back to a checkpoint before step {step[first]:,}.",
            evidence={"points": len(group), "before": 2 * float(np.median(known)) if len(known) else None},
        )


def _count(points: int) -> str:
    return "one point" if points == 1 else f"{points:,} points"

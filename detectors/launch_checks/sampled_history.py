"""Checks for curves that are a sample of the logged points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from holter.detectors.detector import DetectorContext
from holter.types import ConfigKey, Diagnostic, RunData, Severity

_SAMPLED = ConfigKey("wandb.sampled")


@dataclass(frozen=True, kw_only=True)
class SampledHistoryCheck:
    """Reports runs whose source states that it left out points: exports of W&B's page."""

    name: ClassVar[str] = "sampled-history"

    def check(self, run: RunData, context: DetectorContext) -> Iterator[Diagnostic]:
        """One diagnostic for each attempt that is sampled."""
        for attempt, sampled in sorted(run.config.get(_SAMPLED, {}).items()):
            if sampled is True:
                yield Diagnostic(
                    code=self.name,
                    attempt=attempt,
                    severity=Severity.WARNING,
                    summary="These curves are samples: W&B's page exports at most 1,500 points of a line.",
                    advice="Spikes between the points are missing. Read the run's .wandb file, or its rows "
                    "by scan_history, to have every point (docs/import.md).",
                )

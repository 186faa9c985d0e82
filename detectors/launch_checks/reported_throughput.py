"""Checks whether the TFLOPS and MFU that a run reports are plausible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.launch_checks.mfu_disagreement import FormulaThresholds, check_formulas
from holter.detectors.launch_checks.mfu_peak import PeakThresholds, check_peaks
from holter.detectors.launch_checks.mfu_plausibility import (
    PlausibilityThresholds,
    check_first_steps,
    check_limits,
)
from holter.flops.throughput import run_throughput
from holter.types import Diagnostic, RunData

__all__ = ["ReportedThroughputCheck"]


@dataclass(frozen=True)
class ReportedThroughputCheck:
    """Checks reported figures of throughput, and Holter's own ones.

    One problem gives one diagnostic: what a wrong peak explains is not reported as a disagreement as well.
    """

    name: ClassVar[str] = "throughput"
    limits: PlausibilityThresholds = PlausibilityThresholds()
    peaks: PeakThresholds = PeakThresholds()
    formulas: FormulaThresholds = FormulaThresholds()

    def check(self, run: RunData, context: DetectorContext) -> Iterator[Diagnostic]:
        """Every diagnostic on the figures that the run reports, and on Holter's own."""
        # values near the limits of a float overflow on the way, into infinities that are handled later
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            throughput = run_throughput(run, context.peaks)
            if not throughput.has_content:
                return
            wrong_peaks = list(check_peaks(throughput, self.peaks))
            yield from wrong_peaks
            explained = {str(diagnostic.evidence["metric"]) for diagnostic in wrong_peaks}
            impossible = list(check_limits(throughput, explained, self.limits))
            yield from impossible
            explained |= {str(diagnostic.evidence["metric"]) for diagnostic in impossible}
            yield from check_formulas(throughput, explained, self.formulas)
            yield from check_first_steps(throughput, self.limits)

"""Whether the TFLOPS and MFU that a run reports can be: each is looked at, none is believed unseen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.launch_checks.mfu_disagreement import check_formulas
from holter.detectors.launch_checks.mfu_peak import check_peaks
from holter.detectors.launch_checks.mfu_plausibility import check_first_steps, check_limits
from holter.flops.throughput import run_throughput
from holter.types import Diagnostic, RunData

__all__ = ["ReportedThroughputCheck"]


class ReportedThroughputCheck:
    """Remarks on figures of throughput. `peaks`: those of the accelerators, with what a user says of them.

    One event has one remark: what a wrong peak explains is not called a disagreement besides.
    """

    name: ClassVar[str] = "throughput"

    def check(self, run: RunData, context: DetectorContext) -> Iterator[Diagnostic]:
        """Every remark on what the run reports, and on what Holter makes of it."""
        # values at the edge of what a float holds overflow on the way, into infinities that are dealt with
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            found = run_throughput(run, context.peaks)
            if not found.has_content:
                return
            peaks = list(check_peaks(found))
            yield from peaks
            explained = {str(one.evidence["metric"]) for one in peaks}
            wrong = list(check_limits(found, explained))
            yield from wrong
            explained |= {str(one.evidence["metric"]) for one in wrong}
            yield from check_formulas(found, explained)
            yield from check_first_steps(found)

"""How a launch is set up, and whether its numbers can be: checks, and `remarks` that asks them all."""

from __future__ import annotations

from holter.detectors.detector import DetectorContext
from holter.detectors.launch_checks.check import Check
from holter.detectors.launch_checks.exits import Endings
from holter.detectors.launch_checks.nccl_agreement import Agreement
from holter.detectors.launch_checks.nccl_network import FewerRails, ManagementInterfaces, NetworkChosen
from holter.detectors.launch_checks.nccl_paths import DirectPaths
from holter.detectors.launch_checks.reported_throughput import ReportedThroughput
from holter.detectors.launch_checks.sampled_history import SampledHistory
from holter.detectors.launch_checks.throttling import Throttling
from holter.flops.peaks import Peaks
from holter.registry import build
from holter.types import Diagnostic, RunData, Severity

__all__ = ["BUILTIN", "Check", "remarks"]

BUILTIN: tuple[Check, ...] = (
    NetworkChosen(),
    ManagementInterfaces(),
    FewerRails(),
    DirectPaths(),
    Agreement(),
    ReportedThroughput(),
    SampledHistory(),
    Endings(),
    Throttling(),
)

_ORDER = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)


def remarks(run: RunData, *, peaks: Peaks | None = None) -> list[Diagnostic]:
    """The diagnostics of all checks on a run, the most severe first.

    `peaks`: the peak TFLOPS of accelerators; None: those that Holter knows.
    """
    context = DetectorContext(peaks=Peaks() if peaks is None else peaks)
    checks = build(BUILTIN, group="holter.checks").values()
    diagnostics = [diagnostic for check in checks for diagnostic in check.check(run, context)]
    return sorted(
        diagnostics, key=lambda each: (_ORDER.index(each.severity), each.code, each.attempt, each.labels)
    )

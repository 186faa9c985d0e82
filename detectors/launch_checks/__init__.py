"""Launch checks: whether a launch is configured well, and whether the throughput that it reports is
plausible.

A check is a pure function from a run's config and series to diagnostics.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Protocol

from holter.detectors.detector import DetectorContext
from holter.detectors.launch_checks.exits import LaunchEndingsCheck
from holter.detectors.launch_checks.nccl_agreement import RankAgreementCheck
from holter.detectors.launch_checks.nccl_network import InterfaceCheck, NetworkCardCountCheck, NetworkCheck
from holter.detectors.launch_checks.nccl_paths import DirectPathsCheck
from holter.detectors.launch_checks.reported_throughput import ReportedThroughputCheck
from holter.detectors.launch_checks.sampled_history import SampledHistoryCheck
from holter.detectors.launch_checks.throttling import ThrottlingCheck
from holter.detectors.launch_checks.unjudged_run import UnjudgedRunCheck
from holter.flops.peaks import Peaks
from holter.registry import build
from holter.types import Diagnostic, RunData

__all__ = ["BUILTIN", "LaunchCheck", "run_launch_checks"]


class LaunchCheck(Protocol):
    """Checks how launches are configured: `run.config` and, where it needs them, the series.

    Pure: no clock, no files. Total: accepts values of any type and never raises on data. What a log does not
    state gives no diagnostic.
    """

    name: ClassVar[str]

    def check(self, run: RunData, context: DetectorContext) -> Iterable[Diagnostic]:
        """Every diagnostic on the run."""
        ...


BUILTIN: tuple[LaunchCheck, ...] = (
    NetworkCheck(),
    InterfaceCheck(),
    NetworkCardCountCheck(),
    DirectPathsCheck(),
    RankAgreementCheck(),
    ReportedThroughputCheck(),
    SampledHistoryCheck(),
    LaunchEndingsCheck(),
    ThrottlingCheck(),
    UnjudgedRunCheck(),
)


def run_launch_checks(run: RunData, *, peaks: Peaks | None = None) -> list[Diagnostic]:
    """The diagnostics of all checks on a run, the most severe first.

    `peaks`: the peak TFLOPS of accelerators; None: those that Holter knows.
    """
    context = DetectorContext(peaks=Peaks() if peaks is None else peaks)
    checks = build(BUILTIN, group="holter.checks").values()
    diagnostics = [diagnostic for check in checks for diagnostic in check.check(run, context)]
    return sorted(diagnostics, key=lambda each: (-each.severity.rank, each.code, each.attempt, each.labels))

"""How a launch is set up, and whether its numbers can be: checks, and `remarks` that asks them all."""

from __future__ import annotations

from dataclasses import is_dataclass, replace

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
from holter.types import Remark, RunData, Severity

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


def remarks(run: RunData, *, peaks: Peaks | None = None) -> list[Remark]:
    """What all checks remark on a run, the gravest first; `peaks` of accelerators, None: as Holter knows."""
    checks = build(BUILTIN, group="holter.checks").values()
    found = [remark for check in checks for remark in _with_peaks(check, peaks).look(run)]
    return sorted(found, key=lambda one: (_ORDER.index(one.severity), one.code, one.attempt, one.labels))


def _with_peaks(check: Check, peaks: Peaks | None) -> Check:
    # a check that asks for peaks is a dataclass with a field for them
    if peaks is not None and is_dataclass(check) and hasattr(check, "peaks"):
        told: Check = replace(check, peaks=peaks)
        return told
    return check

"""Detectors: pure functions over numpy arrays, one pattern per file; `find` runs all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from holter.detectors.apply_tuning import drop_planned, drop_unwanted, with_roles, without_roles
from holter.detectors.causes import explain_findings
from holter.detectors.detector import Detector, DetectorContext
from holter.detectors.evaluation.early_rise import EarlyRiseDetector
from holter.detectors.evaluation.eval_loss import EvaluationDetector
from holter.detectors.evaluation.overfitting import OverfittingDetector
from holter.detectors.evaluation.recent_rise import RecentRiseDetector, merge_recent_rises
from holter.detectors.findings import finding_type
from holter.detectors.health.gpu_fault import GpuFaultDetector
from holter.detectors.health.memory_leak import MemoryLeakDetector
from holter.detectors.incremental import IncrementalState
from holter.detectors.inhibition import inhibit
from holter.detectors.loss.components import judged_by_total
from holter.detectors.loss.nonfinite import NonfiniteDetector
from holter.detectors.loss.slow_rise import SlowRiseDetector
from holter.detectors.loss.spike import SpikeDetector
from holter.detectors.loss.sudden_drop import SuddenDropDetector
from holter.detectors.mixture.shift import MixtureShiftDetector
from holter.detectors.numerics.loss_scale import LossScaleDetector
from holter.detectors.numerics.masked_nan import MaskedNanDetector
from holter.detectors.ranks.call_mismatch import CallMismatchDetector
from holter.detectors.ranks.comm_slowdown import CommSlowdownDetector
from holter.detectors.ranks.desync import DesyncDetector
from holter.detectors.ranks.hang import HangDetector
from holter.detectors.ranks.ras import RasDetector
from holter.detectors.ranks.straggler import StragglerDetector
from holter.detectors.repeated_data.repeated_data import RepeatedDataDetector
from holter.detectors.signals.learning_rate import ZeroRateDetector
from holter.detectors.signals.saturation import SaturationDetector
from holter.detectors.signals.signal_break import SignalBreakDetector
from holter.detectors.throughput.evaluation_speed import EvaluationSpeedDetector
from holter.detectors.throughput.regression import ThroughputRegressionDetector
from holter.detectors.throughput.stall import StallDetector
from holter.registry import build
from holter.tuning import Tuning
from holter.types import Finding, RunData

__all__ = [
    "BUILTIN",
    "Detector",
    "DetectorContext",
    "IncrementalState",
    "Tuning",
    "find",
    "fingerprint",
    "registry",
]

BUILTIN: tuple[Detector, ...] = (
    NonfiniteDetector(),
    SpikeDetector(),
    EarlyRiseDetector(),
    RecentRiseDetector(),
    SlowRiseDetector(),
    OverfittingDetector(),
    EvaluationDetector(),
    RepeatedDataDetector(),
    ThroughputRegressionDetector(),
    EvaluationSpeedDetector(),
    StragglerDetector(),
    CommSlowdownDetector(),
    StallDetector(),
    DesyncDetector(),
    CallMismatchDetector(),
    HangDetector(),
    RasDetector(),
    LossScaleDetector(),
    MaskedNanDetector(),
    MemoryLeakDetector(),
    GpuFaultDetector(),
    SuddenDropDetector(),
    MixtureShiftDetector(),
    SignalBreakDetector(),
    SaturationDetector(),
    ZeroRateDetector(),
)


def registry() -> dict[str, Detector]:
    """Every detector by name: the built-in ones and those of installed packages."""
    return build(BUILTIN, group="holter.detectors")


def find(run: RunData, *, tuning: Tuning = Tuning(), state: IncrementalState | None = None) -> list[Finding]:
    """The findings of all detectors, one per real event, in the order of detection.

    `tuning`: the user's preferences about detection; every one takes effect here, or in the detectors by way
    of `Tuning.of`. `state`: that of the previous pass over this run, so that only new points are scanned;
    the findings are the same without.
    """
    state = IncrementalState() if state is None else state
    context = DetectorContext(tuning=tuning, state=state.for_settings(_detector_settings(tuning)))
    run = with_roles(run, tuning)
    # values close to the largest float overflow into infinities, which the detectors handle
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        findings = [finding for detector in registry().values() for finding in detector.detect(run, context)]
    judged = [judged_by_total(finding, run) for finding in drop_unwanted(findings, tuning)]
    independent = inhibit(merge_recent_rises(judged), run)
    unplanned = drop_planned(independent, run, tuning)
    explained = explain_findings(unplanned, run, context.state, all_findings=independent)
    return sorted(
        without_roles(explained),
        key=lambda finding: (finding.detected_step, finding.start_step, finding.metric),
    )


def _detector_settings(tuning: Tuning) -> Tuning:
    """The part of a tuning on which the detectors themselves depend."""
    return replace(tuning, kinds=None, ignore=frozenset(), expected=())


def fingerprint(finding: Finding) -> str:
    """The identity of a finding while it develops: the signal of its kind, and its position."""
    labels = ",".join(f"{name}={value}" for name, value in finding.labels)
    signal = finding_type(finding.kind).signal or finding.kind.value
    wall_time = finding.evidence.get("wall_time")
    if isinstance(wall_time, float):  # known by its time only: the step of that time may still change
        return f"{signal}|{finding.metric}|{labels}|{wall_time}"
    return f"{signal}|{finding.metric}|{labels}|{finding.attempt}|{finding.start_step}"

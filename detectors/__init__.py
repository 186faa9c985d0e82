"""Detectors: pure functions over numpy arrays, one pattern a file; `find` asks them all."""

from __future__ import annotations

from dataclasses import is_dataclass, replace

import numpy as np

from holter.detectors.apply_tuning import unexpected, wanted, with_roles, without_roles
from holter.detectors.detector import Detector, look
from holter.detectors.evaluation.eval_loss import EvaluationDetector
from holter.detectors.health.gpu_fault import GpuFault
from holter.detectors.health.memory_leak import MemoryLeak
from holter.detectors.incremental import Memory
from holter.detectors.inhibition import without_consequences
from holter.detectors.loss.nonfinite import NonfiniteDetector
from holter.detectors.loss.spike import SpikeDetector
from holter.detectors.loss.sudden_drop import SuddenDrop
from holter.detectors.mixture.shift import MixtureShift
from holter.detectors.numerics.loss_scale import LossScaleCollapse
from holter.detectors.numerics.masked_nan import HiddenNonfinite
from holter.detectors.ranks.call_mismatch import DifferentCalls
from holter.detectors.ranks.comm_slowdown import CommSlowdown
from holter.detectors.ranks.desync import Desync
from holter.detectors.ranks.hang import Hang
from holter.detectors.ranks.ras import RasReports
from holter.detectors.ranks.straggler import Straggler
from holter.detectors.repeated_data.repeated_data import RepeatedData
from holter.detectors.throughput.regression import Throughput
from holter.detectors.throughput.stall import Stall
from holter.registry import build
from holter.tuning import Tuning
from holter.types import Finding, RunData

__all__ = ["BUILTIN", "Detector", "Memory", "Tuning", "find", "fingerprint", "registry"]

BUILTIN: tuple[Detector, ...] = (
    NonfiniteDetector(),
    SpikeDetector(),
    EvaluationDetector(),
    RepeatedData(),
    Throughput(),
    Straggler(),
    CommSlowdown(),
    Stall(),
    Desync(),
    DifferentCalls(),
    Hang(),
    RasReports(),
    LossScaleCollapse(),
    HiddenNonfinite(),
    MemoryLeak(),
    GpuFault(),
    SuddenDrop(),
    MixtureShift(),
)


def registry() -> dict[str, Detector]:
    """Every detector by name: the built-in ones and those of installed packages."""
    return build(BUILTIN, group="holter.detectors")


def find(run: RunData, *, tuning: Tuning = Tuning(), memory: Memory | None = None) -> list[Finding]:
    """What all detectors find, one finding per real event, in the order in which they were spoken.

    `tuning`: what a user said about detection; every preference takes effect here, or in the detectors
    by way of `Tuning.of`. `memory`: that of the last look at this run, so that only what is new costs
    something; the findings are the same without.
    """
    memory = Memory() if memory is None else memory.under(_looked_with(tuning))
    run = with_roles(run, tuning)
    detectors = [_tuned(detector, tuning) for detector in registry().values()]
    # values at the edge of what a float holds overflow on the way, into infinities that are dealt with
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        findings = [finding for detector in detectors for finding in look(detector, run, memory)]
    own = without_consequences(wanted(findings, tuning), run)
    return sorted(
        without_roles(unexpected(own, run, tuning)),
        key=lambda finding: (finding.detected_step, finding.start_step, finding.metric),
    )


def _looked_with(tuning: Tuning) -> Tuning:
    """The part of a tuning that the detectors themselves depend on."""
    return replace(tuning, kinds=None, ignore=frozenset(), expected=())


def _tuned(detector: Detector, tuning: Tuning) -> Detector:
    # a detector that takes preferences is a dataclass with a field for them
    if is_dataclass(detector) and hasattr(detector, "tuning"):
        tuned: Detector = replace(detector, tuning=tuning)
        return tuned
    return detector


def fingerprint(finding: Finding) -> str:
    """What stays the same while a finding develops: the signal of its kind, and its place."""
    labels = ",".join(f"{name}={value}" for name, value in finding.labels)
    signal = _SIGNAL.get(finding.kind.value, finding.kind.value)
    told = finding.evidence.get("wall_time")
    if isinstance(told, float):  # what is told by the clock has its place there, whichever step that was
        return f"{signal}|{finding.metric}|{labels}|{told}"
    return f"{signal}|{finding.metric}|{labels}|{finding.attempt}|{finding.start_step}"


# kinds that one finding may pass through while it develops
_SIGNAL = {
    kind: "loss"
    for kind in (
        "spike_fast",
        "spike_slow",
        "spike_unrecovered",
        "divergence",
        "nonfinite",
        "resume_artifact",
        "outlier_batch",
        "sudden_drop",
        "mixture_shift",
        "loss_scale_collapse",
    )
}

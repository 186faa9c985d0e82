"""Kinds of findings about the speed and the progress of a run."""

from __future__ import annotations

from holter.detectors.findings.fields import AFTER_RESUME, BASELINE, GRADUAL, LOST, NOISE, WORST
from holter.detectors.findings.finding_type import (
    EvidenceField,
    EvidenceFormat,
    FindingType,
    SeverityRule,
)
from holter.roles import Role
from holter.types import Kind, Severity

THROUGHPUT_REGRESSION = FindingType(
    kind=Kind.THROUGHPUT_REGRESSION,
    title="Throughput regression",
    meaning="The run has been slower than its own established level by 3 % or more, for long.",
    advice="Look at the nodes, the network and the data loader.",
    severity=SeverityRule(
        severities=(Severity.INFO, Severity.WARNING, Severity.CRITICAL),
        rule="Critical from a loss of 10 % on, a warning below; info where another finding explains it.",
    ),
    evidence=(BASELINE, WORST, LOST, NOISE, GRADUAL, AFTER_RESUME),
    unit_role=Role.THROUGHPUT,
    relative_noise=True,
)
STALL = FindingType(
    kind=Kind.STALL,
    title="Stall",
    meaning="No new points for far longer than the run's own rhythm.",
    advice="See whether the job is alive, and what its ranks wait for.",
    severity=SeverityRule(
        severities=(Severity.INFO, Severity.CRITICAL),
        rule="Critical while it lasts, info once points arrive again.",
    ),
    evidence=(
        EvidenceField(key="limit_seconds", label="Longest regular pause", format=EvidenceFormat.SECONDS),
        EvidenceField(key="silent_seconds", label="Silent for", format=EvidenceFormat.SECONDS),
        EvidenceField(key="gpu_util", label="GPU utilization meanwhile", suffix=" %"),
        EvidenceField(key="gpu_power", label="GPU power meanwhile", suffix=" W"),
        EvidenceField(key="power_share", label="Share of the usual GPU power", format=EvidenceFormat.SHARE),
        EvidenceField(
            key="gpu_tensor_active", label="Tensor cores active meanwhile", format=EvidenceFormat.SHARE
        ),
    ),
)

FINDING_TYPES = (THROUGHPUT_REGRESSION, STALL)

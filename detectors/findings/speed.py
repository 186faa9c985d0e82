"""Kinds of findings about throughput, progress, ranks and their collectives."""

from __future__ import annotations

from holter.detectors.findings.fields import (
    AFTER_RESUME,
    BASELINE,
    COUNT,
    GRADUAL,
    HOSTS,
    LOST,
    NOISE,
    OF_EVALUATION,
    RANKS,
    WORST,
)
from holter.detectors.findings.finding_type import (
    WARNING_ONLY,
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
    metric_titles=((OF_EVALUATION, "Slow evaluations"),),
    meaning="The run has been slower than its own established level by 3 % or more for a long time, or its "
    "evaluations take at least 1.5 times as long as all before.",
    advice="Look at the nodes, the network and the data loader.",
    severity=SeverityRule(
        severities=(Severity.INFO, Severity.WARNING, Severity.CRITICAL),
        rule="Critical from a loss of 10 % on that lasted 128 steps, a warning below; info once it is over "
        "if it was shorter, if the run was as slow for about as long at least twice before, if only the "
        "first steps were faster, or where another finding explains it.",
    ),
    evidence=(
        BASELINE,
        WORST,
        LOST,
        NOISE,
        GRADUAL,
        AFTER_RESUME,
        EvidenceField(
            key="times_before", label="As slow before", format=EvidenceFormat.COUNT, noun="time", minimum=1
        ),
    ),
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

STRAGGLER = FindingType(
    kind=Kind.STRAGGLER,
    title="Straggler",
    meaning="One rank computes longer than its peers, and they wait for it.",
    advice="Look at the rank's node, and drain it if it stays slow.",
    severity=SeverityRule(
        severities=(Severity.WARNING, Severity.CRITICAL),
        rule="Critical from 10 % slower on, a warning below.",
    ),
    evidence=(
        EvidenceField(key="slower_by", label="Slower than its peers by", format=EvidenceFormat.SHARE),
        NOISE,
        EvidenceField(key="duty", label="Slow in", format=EvidenceFormat.SHARE, suffix=" of the steps"),
        RANKS,
        HOSTS,
        EvidenceField(key="lost_per_step", label="Lost per step", format=EvidenceFormat.TIME),
        EvidenceField(key="share_of_step_lost", label="Share of each step lost", format=EvidenceFormat.SHARE),
        EvidenceField(key="own_wait", label="Its own wait per step", format=EvidenceFormat.TIME),
        EvidenceField(key="others_wait", label="Wait of the others per step", format=EvidenceFormat.TIME),
    ),
    relative_noise=True,
    example="Rank 14 computes 30% longer than its peers, all the time, since step 1,440. The others wait "
    "for it: 17.9% of each step is lost.",
)
COMM_SLOWDOWN = FindingType(
    kind=Kind.COMM_SLOWDOWN,
    title="Slow communication",
    meaning="Collectives take longer for all ranks, including the last one to arrive.",
    advice="It is the fabric, not a rank: look at links, switches, routing, other jobs on the network.",
    severity=WARNING_ONLY,
    evidence=(BASELINE, WORST, LOST, NOISE, GRADUAL, AFTER_RESUME),
    unit_role=Role.STEP_TIME,
    relative_noise=True,
)
DESYNC = FindingType(
    kind=Kind.DESYNC,
    title="Ranks out of sync",
    meaning="Ranks disagree on the next collective, or one of them has stopped.",
    advice="Look at the rank that differs: its stack, its host, its log.",
    severity=SeverityRule(
        severities=(Severity.WARNING, Severity.CRITICAL),
        rule="Critical while the ranks wait for each other, a warning once they continue.",
    ),
    evidence=(
        RANKS,
        COUNT,
        EvidenceField(key="sequence", label="At collective number", format=EvidenceFormat.STEP),
        EvidenceField(key="others", label="The others are at", format=EvidenceFormat.STEP),
        EvidenceField(key="call", label="Its call", format=EvidenceFormat.TEXT),
        EvidenceField(key="others_call", label="Call of the others", format=EvidenceFormat.TEXT),
        EvidenceField(key="behind", label="Furthest-behind rank"),
        EvidenceField(key="last", label="Number of its last call", format=EvidenceFormat.STEP),
        EvidenceField(key="collective", label="Collective", format=EvidenceFormat.TEXT),
        EvidenceField(key="waiting", label="Waiting ranks", format=EvidenceFormat.LIST),
        EvidenceField(key="waited_ms", label="Waited", format=EvidenceFormat.MILLISECONDS),
        EvidenceField(key="dead", label="Reported as dead", format=EvidenceFormat.LIST),
        HOSTS,
    ),
    example="Rank 5 is at collective 8,001 since step 200, the others at 8,002: they wait for each other.",
)

FINDING_TYPES = (
    THROUGHPUT_REGRESSION,
    STALL,
    STRAGGLER,
    COMM_SLOWDOWN,
    DESYNC,
)

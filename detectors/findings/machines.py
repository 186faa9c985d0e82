"""Kinds of findings about memory and GPUs, and of incidents about the agents that send data."""

from __future__ import annotations

from holter.detectors.findings.fields import BASELINE, COUNT, DURATION_STEPS, UNIT, VALUE
from holter.detectors.findings.finding_type import (
    WARNING_ONLY,
    EvidenceField,
    EvidenceFormat,
    FindingType,
    SeverityRule,
)
from holter.types import Kind, Severity

MEMORY_LEAK = FindingType(
    kind=Kind.MEMORY_LEAK,
    title="Memory leak",
    meaning="Memory in use grows steadily over a long time.",
    advice="Look for what keeps references: losses that are summed up without .item(), growing caches, "
    "data loader workers. Restart from a checkpoint before the limit is reached.",
    severity=SeverityRule(
        severities=(Severity.WARNING, Severity.CRITICAL),
        rule="Critical once 90 % of the limit are used or it is two hours away, a warning before.",
    ),
    evidence=(
        BASELINE,
        EvidenceField(key="now", label="Current level", format=EvidenceFormat.LEVEL),
        UNIT,
        EvidenceField(
            key="growth_per_1000_steps", label="Growth per 1,000 steps", format=EvidenceFormat.GROWTH
        ),
        EvidenceField(key="growth_per_hour", label="Growth per hour", format=EvidenceFormat.GROWTH),
        DURATION_STEPS,
        EvidenceField(key="series", label="Series that grow", minimum=2),
        EvidenceField(key="limit", label="Limit", format=EvidenceFormat.LEVEL),
        EvidenceField(
            key="limit_reached_at_step", label="Limit reached at about step", format=EvidenceFormat.STEP
        ),
    ),
    example="memory(GiB): has grown steadily since step 0, from 30 to 36 GB: 0.5 GB per 1,000 steps, "
    "0.9 GB an hour.",
)
GPU_FAULT = FindingType(
    kind=Kind.GPU_FAULT,
    title="GPU fault",
    meaning="A GPU reported an XID error, or errors that its memory or links could not correct.",
    advice="Drain the node.",
    severity=SeverityRule(
        severities=(Severity.INFO, Severity.WARNING, Severity.CRITICAL),
        rule="By the code of the error; critical where the GPU cannot be used until it is reset or replaced.",
    ),
    evidence=(
        VALUE,
        COUNT,
        EvidenceField(key="last_step", label="Last at step", format=EvidenceFormat.STEP),
        EvidenceField(key="wall_time", label="First at", format=EvidenceFormat.CLOCK),
        EvidenceField(key="last_wall_time", label="Last at", format=EvidenceFormat.CLOCK),
        EvidenceField(key="faults", label="Faults", format=EvidenceFormat.COUNTS),
    ),
    example="XID 79 on gpu 3, host n17 at step 120: it has fallen off the bus.",
)

AGENTS = EvidenceField(key="agents", label="Agents", format=EvidenceFormat.LIST)
FOLLOWS = EvidenceField(key="follows", label="Follows", format=EvidenceFormat.LIST)
MEMBERS = EvidenceField(key="members", label="All agents", format=EvidenceFormat.HIDDEN)
AGENT_SILENT = FindingType(
    kind=Kind.AGENT_SILENT,
    title="Agent silent",
    meaning="Agents stopped reporting without announcing their end; what they read is not monitored now.",
    advice=(
        "Check that the machine is up and can reach Holter, then start the agent again: it continues reading "
        "where it stopped. If it is gone for good, press Forget on the overview."
    ),
    severity=WARNING_ONLY,
    evidence=(
        AGENTS,
        EvidenceField(key="machines", label="Machines", format=EvidenceFormat.LIST),
        FOLLOWS,
        EvidenceField(key="projects", label="Projects", format=EvidenceFormat.LIST),
        EvidenceField(key="last_report", label="Last report", format=EvidenceFormat.CLOCK),
        EvidenceField(
            key="files_behind",
            label="Files not fully read",
            format=EvidenceFormat.COUNT,
            noun="file",
            minimum=1,
        ),
        EvidenceField(key="all_silent", label="No agent reports", format=EvidenceFormat.FLAG),
        MEMBERS,
    ),
)

NO_DATA = FindingType(
    kind=Kind.NO_DATA,
    title="No data",
    meaning="A run was announced, or an agent started, and no point came; or a run without a clock or with "
    "few points fell silent.",
    advice=(
        "Check whether the job has reached its first step, and whether its client or agent can reach Holter; "
        "see the job's log. If the run is not wanted, finish or delete it."
    ),
    severity=WARNING_ONLY,
    evidence=(
        EvidenceField(key="expected_within", label="Expected within", format=EvidenceFormat.SECONDS),
        EvidenceField(key="last_arrival", label="Last heard of", format=EvidenceFormat.CLOCK),
        EvidenceField(key="points_before", label="Points so far", format=EvidenceFormat.COUNT, noun="point"),
        AGENTS,
        FOLLOWS,
        MEMBERS,
    ),
    example="It was announced, but no point came within 60 min.",
)

FINDING_TYPES = (
    MEMORY_LEAK,
    GPU_FAULT,
    AGENT_SILENT,
    NO_DATA,
)

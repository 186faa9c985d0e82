"""Kinds of incidents about the agents that send data; no detector finds them."""

from __future__ import annotations

from holter.detectors.findings.finding_type import (
    WARNING_ONLY,
    EvidenceField,
    EvidenceFormat,
    FindingType,
)
from holter.types import Kind

AGENT_SILENT = FindingType(
    kind=Kind.AGENT_SILENT,
    title="Agent silent",
    meaning="Agents stopped reporting without announcing their end; what they follow is not watched.",
    advice=(
        "Check that the machine is up and can reach Holter, then start the agent again: it continues reading "
        "where it stopped. If it is gone for good, press Forget on the overview."
    ),
    severity=WARNING_ONLY,
    evidence=(
        EvidenceField(key="agents", label="Agents", format=EvidenceFormat.LIST),
        EvidenceField(key="machines", label="Machines", format=EvidenceFormat.LIST),
        EvidenceField(key="follows", label="Follows", format=EvidenceFormat.LIST),
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
        EvidenceField(key="members", label="All agents", format=EvidenceFormat.HIDDEN),
    ),
)

FINDING_TYPES = (AGENT_SILENT,)

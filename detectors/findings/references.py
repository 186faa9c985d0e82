"""The kind of finding about a run compared with its reference runs."""

from __future__ import annotations

from holter.detectors.findings.finding_type import EvidenceField, EvidenceFormat, FindingType, SeverityRule
from holter.types import Kind, Severity

WORSE_THAN_REFERENCE = FindingType(
    kind=Kind.WORSE_THAN_REFERENCE,
    title="Worse than the reference",
    meaning="The loss is higher than that of every reference run at equal progress, by more than noise.",
    advice="Compare the run with its reference: the page names the settings that differ.",
    severity=SeverityRule(
        severities=(Severity.INFO, Severity.WARNING, Severity.CRITICAL),
        rule="As the setting `severity` in `[projects.NAME.reference]` says; information by default.",
    ),
    evidence=(
        EvidenceField(key="reference", label="Reference runs", format=EvidenceFormat.LIST),
        EvidenceField(key="difference", label="Difference", format=EvidenceFormat.SHARE),
        EvidenceField(key="difference_low", label="At least", format=EvidenceFormat.SHARE),
        EvidenceField(key="difference_high", label="At most", format=EvidenceFormat.SHARE),
        EvidenceField(key="aligned_by", label="Aligned by", format=EvidenceFormat.TEXT),
    ),
    example="The loss is 2.1 % higher than that of the reference llm/7b-base since step 12,000.",
)

FINDING_TYPES = (WORSE_THAN_REFERENCE,)
"""The types of this file."""

"""Kinds of incidents that the training program itself reports."""

from __future__ import annotations

from holter.detectors.findings.finding_type import EvidenceField, EvidenceFormat, FindingType, SeverityRule
from holter.types import Kind, Severity

USER_ALERT = FindingType(
    kind=Kind.USER_ALERT,
    title="Alert of the program",
    meaning="The training program raised an alert with `run.alert`.",
    advice="Read the text of the alert, and close the incident when it is dealt with.",
    severity=SeverityRule(
        severities=(Severity.INFO, Severity.WARNING, Severity.CRITICAL),
        rule="As the program states: info for `INFO`, a warning for `WARN`, critical for `ERROR`.",
    ),
    evidence=(
        EvidenceField(key="title", label="Title", format=EvidenceFormat.TEXT),
        EvidenceField(key="text", label="Text", format=EvidenceFormat.TEXT),
    ),
    example="Low accuracy: accuracy 0.31 is below the limit of 0.5.",
)

FINDING_TYPES = (USER_ALERT,)

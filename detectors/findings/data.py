"""Kinds of findings about the data that a run trains on."""

from __future__ import annotations

from holter.detectors.findings.fields import (
    BASELINE,
    DUE_TO_LOSSES,
    DUE_TO_SHARES,
    LEVEL,
    NOISE,
    POINTS,
    SHARES_AFTER,
    SHARES_BEFORE,
    SHARES_LOGGED,
)
from holter.detectors.findings.finding_type import (
    WARNING_ONLY,
    EvidenceField,
    EvidenceFormat,
    FindingType,
    SeverityRule,
)
from holter.types import Kind, Severity

REPEATED_DATA = FindingType(
    kind=Kind.REPEATED_DATA,
    title="Repeated data",
    meaning="Since a resume the run trains on data that it has already seen, and its loss reads too low.",
    advice="Restore the sampler's position with the checkpoint; the repeated steps are wasted.",
    severity=WARNING_ONLY,
    evidence=(
        EvidenceField(
            key="lag",
            label="Repeats data from",
            format=EvidenceFormat.COUNT,
            noun="step",
            suffix=" earlier",
        ),
        EvidenceField(key="source_attempt", label="Of attempt"),
        EvidenceField(key="source_step", label="Same data as from step", format=EvidenceFormat.STEP),
        EvidenceField(key="first_unseen_step", label="First unseen data at step", format=EvidenceFormat.STEP),
        EvidenceField(
            key="expected_step", label="Unseen data expected from step", format=EvidenceFormat.STEP
        ),
        EvidenceField(key="until_step", label="Same data until step", format=EvidenceFormat.STEP),
        EvidenceField(key="underreported", label="Loss reads too low by"),
        EvidenceField(
            key="correlation", label="Correlation with the earlier data", format=EvidenceFormat.SHARE
        ),
        EvidenceField(key="score", label="Correlation as Fisher's z"),
        POINTS,
    ),
)
MIXTURE_SHIFT = FindingType(
    kind=Kind.MIXTURE_SHIFT,
    title="Data mixture shift",
    meaning="The total loss moved because the shares of the datasets did; the loss of each continued.",
    advice="Restore the ratio of the datasets, unless the change was planned.",
    severity=SeverityRule(
        severities=(Severity.INFO, Severity.WARNING),
        rule="Info where the shares that are logged changed with it, a warning otherwise.",
    ),
    evidence=(
        BASELINE,
        LEVEL,
        NOISE,
        DUE_TO_SHARES,
        DUE_TO_LOSSES,
        SHARES_BEFORE,
        SHARES_AFTER,
        SHARES_LOGGED,
    ),
    signal="loss",
    example="Loss moved from 2.27 to 2.3 at step 1,319 because the data did: prose makes up 87% instead of "
    "62%, while the loss of each dataset went on as before.",
)

FINDING_TYPES = (REPEATED_DATA, MIXTURE_SHIFT)

"""Kinds of findings about NaN, infinities and the loss scale."""

from __future__ import annotations

from holter.detectors.findings.fields import (
    BASELINE,
    DURATION_STEPS,
    GRADIENT_NORM,
    KL_DIVERGENCE,
    LEVEL,
    LEVEL_BEFORE,
    METRICS,
    NOISE,
    POINTS,
    RELATED_CHANGES,
    VALID_AGAIN,
    VALUE,
)
from holter.detectors.findings.finding_type import (
    EvidenceField,
    EvidenceFormat,
    FindingType,
    SeverityRule,
)
from holter.types import Kind, Severity

NONFINITE = FindingType(
    kind=Kind.NONFINITE,
    title="NaN or infinity",
    meaning="A loss, a term of it or a gradient norm is NaN or infinite.",
    advice="Stop the run, or roll back.",
    severity=SeverityRule(
        severities=(Severity.INFO, Severity.WARNING, Severity.CRITICAL),
        rule="Critical while it lasts, a warning once the values are finite again and for an evaluation "
        "loss; info where only a gradient norm was not finite, for few points.",
    ),
    evidence=(POINTS, LEVEL_BEFORE, VALID_AGAIN),
    signal="loss",
)
METRIC_COLLAPSE = FindingType(
    kind=Kind.METRIC_COLLAPSE,
    title="Collapsed metric",
    metric_titles=(
        (GRADIENT_NORM, "Vanishing gradients"),
        (KL_DIVERGENCE, "Vanishing KL divergence"),
        (r"clip_?frac", "Policy updates clipped"),
        (r"length|(completion|response|generation|rollout|sample).*(clip|truncat)", "Completions cut off"),
        (r"(^|[^a-z])(lr|learning_?rate)([^a-z]|$)", "Zero learning rate"),
        (r"(^|[^a-z])acc(urac(y|ies))?([^a-z]|$)", "Accuracy collapse"),
        (r"(^|[^a-z])(rew|rewards?|returns?)([^a-z]|$)", "Reward collapse"),
    ),
    meaning="A gradient norm or KL divergence vanished, the learning rate is zero while training continues, "
    "an accuracy or a reward lost what it had gained, or nearly all completions are cut off, or updates "
    "clipped.",
    advice="Compare settings and samples before and after this step.",
    severity=SeverityRule(
        severities=(Severity.INFO, Severity.WARNING),
        rule="Warning; info where an accuracy or a reward is back, or where completions were cut off, or "
        "updates clipped, and are no more.",
    ),
    evidence=(
        BASELINE,
        EvidenceField(key="lowest", label="Lowest", format=EvidenceFormat.LEVEL),
        NOISE,
        LEVEL,
    ),
)
LOSS_SCALE_COLLAPSE = FindingType(
    kind=Kind.LOSS_SCALE_COLLAPSE,
    title="Loss scale collapse",
    meaning="The fp16 loss scale was halved three times within 100 steps, is far below its range, or is 1.",
    advice="Roll back, lower the learning rate, or train in bf16.",
    severity=SeverityRule(
        severities=(Severity.WARNING, Severity.CRITICAL),
        rule="Critical while the loss scale is 1, a warning otherwise.",
    ),
    evidence=(
        BASELINE,
        EvidenceField(key="lowest", label="Lowest", format=EvidenceFormat.LEVEL),
        EvidenceField(key="halvings", label="Halved", format=EvidenceFormat.COUNT, noun="time"),
        DURATION_STEPS,
        EvidenceField(key="at_minimum", label="At its minimum", format=EvidenceFormat.FLAG),
        *RELATED_CHANGES,
    ),
    signal="loss",
    example="The loss scale fell from 65.5k to 4,096 at step 2,000: gradients overflow repeatedly.",
)
HIDDEN_NONFINITE = FindingType(
    kind=Kind.HIDDEN_NONFINITE,
    title="Masked NaN",
    meaning="The logger masks NaN: zeros, one value repeated, absurd numbers, or counts of skipped steps.",
    advice="Log the loss unmasked, and roll back.",
    severity=SeverityRule(
        severities=(Severity.WARNING, Severity.CRITICAL),
        rule="Critical while it is the loss, a warning otherwise.",
    ),
    evidence=(
        VALUE,
        POINTS,
        LEVEL_BEFORE,
        EvidenceField(key="how", label="Masked as", format=EvidenceFormat.TEXT),
        VALID_AGAIN,
        METRICS,
    ),
    signal="loss",
    example="loss is exactly zero from step 2,000 on until step 2,200: this is how loggers mask NaN.",
)

FINDING_TYPES = (NONFINITE, METRIC_COLLAPSE, LOSS_SCALE_COLLAPSE, HIDDEN_NONFINITE)

"""Kinds of findings about the course of a loss and the data that it is computed on."""

from __future__ import annotations

from holter.detectors.findings.fields import (
    BASELINE,
    CAUSE,
    DUE_TO_LOSSES,
    DUE_TO_SHARES,
    DURATION_STEPS,
    GRADIENT_NORM,
    KL_DIVERGENCE,
    LEVEL,
    NOISE,
    OF_EVALUATION,
    PEAK,
    POINTS,
    RELATED_CHANGES,
    SHARES_AFTER,
    SHARES_BEFORE,
    SHARES_LOGGED,
)
from holter.detectors.findings.finding_type import (
    INFO_ONLY,
    WARNING_ONLY,
    EvidenceField,
    EvidenceFormat,
    FindingType,
    SeverityRule,
)
from holter.types import Kind, Severity

_EXCURSION = (
    BASELINE,
    PEAK,
    NOISE,
    EvidenceField(key="recovery_steps", label="Recovered after", format=EvidenceFormat.COUNT, noun="step"),
    EvidenceField(key="strength", label="Score (threshold 1)"),
    EvidenceField(key="belief", label="Threshold divided by", suffix=" (related metrics changed too)"),
    EvidenceField(
        key="rollback_upto", label="Roll back to a checkpoint up to step", format=EvidenceFormat.STEP
    ),
    EvidenceField(key="skip_from", label="Skip batches from step", format=EvidenceFormat.STEP),
    EvidenceField(key="skip_until", label="Skip batches to step", format=EvidenceFormat.STEP),
    EvidenceField(key="points_to_detect", label="Points until detection"),
    EvidenceField(key="precursors", label="Related changes", format=EvidenceFormat.RELATED_CHANGES),
    # of an evaluation loss
    EvidenceField(
        key="evaluations", label="Seen in the mean of", format=EvidenceFormat.COUNT, noun="evaluation"
    ),
    EvidenceField(
        key="noise_known_from",
        label="Noise estimated from",
        format=EvidenceFormat.COUNT,
        noun="evaluation",
        suffix=" before",
    ),
    EvidenceField(key="training_loss_before", label="Training loss before"),
    EvidenceField(key="training_loss", label="Training loss after"),
    CAUSE,
)

SPIKE_FAST = FindingType(
    kind=Kind.SPIKE_FAST,
    title="Fast loss spike",
    provisional_title="Loss spike",
    meaning="The loss rose above its trend and was back within 100 steps.",
    advice="Nothing to do; note the batch.",
    severity=SeverityRule(
        severities=(Severity.INFO, Severity.WARNING),
        rule="Info once the loss is back, and while noise may explain it; a warning otherwise.",
    ),
    evidence=_EXCURSION,
    signal="loss",
)
SPIKE_SLOW = FindingType(
    kind=Kind.SPIKE_SLOW,
    title="Slow loss spike",
    meaning="The loss rose above its trend and needed 100 steps or more to come back.",
    advice="Watch the loss; training time is lost.",
    severity=SeverityRule(
        severities=(Severity.INFO, Severity.WARNING),
        rule="Info while noise may explain it, and where the loss was hardly higher after its first point; a "
        "warning otherwise.",
    ),
    evidence=_EXCURSION,
    signal="loss",
    example="Loss rose from 2.31 to 4.02 at step 1,514 and needed 376 steps to come back.",
)
SPIKE_UNRECOVERED = FindingType(
    kind=Kind.SPIKE_UNRECOVERED,
    title="Unrecovered loss spike",
    meaning="The loss rose above its trend and settled at a higher level, or became NaN before it was back.",
    advice="Roll back to a checkpoint before the onset and skip the batches.",
    severity=SeverityRule(
        severities=(Severity.WARNING, Severity.CRITICAL),
        rule="Critical for the training loss, a warning for an evaluation loss.",
    ),
    evidence=_EXCURSION,
    signal="loss",
)
DIVERGENCE = FindingType(
    kind=Kind.DIVERGENCE,
    title="Loss divergence",
    metric_titles=(
        (GRADIENT_NORM, "Exploding gradients"),
        (KL_DIVERGENCE, "Exploding KL divergence"),
        (OF_EVALUATION, "Rising evaluation loss"),
    ),
    meaning="A loss rises slowly and steadily, without a spike; or a gradient norm, a KL divergence or a "
    "term of the loss rises far out of its range.",
    advice="Stop; look at the learning rate, precision and data.",
    severity=SeverityRule(
        severities=(Severity.WARNING, Severity.CRITICAL),
        rule="Critical where it lasts; a warning before, over many thousands of points, in the first rows "
        "of a run, or for an evaluation loss that came back or rises while the training loss does not; info "
        "where such an early rise came back.",
    ),
    evidence=(
        *_EXCURSION,
        EvidenceField(key="lowest_step", label="Lowest at step", format=EvidenceFormat.STEP),
    ),
    signal="loss",
)
RESUME_ARTIFACT = FindingType(
    kind=Kind.RESUME_ARTIFACT,
    title="Loss jump after a restart",
    meaning="The loss jumped at a restart: some state was not restored.",
    advice="Fix what the resume restores, and roll back.",
    severity=WARNING_ONLY,
    evidence=(
        *_EXCURSION,
        LEVEL,
        DUE_TO_SHARES,
        DUE_TO_LOSSES,
        SHARES_BEFORE,
        SHARES_AFTER,
        SHARES_LOGGED,
        EvidenceField(key="learning_rate_expected", label="Learning rate before"),
        EvidenceField(key="learning_rate_found", label="Learning rate after"),
        EvidenceField(key="seam", label="Sign of an unmarked restart", format=EvidenceFormat.TEXT),
        EvidenceField(key="seam_step", label="Sign at step", format=EvidenceFormat.STEP),
        EvidenceField(key="seam_size", label="Size of the gap"),
    ),
    signal="loss",
)
SUDDEN_DROP = FindingType(
    kind=Kind.SUDDEN_DROP,
    title="Sudden loss drop",
    meaning="The loss fell at once to a level that it had never reached, and no logged change explains it.",
    advice="Nothing to do: the model has suddenly learnt something. Compare samples before and after.",
    severity=INFO_ONLY,
    evidence=(
        BASELINE,
        LEVEL,
        NOISE,
        EvidenceField(key="expected_fall", label="Expected fall", format=EvidenceFormat.SHARE),
        DURATION_STEPS,
        EvidenceField(key="not_logged", label="Not logged, so not examined", format=EvidenceFormat.LIST),
        *RELATED_CHANGES,
    ),
    signal="loss",
    example="Loss fell from 3.49 to 2.28 within 40 steps of step 536, far faster than before.",
)
OUTLIER_BATCH = FindingType(
    kind=Kind.OUTLIER_BATCH,
    title="Outlier batch",
    meaning="One point is far above the trend, as the noise of this run produces now and then.",
    advice="Nothing to do.",
    severity=INFO_ONLY,
    evidence=_EXCURSION,
    signal="loss",
)

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
        EvidenceField(key="source_attempt", label="First seen in attempt"),
        EvidenceField(key="source_step", label="First seen from step", format=EvidenceFormat.STEP),
        EvidenceField(key="first_unseen_step", label="First unseen data at step", format=EvidenceFormat.STEP),
        EvidenceField(key="expected_step", label="Unseen data expected at step", format=EvidenceFormat.STEP),
        EvidenceField(key="until_step", label="Repeated until step", format=EvidenceFormat.STEP),
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
    meaning="The total loss changed because the shares of the datasets changed; the loss of each did not.",
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
    example="Loss moved from 2.27 to 2.3 at step 1,319 because the data mixture changed: prose makes up "
    "87% instead of 62%; the loss of each dataset continued as before.",
)

FINDING_TYPES = (
    SPIKE_FAST,
    SPIKE_SLOW,
    SPIKE_UNRECOVERED,
    DIVERGENCE,
    RESUME_ARTIFACT,
    SUDDEN_DROP,
    OUTLIER_BATCH,
    REPEATED_DATA,
    MIXTURE_SHIFT,
)

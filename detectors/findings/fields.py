"""Evidence fields that several kinds of findings share."""

from __future__ import annotations

from holter.detectors.findings.finding_type import EvidenceField, EvidenceFormat
from holter.roles import EVALUATION_WORDS, ROLE_TITLES, Role

BASELINE = EvidenceField(key="baseline", label="Baseline", format=EvidenceFormat.LEVEL)
PEAK = EvidenceField(key="peak", label="Peak", format=EvidenceFormat.LEVEL)
LEVEL = EvidenceField(key="level", label="Level after", format=EvidenceFormat.LEVEL)
WORST = EvidenceField(key="worst", label="Worst level", format=EvidenceFormat.LEVEL)
NOISE = EvidenceField(key="noise", label="Noise", format=EvidenceFormat.NOISE)
DURATION_STEPS = EvidenceField(
    key="duration_steps", label="Duration", format=EvidenceFormat.COUNT, noun="step"
)
POINTS = EvidenceField(key="points", label="Points affected")
LEVEL_BEFORE = EvidenceField(key="before", label="Level before", format=EvidenceFormat.LEVEL)
VALID_AGAIN = EvidenceField(key="good_step", label="Valid again at step", format=EvidenceFormat.STEP)
SHARES_BEFORE = EvidenceField(key="shares_before", label="Shares before", format=EvidenceFormat.SHARES)
SHARES_AFTER = EvidenceField(key="shares", label="Shares after", format=EvidenceFormat.SHARES)
DUE_TO_SHARES = EvidenceField(key="by_shares", label="Due to the shares")
DUE_TO_LOSSES = EvidenceField(key="by_losses", label="Due to the losses of the datasets")
SHARES_LOGGED = EvidenceField(key="logged", label="Shares were logged", format=EvidenceFormat.FLAG)
LOST = EvidenceField(key="lost", label="Throughput lost", format=EvidenceFormat.SHARE)
GRADUAL = EvidenceField(key="gradual", label="Gradual", format=EvidenceFormat.FLAG)
AFTER_RESUME = EvidenceField(key="after_resume", label="Began with a resume", format=EvidenceFormat.FLAG)
COUNT = EvidenceField(key="count", label="Count")
VALUE = EvidenceField(key="value", label="Value")
RANKS = EvidenceField(key="ranks", label="Ranks", format=EvidenceFormat.LIST, minimum=2)
HOSTS = EvidenceField(key="hosts", label="Hosts", format=EvidenceFormat.LIST)
METRICS = EvidenceField(key="metrics", label="Metrics", format=EvidenceFormat.LIST, minimum=2)

ALSO = EvidenceField(key="also", label="Also detected", format=EvidenceFormat.REFERENCES)
BECAUSE_OF = EvidenceField(key="because_of", label="Caused by", format=EvidenceFormat.REFERENCES)
GRADIENT_NORM = r"(^|[^a-z])g(rad(ient)?)?[_ -]?norm"
KL_DIVERGENCE = r"(^|[^a-z])kld?([^a-z]|$)"
OF_EVALUATION = rf"(^|[^a-z])({'|'.join(EVALUATION_WORDS)})([^a-z]|$)"
"""Names of metrics, for titles."""

CAUSE = EvidenceField(key="cause", label="Cause", format=EvidenceFormat.HIDDEN)
"""The summary and the advice state it in words."""
CORRELATED = (ALSO, BECAUSE_OF)
"""Fields that correlation and inhibition may add to a finding of any kind."""

RELATED_CHANGES = (
    EvidenceField(key="restarted", label="Time since the restart", format=EvidenceFormat.COUNT, noun="step"),
    EvidenceField(key="learning_rate", label=ROLE_TITLES[Role.LEARNING_RATE], format=EvidenceFormat.CHANGE),
    EvidenceField(key="batch_size", label=ROLE_TITLES[Role.BATCH_SIZE], format=EvidenceFormat.CHANGE),
    EvidenceField(key="mixture", label="Datasets whose share changed", format=EvidenceFormat.LIST),
    EvidenceField(key="epoch", label="End of an epoch", format=EvidenceFormat.FLAG),
    EvidenceField(
        key="gradient_norm", label="Gradient norm relative to its median", format=EvidenceFormat.MULTIPLE
    ),
    EvidenceField(
        key="loss_scale_halvings",
        label="Loss scale halved",
        format=EvidenceFormat.COUNT,
        noun="time",
        unless="halvings",
    ),
)
"""What else changed just before, as `holter.detectors.context.related_changes` states it."""

UNIT = EvidenceField(key="unit", label="Unit", format=EvidenceFormat.HIDDEN)

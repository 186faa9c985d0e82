"""Summary and advice for a loss that left its trend, including the rollback that the advice names.

Large runs restarted about a hundred steps before a spike and skipped some hundred batches (PaLM, GLM-130B,
K2). A drift began some time before it could be detected, so the margin grows with that time.
"""

from __future__ import annotations

from dataclasses import dataclass

from holter.detectors.formatting import duration, figure, figures, from_to
from holter.detectors.loss.classify import Classification
from holter.detectors.loss.lr_mismatch import LearningRateMismatch
from holter.detectors.loss.unmarked_restarts import UnmarkedRestart
from holter.detectors.thresholds import Thresholds
from holter.plurals import counted, verb
from holter.types import Kind, Labels, Severity

EXPECTED_RISE_ADVICE = (
    "Nothing to do: a logged change announced it, the loss had been as high before, or the run has come back "
    "from such rises before."
)
COMPONENT_ADVICE = (
    "Nothing to do as long as the total loss does not rise: its other components make up for this one."
)
_ROLLBACK_KINDS = frozenset({Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED, Kind.DIVERGENCE})


@dataclass(frozen=True, kw_only=True)
class RollbackThresholds(Thresholds):
    """Where the advice rolls back to, and which batches it skips."""

    margin_steps: int = 100
    """Steps before the onset that a checkpoint must be from. Source: PaLM, GLM-130B and K2 restarted about
    100 steps before the spike."""
    margin_points: int = 4
    """Points before the onset that a checkpoint must be from, where the log is sparse."""
    skipped_steps: int = 200
    """Steps after the onset whose batches are skipped, at least; up to the peak, at most twice as many.
    Source: PaLM and GLM-130B skipped 200 to 500 batches."""


@dataclass(frozen=True, kw_only=True)
class SpikeRollback:
    """A checkpoint of step `upto` or earlier is sound; batches from `skip_from` to `skip_until` are suspect.

    Both are None for a drift, which batches do not cause.
    """

    upto: int
    skip_from: int | None
    skip_until: int | None


def rollback_for(
    kind: Kind,
    thresholds: RollbackThresholds,
    *,
    start_step: int,
    peak_step: int,
    detected_step: int,
    spacing: int,
    unit: int,
) -> SpikeRollback | None:
    """The rollback for an event, None for kinds that need none.

    All steps are those of the log: `spacing` is that of its rows, `unit` an optimizer step.
    """
    if kind not in _ROLLBACK_KINDS:
        return None
    margin = max(thresholds.margin_steps * unit, thresholds.margin_points * spacing)
    if kind is Kind.DIVERGENCE:
        upto = start_step - max(margin, (detected_step - start_step) // 2)
        return SpikeRollback(upto=max(upto, 0), skip_from=None, skip_until=None)
    # a row of the log may stand for all steps since the previous row
    first = max(start_step - spacing + 1, 0)
    skipped = thresholds.skipped_steps * unit
    until = max(min(peak_step, start_step + 2 * skipped), start_step + skipped)
    return SpikeRollback(upto=max(start_step - margin, 0), skip_from=first, skip_until=until)


@dataclass(frozen=True, kw_only=True)
class SpikeFacts:
    """The facts that a summary and an advice state; steps are those of the log, `last_step` the last seen.

    `level` is what the loss has drifted to, and the step by which it did; `lost_at` the step since which it
    has been NaN or infinite; `dip` that at which it fell into the dip from which it returned. `component`:
    the name of a loss that is a component of another.
    """

    classification: Classification
    baseline: float
    peak: float
    start_step: int
    peak_step: int
    end_step: int | None
    last_step: int
    labels: Labels
    component: str = ""
    level: tuple[float, int] | None = None
    lost_at: int | None = None
    down: bool = False
    rate_mismatch: LearningRateMismatch | None = None
    rollback: SpikeRollback | None = None
    unmarked_restart: UnmarkedRestart | None = None
    is_expected: bool = False
    dip: int | None = None


def summarize_spike(facts: SpikeFacts) -> str:
    """What happened, in one sentence with rounded numbers, and a second where it was a return from a dip."""
    happened = _summarize_rise(facts)
    if facts.dip is None:
        return happened
    return f"{happened} It had been as high until it fell at step {facts.dip:,}."


def _summarize_rise(facts: SpikeFacts) -> str:
    classification, start = facts.classification, f"{facts.start_step:,}"
    dataset = dict(facts.labels).get("dataset")
    loss = f"Loss on {dataset} alone" if dataset else _named(facts)
    moved = from_to(facts.baseline, facts.peak)
    if classification.kind is Kind.RESUME_ARTIFACT:
        return _summarize_restart(facts)
    if classification.kind is Kind.DIVERGENCE:
        lost = "" if facts.lost_at is None else f", and has been NaN or infinite since step {facts.lost_at:,}"
        return f"{loss} has been drifting upwards since about step {start}: {_describe_drift(facts)}{lost}."
    if classification.kind is Kind.OUTLIER_BATCH:
        peak, baseline = figures(facts.peak, facts.baseline)
        return f"{loss} was {peak} instead of {baseline} for one batch at step {start}."
    if classification.recovery_steps is not None:
        needed = counted(classification.recovery_steps, "step")
        if classification.kind is Kind.SPIKE_UNRECOVERED:
            fell = f"fell on from there: it was as low as before after {needed}"
            return f"{loss} rose {moved} at step {start}, settled higher and {fell}."
        return f"{loss} rose {moved} at step {start} and needed {needed} to come back."
    if classification.kind is Kind.SPIKE_UNRECOVERED and facts.lost_at is not None:
        lost = f"it has been NaN or infinite since step {facts.lost_at:,}"
        return f"{loss} rose {moved} at step {start} and did not come back: {lost}."
    elapsed = counted(facts.last_step - facts.start_step, "step")
    if classification.kind is Kind.SPIKE_UNRECOVERED:
        return f"{loss} rose {moved} at step {start} and settled higher: it is not back after {elapsed}."
    return f"{loss} rose {moved} at step {start} and is not back after {elapsed}."


def _named(facts: SpikeFacts) -> str:
    return f"Loss component {facts.component}" if facts.component else "Loss"


def _describe_drift(facts: SpikeFacts) -> str:
    """Where the loss has drifted to; its highest point alone would name one outlier."""
    level, by = facts.level or (facts.peak, facts.peak_step)
    drift = f"{from_to(facts.baseline, level)} by step {by:,}"
    if by == facts.peak_step or figure(level) == figure(facts.peak):
        return drift
    return f"{drift}, single points up to {figure(facts.peak)}"


def _summarize_restart(facts: SpikeFacts) -> str:
    start, mismatch = f"{facts.start_step:,}", facts.rate_mismatch
    if mismatch is not None:
        rates = "{} instead of {}".format(*figures(mismatch.actual, mismatch.expected))
        return f"The restart at step {start} did not restore the learning rate: it is {rates}."
    if facts.down:
        low = f"{_named(facts)} has been lower than expected since the restart at step {start}"
        return f"{low}: repeated data or another data mixture; the log does not show which."
    back = "" if facts.end_step is None else f" and was back at step {facts.end_step:,}"
    moved = from_to(facts.baseline, facts.peak)
    if facts.unmarked_restart is not None:
        sign = _describe_sign(facts.unmarked_restart)
        return f"{_named(facts)} rose {moved} at step {start}{back}, probably because of a restart: {sign}."
    return f"{_named(facts)} rose {moved} with the restart at step {start}{back}."


def _describe_sign(restart: UnmarkedRestart) -> str:
    step = f"{restart.step:,}"
    if restart.sign == "silence":
        return f"the log has a pause of {duration(restart.size)} before step {step}"
    if restart.sign == "gap":
        missing = round(restart.size)
        return f"{counted(missing, 'step')} {verb(missing, 'is', 'are')} missing before step {step}"
    return f"the learning rate began to warm up again at step {step}"


def advise_on_spike(facts: SpikeFacts) -> str:
    """What to do: where to roll back to, and what to skip."""
    kind, start = facts.classification.kind, f"{facts.start_step:,}"
    upto = f"{facts.rollback.upto:,}" if facts.rollback else start
    checkpoint = f"the latest checkpoint up to step {upto}"
    if kind is Kind.RESUME_ARTIFACT and facts.rate_mismatch is not None:
        return f"Unless intended: restore the schedule with the checkpoint, and resume at step {start} again."
    if kind is Kind.RESUME_ARTIFACT:
        what = "data mixture and sampler" if facts.down else "optimizer state, schedule and data"
        return f"Compare {what} of this attempt with the previous one; resume at step {start} again."
    if facts.is_expected and facts.classification.severity is Severity.INFO and kind in _ROLLBACK_KINDS:
        return EXPECTED_RISE_ADVICE
    if kind is Kind.DIVERGENCE:
        return f"Stop; go back to {checkpoint}, lower the learning rate, or check precision and data."
    if kind is Kind.SPIKE_UNRECOVERED:
        return f"Roll back to {checkpoint}, and skip the batches of {_skipped_steps(facts)}."
    if kind is Kind.SPIKE_SLOW and facts.end_step is None:
        return f"Watch the loss; if it does not come back, roll back to {checkpoint}."
    if kind is Kind.OUTLIER_BATCH:
        return f"Nothing to do: the noise of this run has such points. The batch is that of step {start}."
    if facts.peak_step == facts.start_step:
        return f"Nothing to do now. Note the batch of step {start}: if it causes another spike, skip it."
    return (
        f"Nothing to do now. Note the batches of {_spike_steps(facts)}: if they cause another spike, skip "
        "them."
    )


def _skipped_steps(facts: SpikeFacts) -> str:
    rollback = facts.rollback
    if rollback is None or rollback.skip_from is None:
        return _spike_steps(facts)
    return f"steps {rollback.skip_from:,} to {rollback.skip_until:,}"


def _spike_steps(facts: SpikeFacts) -> str:
    if facts.peak_step == facts.start_step:
        return f"step {facts.start_step:,}"
    return f"steps {facts.start_step:,} to {facts.peak_step:,}"

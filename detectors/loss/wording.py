"""Sentences about a loss that left its trend, for someone who was asleep a minute ago."""

from __future__ import annotations

from dataclasses import dataclass

from holter.counted import counted, verb
from holter.detectors.figures import duration, figure
from holter.detectors.loss.rollback import Rollback
from holter.detectors.loss.schedule import OtherRate
from holter.detectors.loss.seams import Seam
from holter.detectors.loss.verdict import Verdict
from holter.types import Kind, Labels


@dataclass(frozen=True, kw_only=True)
class Story:
    """What a sentence is made of; steps are those of the log, `last_step` the last one seen."""

    verdict: Verdict
    baseline: float
    peak: float
    start_step: int
    peak_step: int
    end_step: int | None
    last_step: int
    labels: Labels
    down: bool = False
    rate: OtherRate | None = None
    rollback: Rollback | None = None
    seam: Seam | None = None


def summary_of(story: Story) -> str:
    """What happened, in one sentence with rounded numbers."""
    verdict, start = story.verdict, f"{story.start_step:,}"
    dataset = dict(story.labels).get("dataset")
    loss = f"Loss on {dataset} alone" if dataset else "Loss"
    moved = f"from {figure(story.baseline)} to {figure(story.peak)}"
    if verdict.kind is Kind.RESUME_ARTIFACT:
        return _resume(story)
    if verdict.kind is Kind.DIVERGENCE:
        return f"{loss} has been drifting away since about step {start}: {moved} by step {story.peak_step:,}."
    if verdict.kind is Kind.OUTLIER_BATCH:
        return (
            f"{loss} was {figure(story.peak)} at step {start} instead of {figure(story.baseline)}: one batch."
        )
    if verdict.recovery_steps is not None:
        needed = counted(verdict.recovery_steps, "step")
        return f"{loss} rose {moved} at step {start} and needed {needed} to come back."
    lasting = f"{counted(story.last_step - story.start_step, 'step')} later"
    if verdict.kind is Kind.SPIKE_UNRECOVERED:
        return f"{loss} rose {moved} at step {start} and has settled higher: it is not back {lasting}."
    return f"{loss} rose {moved} at step {start} and is not back yet, {lasting}."


def _resume(story: Story) -> str:
    start = f"{story.start_step:,}"
    if story.rate is not None:
        rate = f"{figure(story.rate.expected)} there before, {figure(story.rate.found)} now"
        return f"The restart at step {start} did not take up the learning rate: {rate}."
    if story.down:
        moved = f"Loss has been lower than it should since the restart at step {start}"
        return f"{moved}: data seen before, or another mixture; the log does not say which."
    back = "" if story.end_step is None else f" and was back at step {story.end_step:,}"
    moved = f"from {figure(story.baseline)} to {figure(story.peak)}"
    if story.seam is not None:
        return f"Loss rose {moved} at step {start}{back}, where {_told_by(story.seam)}: a restart, it seems."
    return f"Loss rose {moved} with the restart at step {start}{back}."


def _told_by(seam: Seam) -> str:
    at = f"{seam.step:,}"
    if seam.sign == "silence":
        return f"the log had been silent for {duration(seam.size)} before step {at}"
    if seam.sign == "gap":
        missing = round(seam.size)
        return f"{counted(missing, 'step')} {verb(missing, 'is', 'are')} missing before step {at}"
    return f"the learning rate began to warm up anew at step {at}"


def advice_on(story: Story) -> str:
    """What to do about it: where to roll back to, and what to skip."""
    kind, start = story.verdict.kind, f"{story.start_step:,}"
    upto = f"{story.rollback.upto:,}" if story.rollback else start
    first = f"the latest checkpoint up to step {upto}"
    if kind is Kind.RESUME_ARTIFACT and story.rate is not None:
        return f"Unless it was meant: restore the schedule with the checkpoint, resume at step {start} again."
    if kind is Kind.RESUME_ARTIFACT:
        what = "data mixture and sampler" if story.down else "optimizer state, schedule and data"
        return f"Compare {what} of this attempt with the one before; resume at step {start} again."
    if kind is Kind.DIVERGENCE:
        return f"Stop; go back to {first}, with a lower learning rate, or look at precision and data."
    if kind is Kind.SPIKE_UNRECOVERED:
        return f"Roll back to {first}, and skip the batches of {_skipped(story)}."
    if kind is Kind.SPIKE_SLOW and story.end_step is None:
        return f"Watch; if it does not come back, {first} is the one to roll back to."
    if kind is Kind.OUTLIER_BATCH:
        return f"Nothing to do: this run's noise has such points. The batch is that of step {start}."
    return f"Nothing to do now; note the batches of {_steps(story)}, and whether they come with more spikes."


def _skipped(story: Story) -> str:
    rollback = story.rollback
    if rollback is None or rollback.skip_from is None:
        return _steps(story)
    return f"steps {rollback.skip_from:,} to {rollback.skip_until:,}"


def _steps(story: Story) -> str:
    if story.peak_step == story.start_step:
        return f"step {story.start_step:,}"
    return f"steps {story.start_step:,} to {story.peak_step:,}"

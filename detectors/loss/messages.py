"""Sentences about a loss that left its trend, for someone who was asleep a minute ago.

Where to go back to when a loss does not come back by itself, and which batches to leave out.

What large runs did: restart about a hundred steps before the spike and skip some hundred batches (PaLM,
GLM-130B, K2). A drift began at some time before it could be seen, so the margin grows with that.
"""

from __future__ import annotations

from dataclasses import dataclass

from holter.detectors.formatting import duration, figure
from holter.detectors.loss.classify import Verdict
from holter.detectors.loss.lr_mismatch import OtherRate
from holter.detectors.loss.unmarked_restarts import Seam
from holter.plurals import counted, verb
from holter.types import Kind, Labels

_MARGIN_STEPS, _MARGIN_POINTS = 100, 4
_SKIPPED_STEPS = 200
_CALLS_FOR_IT = frozenset({Kind.SPIKE_SLOW, Kind.SPIKE_UNRECOVERED, Kind.DIVERGENCE})


@dataclass(frozen=True, kw_only=True)
class Rollback:
    """A checkpoint of step `upto` or before is sound; batches from `skip_from` to `skip_until` are suspect,
    of a drift none (None): there the batches are not the cause."""

    upto: int
    skip_from: int | None
    skip_until: int | None


def rollback_for(
    kind: Kind, *, start_step: int, peak_step: int, seen_step: int, spacing: int
) -> Rollback | None:
    """The rollback for an event, None for kinds that ask for none; `spacing` is the log's, in steps."""
    if kind not in _CALLS_FOR_IT:
        return None
    margin = max(_MARGIN_STEPS, _MARGIN_POINTS * spacing)
    if kind is Kind.DIVERGENCE:
        upto = start_step - max(margin, (seen_step - start_step) // 2)
        return Rollback(upto=max(upto, 0), skip_from=None, skip_until=None)
    # a row of the log may stand for all the steps since the row before
    first = max(start_step - spacing + 1, 0)
    until = max(min(peak_step, start_step + 2 * _SKIPPED_STEPS), start_step + _SKIPPED_STEPS)
    return Rollback(upto=max(start_step - margin, 0), skip_from=first, skip_until=until)


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

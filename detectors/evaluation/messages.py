"""Sentences about an evaluation loss."""

from __future__ import annotations

from holter.detectors.evaluation.train_loss import Beside
from holter.detectors.formatting import figure
from holter.types import Kind, SeriesKey

_BESIDE = {True: ", and the training loss with it", False: ", while the training loss did not", None: ""}


def summary_of(
    key: SeriesKey,
    kind: Kind,
    start_step: int,
    baseline: float,
    peak: float,
    back_step: int | None,
    beside: Beside,
) -> str:
    """What happened, in one sentence."""
    loss, start = f"Evaluation loss {key}", f"{start_step:,}"
    moved, back = f"from {figure(baseline)} to {figure(peak)}", ""
    if back_step is not None:
        back = f" and was back at step {back_step:,}"
    if kind is Kind.DIVERGENCE:
        verb = "rose" if back else "has been rising since"
        return f"{loss} {verb} about step {start}, {moved}{back}{_BESIDE[beside.rose]}."
    when = "with the restart at" if kind is Kind.RESUME_ARTIFACT else "at"
    stays = " and stays there" if kind is Kind.SPIKE_UNRECOVERED else back
    return f"{loss} rose {moved} {when} step {start}{stays}{_BESIDE[beside.rose]}."


def advice_on(kind: Kind, good_step: int, is_back: bool, beside: Beside) -> str:
    """What to do about it."""
    good = f"{good_step:,}"
    if is_back:
        return "Nothing to do now; evaluate that checkpoint again if it is to be used."
    if kind is Kind.DIVERGENCE and beside.rose is False:
        return f"It overfits, or its data drift from the evaluation's: keep the checkpoint of step {good}."
    if kind is Kind.RESUME_ARTIFACT:
        return "Compare weights, evaluation data and precision with those before the restart."
    if beside.rose is False:
        return "Look at what is evaluated first: its data, its code, the checkpoint it loads."
    if beside.rose is None:
        return f"The model or what is evaluated: evaluate the checkpoint of step {good} again to tell."
    return f"The model got worse: go back to a checkpoint up to step {good}, and look at the batches since."

"""Sentences about a loss that left its trend, for someone who was asleep a minute ago."""

from __future__ import annotations

from collections.abc import Mapping

from holter.detectors.verdict import Verdict
from holter.types import Kind, Labels


def summary_of(
    verdict: Verdict, evidence: Mapping[str, float | None], *, start_step: int, labels: Labels
) -> str:
    """What happened, in one sentence with rounded numbers."""
    dataset = dict(labels).get("dataset")
    loss = f"Loss on {dataset}" if dataset else "Loss"
    rose = f"{loss} rose from {evidence['baseline']:.3g} to {evidence['peak']:.3g}"
    if verdict.kind is Kind.RESUME_ARTIFACT:
        rose = f"{rose} after the restart"
    if verdict.kind is Kind.DIVERGENCE:
        return f"{loss} has been drifting away since step {start_step}: from {evidence['baseline']:.3g} to {evidence['peak']:.3g} so far."
    if verdict.recovery_steps is not None:
        steps = "1 step" if verdict.recovery_steps == 1 else f"{verdict.recovery_steps} steps"
        return f"{rose} at step {start_step} and needed {steps} to come back."
    if verdict.kind is Kind.SPIKE_UNRECOVERED:
        return f"{rose} at step {start_step} and has not come back."
    return f"{rose} at step {start_step} and is not back yet."


def advice_on(verdict: Verdict, *, start_step: int, end_step: int | None) -> str:
    """What to do about it."""
    return ""

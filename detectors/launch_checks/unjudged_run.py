"""A check for runs of which no loss is recognised, so that nothing judges how training goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from holter.detectors.detector import DetectorContext
from holter.detectors.policy_losses import has_adversary, has_policy
from holter.roles import Role, role_of
from holter.types import Diagnostic, RunData, Severity

_JUDGED = frozenset({Role.LOSS, Role.DATASET_LOSS, Role.EVAL_LOSS})
_MIN_POINTS = 32
"""Points from which on a series is a curve that somebody may expect to be judged."""
_NAMED = 6
"""Series that the summary names at most."""


class UnjudgedRunCheck:
    """Reports runs with curves of which none is a loss by its name, and says how to name one."""

    name: ClassVar[str] = "no-loss-recognised"

    def check(self, run: RunData, context: DetectorContext) -> Iterator[Diagnostic]:
        """One diagnostic, of the first attempt, where a run has curves over training steps but no loss."""
        roles = {key: role_of(key) for key in run.series if key.step_unit is None}
        if _JUDGED & set(roles.values()):
            return
        curves = sorted(
            {
                str(key.metric)
                for key, role in roles.items()
                if role in (Role.OTHER, Role.LOSS_TERM)
                and len(run.series[key]) >= _MIN_POINTS
                and key.rank is None
            }
        )
        if not curves:
            return
        terms = {str(key.metric) for key, role in roles.items() if role is Role.LOSS_TERM}
        reason = _reason(run) if terms else None
        if reason is not None:  # of such a run the losses are known
            curves = [each for each in curves if each in terms] or curves
        others = f" and {len(curves) - _NAMED} more" if len(curves) > _NAMED else ""
        reason = reason or "No series is recognised as a loss"
        yield Diagnostic(
            code=self.name,
            attempt=0,
            severity=Severity.INFO,
            summary=f"{reason}, so none is examined for spikes and divergence: "
            f"{', '.join(curves[:_NAMED])}{others}."
            + (
                " Terms of policies, critics and adversaries are examined for NaN and explosions only."
                if terms
                else ""
            ),
            advice='In holter.toml: [projects."*".detection] metrics = {NAME = "loss"} (docs/tuning.md).',
            evidence={"series": curves},
        )


def _reason(run: RunData) -> str | None:
    """Why the losses of a policy or of adversaries are terms; None for other runs."""
    if has_policy(run):
        return "The losses of a policy depend on the data that it makes"
    if has_adversary(run):
        return "The losses of a generator and its adversary rise as the other learns"
    return None

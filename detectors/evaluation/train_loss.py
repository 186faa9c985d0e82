"""What the training loss did between two evaluations: did the model get worse, or what is evaluated?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holter.detectors.positions import values_before
from holter.roles import Role, role_of
from holter.types import RunData

_BEFORE, _FEWEST = 64, 16
"""Points of the training loss up to each of the two evaluations that are compared, and the fewest."""
_CLEAR = 4.0
"""Standard errors, doubled because neighbours resemble each other."""


@dataclass(frozen=True, kw_only=True)
class Beside:
    """What the training loss says: it `rose` too, it did not, or (None) the log cannot tell."""

    rose: bool | None
    evidence: dict[str, Any] = field(default_factory=dict)

    @property
    def cause(self) -> str:
        """Where to look: "training", "evaluation", or "undetermined"."""
        return {True: "training", False: "evaluation", None: "undetermined"}[self.rose]


def training_beside(run: RunData, attempt: int, before_step: int, seen_step: int) -> Beside:
    """The training loss up to the last good evaluation's step against that up to the step of the one seen."""
    keys = [key for key in sorted(run.series) if role_of(key) is Role.LOSS]
    keys = [key for key in keys if not any(name == "rank" for name, _ in key.labels)]
    if not keys:
        return Beside(rose=None)
    series = run.series[keys[0]]
    was = values_before(series, attempt, before_step + 1, _BEFORE)
    now = values_before(series, attempt, seen_step + 1, _BEFORE)
    if min(len(was), len(now)) < _FEWEST:
        return Beside(rose=None)
    old, new = float(np.median(was)), float(np.median(now))
    spread = 1.4826 * float(np.median(np.abs(was - old))) * 2 * np.sqrt(2 / len(was))
    rose = bool(new - old > max(_CLEAR * spread, 0.01 * abs(old)))
    return Beside(rose=rose, evidence={"training_loss_before": old, "training_loss": new})

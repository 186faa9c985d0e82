"""The few numbers a user may want to change about detection, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Preferences, not thresholds: what the detectors measure decides everything else.

    `fast_recovery_steps`: a spike that is over within so many steps is fast (K2's boundary).
    `sensitivity`: above 1 speaks earlier and of smaller events, below 1 later and only of larger ones;
    it divides the evidence a detector asks for.
    """

    fast_recovery_steps: int = 100
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        if self.fast_recovery_steps < 1:
            raise ValueError(f"fast_recovery_steps: at least 1 expected, not {self.fast_recovery_steps}")
        if not 0.1 <= self.sensitivity <= 10:
            raise ValueError(f"sensitivity: a number from 0.1 to 10 expected, not {self.sensitivity}")

"""Reports: what was found in runs, as JSON, as text for a terminal, as one stand-alone page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holter.attempts.goodput import Goodput
from holter.flops.throughput import RunThroughput
from holter.types import Diagnostic, Finding, RunData, Unreadable


@dataclass(frozen=True, kw_only=True)
class Report:
    """One run as it was read, what was found in it, and what is to be said of how it is set up.

    `path` is as the user gave it. `throughput` and `spent` tell of its speed; None: not looked at, or
    no clock.
    """

    path: str
    run: str
    attempts: int
    points: int
    data: RunData
    findings: Sequence[Finding]
    remarks: Sequence[Diagnostic] = ()
    throughput: RunThroughput | None = None
    spent: Goodput | None = None
    unreadable: Sequence[Unreadable] = ()

    def as_json(self) -> dict[str, Any]:
        """The report in the words of the findings contract (docs/findings.md)."""
        return {
            "path": self.path,
            "run": self.run,
            "attempts": self.attempts,
            "points": self.points,
            "findings": [finding.as_json() for finding in self.findings],
            "remarks": [remark.as_json() for remark in self.remarks],
        }

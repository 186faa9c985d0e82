"""How a launch is set up, and whether the numbers it reports can be: checks, and `remarks` that asks them all."""

from __future__ import annotations

from holter.detectors.setup.check import Check
from holter.registry import build
from holter.types import Remark, RunData, Severity

__all__ = ["BUILTIN", "Check", "remarks"]

BUILTIN: tuple[Check, ...] = ()

_ORDER = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)


def remarks(run: RunData) -> list[Remark]:
    """What all checks remark on a run, the gravest first."""
    checks = build(BUILTIN, group="holter.checks").values()
    found = [remark for check in checks for remark in check.look(run)]
    return sorted(found, key=lambda one: (_ORDER.index(one.severity), one.code, one.attempt, one.labels))

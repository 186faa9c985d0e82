"""How the overview divides runs: what runs and needs attention first, what is over last."""

from __future__ import annotations

from typing import Literal, get_args

from holter.server.schemas.runs import RunHealth, RunSection, RunState

SECTIONS: tuple[RunSection, ...] = get_args(RunSection)
"""The sections in the order of the overview."""
_TROUBLED: frozenset[Literal["ok"] | str] = frozenset({"warning", "critical"})


def section_of(state: RunState, health: RunHealth, *, damaged: bool) -> RunSection:
    """The section of a run: trouble of one that is over is unresolved until its incidents are closed."""
    if damaged:
        return "attention"
    if state == "finished":
        return "unresolved" if health in _TROUBLED else "finished"
    return "attention" if health in _TROUBLED or state == "stalled" else "running"

"""What the GPUs did while a run was silent: waiting for each other, idle, or at work as before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from holter.detectors.positions import attempt_rows
from holter.roles import Role, role_of
from holter.types import Finding, RunData, Series

_SETTLED = 30.0
"""Seconds after the last step within which GPUs may still be at work on the next one."""
_BEFORE = 3600.0
_BUSY, _IDLE = 95.0, 5.0
_NO_TENSORS, _LOW_POWER, _FULL_POWER = 0.02, 0.65, 0.85


class _Level(NamedTuple):
    """Medians over GPUs of the medians of each, before the silence and within it; NaN where not known."""

    before: float
    within: float


def with_activity(finding: Finding, run: RunData, begin: float, end: float) -> Finding:
    """A silence between two moments with what telemetry says of it, if there is any.

    The rule of thumb of operators: GPUs that are 100 % busy, draw far less power than they usually do and
    have no tensor cores at work are spinning in a collective that never ends.
    """
    levels = {name: _level(run, name, begin, end) for name in ("util", "power", "tensor_active")}
    util, power, tensor = levels["util"], levels["power"], levels["tensor_active"]
    share = power.within / power.before if power.before > 0 else float("nan")
    if np.isnan(util.within) and np.isnan(share):
        return finding
    words = _words(util.within, share, tensor.within)
    evidence = {
        **finding.evidence,
        **{
            f"gpu_{name}": round(level.within, 3)
            for name, level in levels.items()
            if level.within == level.within
        },
        **({"power_share": round(share, 3)} if share == share else {}),
    }
    return replace(
        finding, summary=f"{finding.summary} {words}" if words else finding.summary, evidence=evidence
    )


def _words(util: float, share: float, tensor: float) -> str:
    power = f" and draw {share:.0%} of their usual power" if share == share else ""
    if util >= _BUSY and (tensor <= _NO_TENSORS or share <= _LOW_POWER):
        busy = f"The GPUs say that they are busy ({util:.0f} %){power}"
        return f"{busy}: they wait for each other in a collective."
    if util <= _IDLE:
        return f"The GPUs are idle ({util:.0f} %): the program waits for something else, or has ended."
    if share >= _FULL_POWER:
        at_work = f"The GPUs are at work ({share:.0%} of their usual power)"
        return f"{at_work}: it may be the log alone that is silent."
    return ""


def _level(run: RunData, name: str, begin: float, end: float) -> _Level:
    before, within = [], []
    for key, series in run.series.items():
        if key.has_clock_steps and role_of(key) is Role.GPU_ACTIVITY and key.metric.startswith(f"gpu_{name}"):
            before.append(_median(series, begin - _BEFORE, begin))
            within.append(_median(series, begin + _SETTLED, end))
    return _Level(_middle(before), _middle(within))


def _median(series: Series, begin: float, end: float) -> float:
    """The median between two moments; the steps are wall times, in order within each attempt."""
    edges = np.clip(np.array([begin, end]) * 1000, -(2.0**62), 2.0**62).astype(np.int64)
    pieces = [np.empty(0)]
    for span in attempt_rows(series):
        first, after = np.searchsorted(series.step[span.rows], edges, side="right").tolist()
        pieces.append(series.value[span.rows][first:after])
    values = np.concatenate(pieces)
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")


def _middle(values: Sequence[float]) -> float:
    known = [value for value in values if value == value]
    return float(np.median(known)) if known else float("nan")

"""Activity of GPUs while a run was silent: waiting in a collective, idle, or working as before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from holter.detectors.positions import attempt_rows
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import Finding, RunData, Series


@dataclass(frozen=True, kw_only=True)
class ActivityThresholds(Thresholds):
    """How the activity of GPUs during a silence is interpreted."""

    settling_seconds: float = 30.0
    """Seconds after the last step within which GPUs may still work on the next one."""
    before_seconds: float = 3600.0
    """Seconds before the silence that show the usual activity."""
    busy_percent: float = 95.0
    """Percent of utilisation from which on GPUs are busy."""
    idle_percent: float = 5.0
    """Percent of utilisation up to which GPUs are idle."""
    idle_tensor_share: float = 0.02
    """Share of time in which tensor cores are active, up to which busy GPUs only wait."""
    waiting_power_share: float = 0.65
    """Share of the usual power up to which busy GPUs only wait."""
    working_power_share: float = 0.85
    """Share of the usual power from which on GPUs work as before."""


class _ActivityLevel(NamedTuple):
    """Medians over GPUs of each one's median, before the silence and within it; NaN where unknown."""

    before: float
    within: float


def with_activity(
    finding: Finding,
    run: RunData,
    begin: float,
    end: float,
    limits: ActivityThresholds = ActivityThresholds(),
) -> Finding:
    """The finding of a silence between two wall times, with the activity of the GPUs if telemetry has it.

    Operators use this rule of thumb: GPUs that are 100 % busy, draw far less power than usual and have no
    active tensor cores are spinning in a collective that never ends.
    """
    levels = {name: _level(run, name, begin, end, limits) for name in ("util", "power", "tensor_active")}
    util, power, tensor = levels["util"], levels["power"], levels["tensor_active"]
    share = power.within / power.before if power.before > 0 else float("nan")
    if np.isnan(util.within) and np.isnan(share):
        return finding
    description = _describe(util.within, share, tensor.within, limits)
    evidence = {
        **finding.evidence,
        **{
            f"gpu_{name}": round(level.within, 3)
            for name, level in levels.items()
            if level.within == level.within
        },
        **({"power_share": round(share, 3)} if share == share else {}),
    }
    summary = f"{finding.summary} {description}" if description else finding.summary
    return replace(finding, summary=summary, evidence=evidence)


def _describe(util: float, power_share: float, tensor: float, limits: ActivityThresholds) -> str:
    power = f" and draw {power_share:.0%} of their usual power" if power_share == power_share else ""
    waits = tensor <= limits.idle_tensor_share or power_share <= limits.waiting_power_share
    if util >= limits.busy_percent and waits:
        busy = f"The GPUs report that they are busy ({util:.0f} %){power}"
        return f"{busy}: they wait for each other in a collective."
    if util <= limits.idle_percent:
        return f"The GPUs are idle ({util:.0f} %): the program waits for something else, or has ended."
    if power_share >= limits.working_power_share:
        working = f"The GPUs are working ({power_share:.0%} of their usual power)"
        return f"{working}: possibly only the log is silent."
    return ""


def _level(run: RunData, name: str, begin: float, end: float, limits: ActivityThresholds) -> _ActivityLevel:
    before, within = [], []
    for key, series in run.series.items():
        is_activity = key.has_clock_steps and role_of(key) is Role.GPU_ACTIVITY
        if is_activity and key.metric.startswith(f"gpu_{name}"):
            before.append(_median(series, begin - limits.before_seconds, begin))
            within.append(_median(series, begin + limits.settling_seconds, end))
    return _ActivityLevel(_median_of_known(before), _median_of_known(within))


def _median(series: Series, begin: float, end: float) -> float:
    """The median between two wall times; the steps are wall times, ordered within each attempt."""
    edges = np.clip(np.array([begin, end]) * 1000, -(2.0**62), 2.0**62).astype(np.int64)
    pieces = [np.empty(0)]
    for span in attempt_rows(series):
        first, after = np.searchsorted(series.step[span.rows], edges, side="right").tolist()
        pieces.append(series.value[span.rows][first:after])
    values = np.concatenate(pieces)
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")


def _median_of_known(values: Sequence[float]) -> float:
    known = [value for value in values if value == value]
    return float(np.median(known)) if known else float("nan")

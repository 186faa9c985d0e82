"""Evidence in words and with units, for reports and messages.

What the numbers of a finding are measured in, as its metric's name and kind tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holter.detectors.formatting import duration, figure
from holter.types import Kind

# as ui/static/format.js and evidence.js have it
_SPEEDS = (
    (r"flop", "TFLOPS"),
    (r"sample|sequence", "samples/s"),
    (r"tok|tps|tgs|wps", "tokens/s"),
    (r"step|it/s|batch", "steps/s"),
)
_STEPS = {"duration_steps", "lag", "recovery_steps", "restarted"}
_TIMES = {"lost_per_step", "others_wait", "own_wait"}
_LEVELS = {"baseline", "level", "limit", "now", "peak", "worst"}
_COUNTED = {"evaluations": "evaluations", "loss_scale_halvings": "times", "halvings": "times"}
_OF_EVERY = {"gradient_norm": "times its median", "belief": "times", "gpu_power": "W", "waited_ms": "ms"}
_TIMED = re.compile(r"time|ms\b|\bdt$", re.IGNORECASE)


def unit_of(name: str, evidence: Mapping[str, Any], *, kind: Kind | None, metric: str) -> str:
    """The unit of one number of a finding's evidence; empty where it has none, or its name says it."""
    if name in _OF_EVERY:
        return _OF_EVERY[name]
    if name in _STEPS:
        return "steps"
    if name in _COUNTED:
        return _COUNTED[name]
    if name in _TIMES:
        return _time(metric)
    if name in _LEVELS and kind is Kind.COMM_SLOWDOWN:
        return _time(metric)
    if name in _LEVELS and kind is Kind.THROUGHPUT_REGRESSION:
        return _time(metric) if _TIMED.search(metric) else _speed(metric)
    own = name in _LEVELS or name.startswith("growth_per")
    return str(evidence.get("unit") or "") if own else ""


def _time(metric: str) -> str:
    return "ms" if re.search(r"_ms$|\(ms\)|time.*ms\b", metric.lower()) else "s"


def _speed(metric: str) -> str:
    name = metric.lower()
    if "mfu" in name:
        return ""
    return next((unit for pattern, unit in _SPEEDS if re.search(pattern, name)), "/s")


TITLES: Mapping[Kind, str] = {
    Kind.SPIKE_FAST: "fast spike",
    Kind.SPIKE_SLOW: "slow spike",
    Kind.SPIKE_UNRECOVERED: "spike, not recovered",
    Kind.NONFINITE: "NaN or infinity",
    Kind.COMM_SLOWDOWN: "slow communication",
    Kind.DESYNC: "ranks out of step",
    Kind.HIDDEN_NONFINITE: "hidden NaN",
    Kind.GPU_FAULT: "GPU fault",
}
"""Kinds whose titles on the pages are not simply their names."""
_NAMES = {
    "also": "seen as well",
    "before": "last good value",
    "belief": "believed sooner by",
    "by_losses": "due to the losses of the datasets",
    "by_shares": "due to their shares",
    "correlation": "likeness with what came before",
    "duration_steps": "over",
    "duty": "slow in",
    "good_step": "good again at step",
    "growth_per_1000_steps": "growth per 1,000 steps",
    "how": "NaN is hidden as",
    "lag": "repeats what lies back",
    "last_step": "last one at step",
    "limit_reached_at_step": "limit reached at about step",
    "limit_seconds": "a usual pause lasts at most",
    "logged": "shares were logged",
    "lost": "throughput lost",
    "lost_per_step": "lost in each step",
    "not_logged": "not logged, so not looked at",
    "others": "the others are at",
    "others_wait": "the others wait, each step",
    "own_wait": "it waits itself, each step",
    "precursors": "what came with it",
    "recovery_steps": "back after",
    "rollback_upto": "checkpoint to go back to, at most step",
    "score": "likeness as Fisher's z",
    "sequence": "it is at collective",
    "share_of_step_lost": "share of each step lost",
    "shares": "shares after",
    "silent_seconds": "silent for",
    "skip_from": "batches to skip, from step",
    "skip_until": "batches to skip, to step",
    "slower_by": "slower than its peers by",
    "strength": "strength, of 1 needed",
    "underreported": "loss reads too low by",
}
_SHARES = {"correlation", "duty", "expected_fall", "lost", "share_of_step_lost", "shares", "shares_before"}
_SHARES |= {"slower_by"}
_RELATIVE = {Kind.STRAGGLER, Kind.COMM_SLOWDOWN, Kind.THROUGHPUT_REGRESSION}
"""Kinds whose noise is a share of the level."""
_PATTERN = re.compile(r"(\w+) of (.*) at step (\d+)")


def told(evidence: Mapping[str, Any], *, kind: Kind | None = None, metric: str = "") -> list[tuple[str, str]]:
    """The numbers that a finding rests on, by name and with units; what says nothing is left out."""
    said = []
    for name, value in evidence.items():
        text = f"{100 * value:.3g}%" if name == "noise" and kind in _RELATIVE else _shown(name, value)
        if not text or name == "unit" or (name, text) == ("series", "1"):
            continue
        unit = unit_of(name, evidence, kind=kind, metric=metric) if isinstance(value, int | float) else ""
        if value == 1 and unit in {"steps", "times", "evaluations"}:
            unit = unit[:-1]
        said.append((_NAMES.get(name, name.replace("_", " ")), f"{text} {unit}".rstrip()))
    return said


def title(kind: str) -> str:
    """A kind in the words of the pages."""
    return TITLES.get(Kind(kind), kind.replace("_", " "))


def _shown(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(name, value)
    if isinstance(value, Mapping):
        return _told(name, value)
    if isinstance(value, list | tuple):
        inner = [_also(str(one)) if name == "also" else _shown(name, one) for one in value]
        return ("; " if name in {"also", "precursors"} else ", ").join(inner)
    return "" if value is None else str(value)


def _number(name: str, value: float) -> str:
    if name in _SHARES:
        return f"{100 * value:.3g}%"
    if name.endswith("_seconds"):
        return duration(value)
    return f"{value:,}" if isinstance(value, int) else figure(value)


def _told(name: str, values: Mapping[str, object]) -> str:
    """What another series did, as a sentence; anything else by name."""
    what, at = str(values.get("what", "")).replace("_", " "), _shown("", values.get("step"))
    if {"what", "before", "value", "step"} <= values.keys():
        change = f"{_shown('', values['before'])} to {_shown('', values['value'])}"
        return f"{what} from {change} at step {at}"
    if what and at:
        return f"{what} at step {at}"
    return ", ".join(f"{part.replace('_', ' ')} {_shown(name, value)}" for part, value in values.items())


def _also(found: str) -> str:
    """`sudden_drop of loss at step 1992` in words."""
    parts = _PATTERN.fullmatch(found)
    if parts is None or parts[1] not in set(Kind):
        return found
    return f"{title(parts[1])} at step {int(parts[3]):,} ({parts[2]})"

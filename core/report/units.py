"""What the numbers of a finding are measured in, as its metric's name and kind tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

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

"""GPUs that run slower than they could: too hot, or short of power."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.health.devices import describe_device
from holter.detectors.health.events import device_labels
from holter.types import Diagnostic, RunData, Severity

_REASONS = {
    "hw_thermal_slowdown": ("it is too hot", "See to the cooling of the node: fans, dust, inlet air."),
    "sw_thermal_slowdown": ("it is too hot", "See to the cooling of the node: fans, dust, inlet air."),
    "hw_power_brake_slowdown": (
        "the node's power supply asks for it",
        "See to the power of the node: a supply may have failed, or its limit is too low.",
    ),
    "hw_slowdown": ("its hardware asks for it", "See to the cooling and the power of the node."),
}
"""The cap on power is left out: at full work GPUs stand at it, as they should."""
_LEAST_SHARE, _FEWEST = 0.05, 20


@dataclass(frozen=True)
class ThrottlingCheck:
    """Remarks on devices that were slowed down for a share of the time they were watched."""

    name: ClassVar[str] = "throttling"

    def check(self, run: RunData, context: DetectorContext) -> Iterable[Diagnostic]:
        """A remark per device and reason."""
        for key in sorted(run.series):
            prefix, _, reason = key.metric.partition("gpu_throttle/")
            if prefix or reason not in _REASONS:
                continue
            series = run.series[key]
            for attempt in np.unique(series.attempt).tolist():
                value = series.value[(series.attempt == attempt) & np.isfinite(series.value)]
                share = float(np.mean(value > 0)) if len(value) >= _FEWEST else 0.0
                if share >= _LEAST_SHARE:
                    why, advice = _REASONS[reason]
                    device = device_labels(series)
                    yield Diagnostic(
                        code="gpu-throttled",
                        attempt=attempt,
                        severity=Severity.WARNING,
                        labels=device,
                        summary=f"{describe_device(device)} was slowed down for {share:.0%} of the time: {why}.",
                        advice=advice,
                        evidence={"reason": reason, "share": round(share, 3), "samples": len(value)},
                    )

"""Checks for GPUs that are throttled because of heat or lack of power."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.health.devices import describe_device
from holter.detectors.health.events import device_labels
from holter.detectors.thresholds import Thresholds
from holter.types import Diagnostic, Labels, RunData, Severity

_REASONS = {
    "hw_thermal_slowdown": ("it is too hot", "Check the cooling of the node: fans, dust, inlet air."),
    "sw_thermal_slowdown": ("it is too hot", "Check the cooling of the node: fans, dust, inlet air."),
    "hw_power_brake_slowdown": (
        "the node's power supply requests it",
        "Check the power of the node: a supply may have failed, or its limit is too low.",
    ),
    "hw_slowdown": ("its hardware requests it", "Check the cooling and the power of the node."),
}
"""Reasons, with their meaning and advice. The power cap is left out: GPUs reach it at full load."""


@dataclass(frozen=True, kw_only=True)
class ThrottlingThresholds(Thresholds):
    """When throttling of a device is reported."""

    min_share: float = 0.05
    """Share of the samples with throttling. Less costs little."""
    min_samples: int = 20
    """Samples. Fewer do not show a share."""


@dataclass(frozen=True)
class ThrottlingCheck:
    """Reports devices that were throttled for a share of the time they were observed."""

    name: ClassVar[str] = "throttling"
    thresholds: ThrottlingThresholds = ThrottlingThresholds()

    def check(self, run: RunData, context: DetectorContext) -> Iterable[Diagnostic]:
        """One diagnostic per device and reason."""
        limits = self.thresholds
        for key in sorted(run.series):
            prefix, _, reason = key.metric.partition("gpu_throttle/")
            if prefix or reason not in _REASONS:
                continue
            series = run.series[key]
            for attempt in np.unique(series.attempt).tolist():
                value = series.value[(series.attempt == attempt) & np.isfinite(series.value)]
                share = float(np.mean(value > 0)) if len(value) >= limits.min_samples else 0.0
                if share >= limits.min_share:
                    yield _diagnostic(device_labels(series), attempt, reason, share, len(value))


def _diagnostic(device: Labels, attempt: int, reason: str, share: float, samples: int) -> Diagnostic:
    cause, advice = _REASONS[reason]
    return Diagnostic(
        code="gpu-throttled",
        attempt=attempt,
        severity=Severity.WARNING,
        labels=device,
        summary=f"{describe_device(device)} was slowed down for {share:.0%} of the time: {cause}.",
        advice=advice,
        evidence={"reason": reason, "share": round(share, 3), "samples": samples},
    )

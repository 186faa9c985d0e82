"""Diagnostics on GPUs that were throttled."""

from __future__ import annotations

from holter.detectors.detector import DetectorContext
from holter.detectors.launch_checks.throttling import ThrottlingCheck
from tests.detectors.curves import run
from tests.detectors.test_devices import BEGIN, clocked, training


def test_thermal_throttling_is_reported_and_the_power_cap_is_not() -> None:
    hot = [(BEGIN + 10 * i, float(i % 4 == 0)) for i in range(100)]
    series = [
        clocked("gpu_throttle/hw_thermal_slowdown", hot, gpu=3, host="n17"),
        clocked("gpu_throttle/sw_power_cap", hot, gpu=3, host="n17"),
        clocked("gpu_throttle/hw_slowdown", [(BEGIN, 1.0)], gpu=3, host="n17"),
    ]
    (diagnostic,) = ThrottlingCheck().check(run(training(), *series), DetectorContext())
    assert diagnostic.summary == "GPU 3 of host n17 was slowed down for 25% of the time: it is too hot."
    assert (diagnostic.code, diagnostic.attempt, diagnostic.evidence["samples"]) == ("gpu-throttled", 0, 100)

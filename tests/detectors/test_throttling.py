"""Remarks on GPUs that were slowed down."""

from __future__ import annotations

from holter.detectors.launch_checks.throttling import ThrottlingCheck
from tests.detectors.curves import run
from tests.detectors.test_devices import BEGIN, clocked, training


def test_a_gpu_that_is_too_hot_is_remarked_on_and_one_at_its_power_cap_is_not() -> None:
    hot = [(BEGIN + 10 * i, float(i % 4 == 0)) for i in range(100)]
    series = [
        clocked("gpu_throttle/hw_thermal_slowdown", hot, gpu=3, host="n17"),
        clocked("gpu_throttle/sw_power_cap", hot, gpu=3, host="n17"),
        clocked("gpu_throttle/hw_slowdown", [(BEGIN, 1.0)], gpu=3, host="n17"),
    ]
    (remark,) = ThrottlingCheck().look(run(training(), *series))
    assert remark.summary == "GPU 3 of host n17 was slowed down for 25% of the time: it is too hot."
    assert (remark.code, remark.attempt, remark.evidence["samples"]) == ("gpu-throttled", 0, 100)

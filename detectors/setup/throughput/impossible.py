"""More than the hardware can: an MFU above 1, TFLOPS above the peak."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from holter.flops.frameworks import Quantity
from holter.flops.reported import Reported
from holter.flops.throughput import Throughput
from holter.types import Remark, Severity

_REACHED = 0.95
"""No training reaches more of a dense peak: the best matrix products measured reach 0.87 of it."""
_UNITS = (
    "Check the unit of what is logged, the peak it is divided by, and whether the device is synchronised "
    "before a step's time is taken."
)
_CHECK_OWN = (
    "Check what the log says of the model's shape, the number of devices and the batch; where a peak is not "
    "that of your hardware, say it under [peaks] of holter.toml."
)


def impossible(found: Throughput, explained: Collection[str]) -> Iterator[Remark]:
    """Remarks on reported figures that no hardware gives, and on Holter's own where a config is wrong."""
    for one in found.reported:
        if str(one.series.key) not in explained and one.level is not None:
            yield from _reported(one, found)
    level = found.own.level(found.own.mfu)
    if level is not None and level.usual > _REACHED:
        peak = found.own.launch.device.peak
        yield _remark(
            "own-mfu-impossible",
            int(found.own.series.attempt[-1]) if found.own.series is not None else 0,
            f"By its speed and config this run reaches {level.usual:.0%} of {peak}: one of them is wrong.",
            _CHECK_OWN,
            {
                "metric": "holter",
                "mfu": level.usual,
                "peak_tflops": peak.tflops if peak is not None else None,
            },
        )


def _reported(one: Reported, found: Throughput) -> Iterator[Remark]:
    assert one.level is not None
    key, peak = str(one.series.key), found.own.launch.device.peak
    attempt = int(one.series.attempt[-1])
    if one.quantity is Quantity.MFU and one.level.usual > _REACHED:
        yield _remark(
            "mfu-impossible",
            attempt,
            f"{key} is {one.level.usual:.0%}: no training uses a device like that.",
            _UNITS,
            {"metric": key, "mfu": one.level.usual},
        )
    if one.quantity is Quantity.TFLOPS and peak is not None and one.level.usual > _REACHED * peak.tflops:
        yield _remark(
            "tflops-impossible",
            attempt,
            f"{key} is {one.level.usual:,.4g} TFLOPS, {one.level.usual / peak.tflops:.0%} of {peak}.",
            _UNITS,
            {"metric": key, "tflops": one.level.usual, "peak_tflops": peak.tflops},
        )


def _remark(code: str, attempt: int, summary: str, advice: str, evidence: dict[str, Any]) -> Remark:
    return Remark(
        code=code,
        attempt=attempt,
        severity=Severity.WARNING,
        summary=summary,
        advice=advice,
        evidence=evidence,
    )

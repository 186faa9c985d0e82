"""More than the hardware can: an MFU above 1, TFLOPS above the peak.

First steps that are timed before the device has done them: faster than any that follow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from holter.flops.frameworks import ReportedQuantity
from holter.flops.levels import WINDOW
from holter.flops.mfu import OwnThroughput
from holter.flops.reported import ReportedFigure
from holter.flops.throughput import RunThroughput
from holter.types import Diagnostic, FloatArray, Severity

_FIRST = 20
"""Points at the beginning of an attempt that are compared with what follows."""
_TOO_FAST = 2.5
"""Times as fast as an attempt usually is: more than any warm-up gains."""


def check_first_steps(found: RunThroughput) -> Iterator[Diagnostic]:
    """A remark on each attempt that begins with steps faster than all that follow."""
    own = found.own
    if own.series is None or own.unit is None:
        return
    speed = _speed(own)
    for number in np.unique(own.series.attempt).tolist():
        mine = np.flatnonzero(own.series.attempt == number)
        later = speed[mine[_FIRST:]]
        later = later[np.isfinite(later) & (later > 0)]
        if len(later) < WINDOW:
            continue
        usual, first = float(np.median(later)), speed[mine[:_FIRST]]
        fast = np.flatnonzero(np.isfinite(first) & (first > _TOO_FAST * usual))
        # only what lies at the very beginning, and above everything later: no lucky step in between
        if len(fast) and fast[0] <= 1 and float(first[fast].min()) > float(later.max()):
            yield _remark(own, number, mine[fast].tolist(), float(first[fast].max()) / usual)


def _speed(own: OwnThroughput) -> FloatArray:
    """Something proportional to speed, higher is faster, whether or not tokens can be counted."""
    assert own.series is not None
    assert own.unit is not None
    values = own.series.value
    return 1.0 / values if own.unit.measured.value.endswith("a step") else values


def _remark(own: OwnThroughput, attempt: int, rows: list[int], times: float) -> Diagnostic:
    assert own.series is not None
    steps = own.series.step[rows]
    mfu = float(np.nanmax(own.mfu[rows])) if np.isfinite(own.mfu[rows]).any() else None
    above = f", an MFU of {mfu:.0%}" if mfu is not None and mfu > 1 else ""
    key = str(own.series.key)
    return Diagnostic(
        code="async-first-steps",
        attempt=attempt,
        severity=Severity.INFO,
        summary=(
            f"{key} of attempt {attempt} begins up to {times:.1f} times as fast as usual (steps "
            f"{int(steps[0]):,} to {int(steps[-1]):,}){above}: timed before the device was done."
        ),
        advice=(
            "Leave these steps out of averages; to time steps, synchronise the device (torch.cuda."
            "synchronize) before the clock is read."
        ),
        evidence={
            "metric": key,
            "first_step": int(steps[0]),
            "last_step": int(steps[-1]),
            "times_as_fast": times,
            "mfu": mfu,
        },
    )


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


def check_limits(found: RunThroughput, explained: Collection[str]) -> Iterator[Diagnostic]:
    """Remarks on reported figures that no hardware gives, and on Holter's own where a config is wrong."""
    for one in found.reported:
        if str(one.series.key) not in explained and one.level is not None:
            yield from _reported(one, found)
    level = found.own.level(found.own.mfu)
    if level is not None and level.typical > _REACHED:
        peak = found.own.launch.device.peak
        yield _remark_impossible(
            "own-mfu-impossible",
            int(found.own.series.attempt[-1]) if found.own.series is not None else 0,
            f"By its speed and config this run reaches {level.typical:.0%} of {peak}: one of them is wrong.",
            _CHECK_OWN,
            {
                "metric": "holter",
                "mfu": level.typical,
                "peak_tflops": peak.tflops if peak is not None else None,
            },
        )


def _reported(one: ReportedFigure, found: RunThroughput) -> Iterator[Diagnostic]:
    assert one.level is not None
    key, peak = str(one.series.key), found.own.launch.device.peak
    attempt = int(one.series.attempt[-1])
    if one.quantity is ReportedQuantity.MFU and one.level.typical > _REACHED:
        yield _remark_impossible(
            "mfu-impossible",
            attempt,
            f"{key} is {one.level.typical:.0%}: no training uses a device like that.",
            _UNITS,
            {"metric": key, "mfu": one.level.typical},
        )
    if (
        one.quantity is ReportedQuantity.TFLOPS
        and peak is not None
        and one.level.typical > _REACHED * peak.tflops
    ):
        yield _remark_impossible(
            "tflops-impossible",
            attempt,
            f"{key} is {one.level.typical:,.4g} TFLOPS, {one.level.typical / peak.tflops:.0%} of {peak}.",
            _UNITS,
            {"metric": key, "tflops": one.level.typical, "peak_tflops": peak.tflops},
        )


def _remark_impossible(
    code: str, attempt: int, summary: str, advice: str, evidence: dict[str, Any]
) -> Diagnostic:
    return Diagnostic(
        code=code,
        attempt=attempt,
        severity=Severity.WARNING,
        summary=summary,
        advice=advice,
        evidence=evidence,
    )

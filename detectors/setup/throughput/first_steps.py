"""First steps that are timed before the device has done them: faster than any that follow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from holter.flops.levels import WINDOW
from holter.flops.throughput import Throughput
from holter.flops.utilisation import Own
from holter.types import FloatArray, Remark, Severity

_FIRST = 20
"""Points at the beginning of an attempt that are compared with what follows."""
_TOO_FAST = 2.5
"""Times as fast as an attempt usually is: more than any warm-up gains."""


def untimed_steps(found: Throughput) -> Iterator[Remark]:
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


def _speed(own: Own) -> FloatArray:
    """Something proportional to speed, higher is faster, whether or not tokens can be counted."""
    assert own.series is not None
    assert own.unit is not None
    values = own.series.value
    return 1.0 / values if own.unit.measured.value.endswith("a step") else values


def _remark(own: Own, attempt: int, rows: list[int], times: float) -> Remark:
    assert own.series is not None
    steps = own.series.step[rows]
    mfu = float(np.nanmax(own.mfu[rows])) if np.isfinite(own.mfu[rows]).any() else None
    above = f", an MFU of {mfu:.0%}" if mfu is not None and mfu > 1 else ""
    key = str(own.series.key)
    return Remark(
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

"""GPU faults: XID errors, and counters of errors that memory and links could not correct."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.health.devices import DeviceFaultThresholds, device_faults
from holter.detectors.health.xid import RESET, describe_xid
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import attempt_rows
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity


@dataclass(frozen=True)
class GpuFaultDetector:
    """Detects changes in series of faults: a new last XID, or a counter that rises.

    The value at which an attempt begins is older than the attempt, and no fault of it.
    """

    name: ClassVar[str] = "gpu_fault"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.GPU_FAULT})
    thresholds: DeviceFaultThresholds = DeviceFaultThresholds()

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per series and attempt, from its first fault on; and those of devices by wall time."""
        state = context.state
        yield from device_faults(run, state, self.thresholds)
        for key in sorted(run.series):
            if role_of(key) is Role.FAULTS and not key.has_clock_steps:
                series = run.series[key]
                attempts = _scan(series, state.checkpoints((self.name, key), [series]))
                for faults in attempts:
                    if faults.first is not None:
                        yield _finding(series, faults, faults.first, active=faults is attempts[-1])


class _AttemptFaults(NamedTuple):
    """The faults of one attempt: its latest value with its step, and its faults so far.

    `first` is the step and value of the first fault, `last` the step of the last one, `faults` their number
    and `rise` the total by which a counter rose.
    """

    attempt: int
    value: float
    step: int
    first: tuple[int, float] | None = None
    last: int = 0
    faults: int = 0
    rise: float = 0.0

    def after(self, step: IntArray, value: FloatArray, *, is_xid: bool) -> _AttemptFaults:
        """The state after further points [n > 0]."""
        change = np.diff(value, prepend=self.value)
        faults = np.flatnonzero((change != 0) & (value != 0)) if is_xid else np.flatnonzero(change > 0)
        latest = self._replace(value=float(value[-1]), step=int(step[-1]))
        if not len(faults):
            return latest
        return latest._replace(
            first=self.first or (int(step[faults[0]]), float(value[faults[0]])),
            last=int(step[faults[-1]]),
            faults=self.faults + len(faults),
            # added one by one: the sum is the same however the points are divided over passes
            rise=float(np.cumsum(np.append(self.rise, change[faults]))[-1]),
        )


def _scan(
    series: Series, checkpoints: ScanCheckpoints[tuple[_AttemptFaults, ...]]
) -> tuple[_AttemptFaults, ...]:
    """The faults of every attempt with points, scanned from the last checkpoint on."""
    checkpoint = checkpoints.latest([series]) or Checkpoint((), (0,))
    attempts, is_xid = list(checkpoint.state), "xid" in series.key.metric.lower()
    for span in attempt_rows(series, checkpoint.rows[0]):
        known = np.isfinite(series.value[span.rows])
        value, step = series.value[span.rows][known], series.step[span.rows][known]
        if not len(value):
            continue
        if not attempts or attempts[-1].attempt != span.attempt:
            attempts.append(_AttemptFaults(span.attempt, float(value[0]), int(step[0])))
        attempts[-1] = attempts[-1].after(step, value, is_xid=is_xid)
    checkpoints.save(Checkpoint(tuple(attempts), (len(series),)))
    return tuple(attempts)


def _finding(series: Series, faults: _AttemptFaults, first: tuple[int, float], *, active: bool) -> Finding:
    is_xid = "xid" in series.key.metric.lower()
    start, value = first
    code = int(value) if is_xid and abs(value) < 1e6 else None
    count = faults.faults if is_xid else faults.rise
    device = ", ".join(f"{name} {label}" for name, label in series.key.labels) or "one GPU"
    return Finding(
        kind=Kind.GPU_FAULT,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=faults.attempt,
        start_step=start,
        peak_step=faults.last,
        end_step=None if active else faults.step,
        detected_step=start,
        classified_step=start,
        severity=Severity.CRITICAL if code is None else describe_xid(code).severity,
        confidence=0.99,
        summary=_summary(series, code, device, start, count),
        advice=f"{device}: {RESET if code is None else describe_xid(code).advice}",
        evidence={"value": value, "count": count, "last_step": faults.last},
    )


def _summary(series: Series, code: int | None, device: str, step: int, count: float) -> str:
    if code is not None:
        return f"XID {code} on {device} at step {step:,}: {describe_xid(code).meaning}."
    times = "once" if count == 1 else f"by {count:,.0f}"
    return f"{series.key.metric} rose {times} on {device}, first at step {step:,}."

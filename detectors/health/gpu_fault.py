"""GPU faults: XID errors and counters of errors that memory and links could not correct."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.health.devices import device_faults
from holter.detectors.health.xid import RESET, describe_xid
from holter.detectors.incremental import Checkpoint, ScanCheckpoints
from holter.detectors.positions import attempt_rows
from holter.roles import Role, role_of
from holter.types import Finding, FloatArray, IntArray, Kind, RunData, Series, Severity


@dataclass(frozen=True)
class GpuFaultDetector:
    """Watches series of faults for a change: the last XID, or a count that rises.

    What stands there when an attempt begins is older than it, and says nothing about it.
    """

    name: ClassVar[str] = "gpu_fault"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.GPU_FAULT})

    def detect(self, run: RunData, context: DetectorContext) -> Iterable[Finding]:
        """One finding per series and attempt, from its first fault on; and those of devices by the clock."""
        state = context.state
        yield from device_faults(run, state)
        for key in sorted(run.series):
            if role_of(key) is Role.FAULTS and not key.has_clock_steps:
                series = run.series[key]
                watched = _watched(series, state.checkpoints((self.name, key), [series]))
                for one in watched:
                    if one.first is not None:
                        yield _finding(series, one, one.first, goes_on=one is watched[-1])


class _Watched(NamedTuple):
    """What an attempt has shown: its latest value and that value's step; `first` its first fault, step and
    value, `last` the step of its last one, and how many there were, or by how much the counter rose."""

    attempt: int
    value: float
    step: int
    first: tuple[int, float] | None = None
    last: int = 0
    faults: int = 0
    rise: float = 0.0

    def and_then(self, step: IntArray, value: FloatArray, *, is_xid: bool) -> _Watched:
        """With further points [n > 0]."""
        more = np.diff(value, prepend=self.value)
        faults = np.flatnonzero((more != 0) & (value != 0)) if is_xid else np.flatnonzero(more > 0)
        one = self._replace(value=float(value[-1]), step=int(step[-1]))
        if not len(faults):
            return one
        return one._replace(
            first=self.first or (int(step[faults[0]]), float(value[faults[0]])),
            last=int(step[faults[-1]]),
            faults=self.faults + len(faults),
            # one after the other: the sum is the same in whatever portions they come
            rise=float(np.cumsum(np.append(self.rise, more[faults]))[-1]),
        )


def _watched(series: Series, checkpoints: ScanCheckpoints[tuple[_Watched, ...]]) -> tuple[_Watched, ...]:
    """Every attempt in which something was logged, from where the last look ended."""
    checkpoint = checkpoints.latest([series]) or Checkpoint((), (0,))
    watched, is_xid = list(checkpoint.state), "xid" in series.key.metric.lower()
    for span in attempt_rows(series, checkpoint.rows[0]):
        known = np.isfinite(series.value[span.rows])
        value, step = series.value[span.rows][known], series.step[span.rows][known]
        if not len(value):
            continue
        if not watched or watched[-1].attempt != span.attempt:
            watched.append(_Watched(span.attempt, float(value[0]), int(step[0])))
        watched[-1] = watched[-1].and_then(step, value, is_xid=is_xid)
    checkpoints.save(Checkpoint(tuple(watched), (len(series),)))
    return tuple(watched)


def _finding(series: Series, one: _Watched, first: tuple[int, float], *, goes_on: bool) -> Finding:
    is_xid = "xid" in series.key.metric.lower()
    start, value = first
    code = int(value) if is_xid and abs(value) < 1e6 else None
    count = one.faults if is_xid else one.rise
    where = ", ".join(f"{name} {label}" for name, label in series.key.labels) or "one GPU"
    return Finding(
        kind=Kind.GPU_FAULT,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=one.attempt,
        start_step=start,
        peak_step=one.last,
        end_step=None if goes_on else one.step,
        detected_step=start,
        classified_step=start,
        severity=Severity.CRITICAL if code is None else describe_xid(code).severity,
        confidence=0.99,
        summary=_summary(series, code, where, start, count),
        advice=f"{where}: {RESET if code is None else describe_xid(code).advice}",
        evidence={"value": value, "count": count, "last_step": one.last},
    )


def _summary(series: Series, code: int | None, where: str, step: int, count: float) -> str:
    if code is not None:
        return f"XID {code} on {where} at step {step:,}: {describe_xid(code).meaning}."
    times = "once" if count == 1 else f"by {count:,.0f}"
    return f"{series.key.metric} rose {times} on {where}, first at step {step:,}."

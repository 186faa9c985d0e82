"""GPU faults: XID errors and counters of errors that memory and links could not correct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.places import spans_of
from holter.metrics import Role, role_of
from holter.tuning import Tuning
from holter.types import Finding, Kind, RunData, Series, Severity

_XIDS = {
    13: "the program read or wrote where it must not",
    31: "the program read or wrote where it must not",
    43: "a program was stopped on it",
    45: "a program was ended on it",
    48: "an error in its memory could not be corrected",
    63: "a row of its memory is worn out and marked to be replaced",
    64: "a row of its memory could not be replaced",
    74: "an NVLink failed",
    79: "it has fallen off the bus",
    94: "an error in its memory was contained",
    95: "an error in its memory was not contained",
    119: "its system processor does not answer",
    120: "its system processor reported an error",
    154: "it needs to be reset",
}
_OF_THE_PROGRAM = frozenset({13, 31, 43, 45})


@dataclass(frozen=True)
class GpuFault:
    """Watches series of faults for a change: the last XID, or a count that rises.

    What stands there when an attempt begins is older than it, and says nothing about it.
    """

    name: ClassVar[str] = "gpu_fault"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.GPU_FAULT})
    tuning: Tuning = Tuning()

    def detect(self, run: RunData) -> Iterable[Finding]:
        """One finding per series and attempt, from its first fault on."""
        for key in sorted(run.series):
            if role_of(key) is Role.FAULTS:
                yield from _in_series(run.series[key], is_xid="xid" in key.metric.lower())


def _in_series(series: Series, *, is_xid: bool) -> Iterator[Finding]:
    for span in spans_of(series):
        known = np.isfinite(series.value[span.rows])
        value, step = series.value[span.rows][known], series.step[span.rows][known]
        if len(value) < 2:
            continue
        more = np.diff(value, prepend=value[0])
        faults = np.flatnonzero((more != 0) & (value != 0)) if is_xid else np.flatnonzero(more > 0)
        if not len(faults):
            continue
        first, last = int(faults[0]), int(faults[-1])
        goes_on = span.after == len(series)
        code = int(value[first]) if is_xid and abs(value[first]) < 1e6 else None
        count = len(faults) if is_xid else float(more[faults].sum())
        where = ", ".join(f"{name} {one}" for name, one in series.key.labels) or "one GPU"
        yield Finding(
            kind=Kind.GPU_FAULT,
            metric=series.key.metric,
            labels=series.key.labels,
            attempt=span.attempt,
            start_step=int(step[first]),
            peak_step=int(step[last]),
            end_step=None if goes_on else int(step[-1]),
            detected_step=int(step[first]),
            classified_step=int(step[first]),
            severity=Severity.WARNING if code in _OF_THE_PROGRAM else Severity.CRITICAL,
            confidence=0.99,
            summary=_summary(series, code, where, int(step[first]), count),
            advice=(
                "Look at the program first: this error mostly comes from it."
                if code in _OF_THE_PROGRAM
                else f"Drain the node of {where}, reset the GPU and run diagnostics before using it again."
            ),
            evidence={"value": float(value[first]), "count": count, "last_step": int(step[last])},
        )


def _summary(series: Series, code: int | None, where: str, step: int, count: float) -> str:
    if code is not None:
        meaning = _XIDS.get(code, "see the vendor's catalogue")
        return f"XID {code} on {where} at step {step:,}: {meaning}."
    times = "once" if count == 1 else f"by {count:,.0f}"
    return f"{series.key.metric} rose {times} on {where}, first at step {step:,}."

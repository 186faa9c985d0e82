"""Checks for impossible figures (MFU above 1, TFLOPS above the peak) and for first steps timed too early."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from holter.detectors.thresholds import Thresholds
from holter.flops.frameworks import ReportedQuantity
from holter.flops.levels import WINDOW
from holter.flops.mfu import OwnThroughput
from holter.flops.reported import ReportedFigure
from holter.flops.throughput import RunThroughput
from holter.types import Diagnostic, FloatArray, Severity


@dataclass(frozen=True, kw_only=True)
class PlausibilityThresholds(Thresholds):
    """When figures of throughput, or the times of first steps, are impossible."""

    highest_mfu: float = 0.95
    """Share of the dense peak that no training reaches: the best matrix products measured reach 0.87 of it.
    """
    first_points: int = 20
    """Points at the beginning of an attempt that are compared with those that follow."""
    too_fast: float = 2.5
    """Times the attempt's median speed. No warm-up effect makes first steps this much faster."""
    last_first_index: int = 1
    """Index of the last point at which too fast steps may begin: later ones are no effect of the start."""


def check_first_steps(throughput: RunThroughput, limits: PlausibilityThresholds) -> Iterator[Diagnostic]:
    """One diagnostic on each attempt that begins with steps faster than all that follow."""
    own = throughput.own
    if own.series is None or own.unit is None:
        return
    speed = _relative_speed(own)
    for number in np.unique(own.series.attempt).tolist():
        rows = np.flatnonzero(own.series.attempt == number)
        later = speed[rows[limits.first_points :]]
        later = later[np.isfinite(later) & (later > 0)]
        if len(later) < WINDOW:
            continue
        typical, first = float(np.median(later)), speed[rows[: limits.first_points]]
        fast = np.flatnonzero(np.isfinite(first) & (first > limits.too_fast * typical))
        # only steps at the very beginning and faster than all later ones: no single fast step in between
        begins_fast = bool(len(fast)) and fast[0] <= limits.last_first_index
        if begins_fast and float(first[fast].min()) > float(later.max()):
            yield _first_steps_diagnostic(
                own, number, rows[fast].tolist(), float(first[fast].max()) / typical
            )


def _relative_speed(own: OwnThroughput) -> FloatArray:
    """A quantity proportional to speed, higher is faster, whether or not tokens can be counted."""
    assert own.series is not None
    assert own.unit is not None
    values = own.series.value
    return 1.0 / values if own.unit.measured.value.endswith("a step") else values


def _first_steps_diagnostic(own: OwnThroughput, attempt: int, rows: list[int], times: float) -> Diagnostic:
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
            f"{int(steps[0]):,} to {int(steps[-1]):,}){above}: timed before the device had finished."
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


_CHECK_REPORTED = (
    "Check the unit of what is logged, the peak it is divided by, and whether the device is synchronised "
    "before a step's time is taken."
)
_CHECK_OWN = (
    "Check what the log states of the model's shape, the number of devices and the batch; where a peak is "
    "not that of your hardware, set it under [peaks] of holter.toml."
)


def check_limits(
    throughput: RunThroughput, explained: Collection[str], limits: PlausibilityThresholds
) -> Iterator[Diagnostic]:
    """Diagnostics on reported figures that no hardware gives, and on Holter's own where a config is wrong."""
    for figure in throughput.reported:
        if str(figure.series.key) not in explained and figure.level is not None:
            yield from _check_reported(figure, throughput, limits)
    level = throughput.own.level(throughput.own.mfu)
    if level is not None and level.typical > limits.highest_mfu:
        peak, series = throughput.own.launch.device.peak, throughput.own.series
        yield _impossible_diagnostic(
            "own-mfu-impossible",
            int(series.attempt[-1]) if series is not None else 0,
            f"By its speed and config this run reaches {level.typical:.0%} of {peak}: one of them is wrong.",
            _CHECK_OWN,
            {
                "metric": "holter",
                "mfu": level.typical,
                "peak_tflops": peak.tflops if peak is not None else None,
            },
        )


def _check_reported(
    figure: ReportedFigure, throughput: RunThroughput, limits: PlausibilityThresholds
) -> Iterator[Diagnostic]:
    assert figure.level is not None
    key, peak, typical = str(figure.series.key), throughput.own.launch.device.peak, figure.level.typical
    attempt = int(figure.series.attempt[-1])
    if figure.quantity is ReportedQuantity.MFU and typical > limits.highest_mfu:
        yield _impossible_diagnostic(
            "mfu-impossible",
            attempt,
            f"{key} is {typical:.0%}: no training uses a device to that extent.",
            _CHECK_REPORTED,
            {"metric": key, "mfu": typical},
        )
    is_tflops = figure.quantity is ReportedQuantity.TFLOPS
    if is_tflops and peak is not None and typical > limits.highest_mfu * peak.tflops:
        yield _impossible_diagnostic(
            "tflops-impossible",
            attempt,
            f"{key} is {typical:,.4g} TFLOPS, {typical / peak.tflops:.0%} of {peak}.",
            _CHECK_REPORTED,
            {"metric": key, "tflops": typical, "peak_tflops": peak.tflops},
        )


def _impossible_diagnostic(
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

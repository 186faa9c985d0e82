"""A reported MFU that is against another peak than the device's: a sparse one, or a fallback."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np

from holter.flops.frameworks import ReportedQuantity
from holter.flops.peaks import Peak
from holter.flops.reported import ReportedFigure
from holter.flops.throughput import EQUAL_WITHIN, RunThroughput, level_by_formula
from holter.types import Diagnostic, Severity

_BY_FORMULA = 0.04
"""How near a peak must come that is told by way of a formula, not by two reported figures."""


def check_peaks(found: RunThroughput) -> Iterator[Diagnostic]:
    """Remarks on every reported MFU that was divided by something else than the peak of the device."""
    peak = found.own.launch.device.peak
    if peak is None:
        return
    for one in found.reported:
        if one.quantity is not ReportedQuantity.MFU or one.level is None or one.framework is None:
            continue
        stated = found.own.launch.settings.number(("peak_flops", "gpu_peak_flops", "device_peak_flops"))
        used, slack = (stated / 1e12, EQUAL_WITHIN) if stated is not None else divided_by(one, found)
        if used is not None and (what := _what(used, slack, peak, one)):
            yield _remark(one, used, what, peak)


def divided_by(one: ReportedFigure, found: RunThroughput) -> tuple[float | None, float]:
    """The peak in TFLOPS that a reported MFU rests on, and how exactly that is known; None: unknown."""
    if one.framework is not None and one.framework.assumed_peak is not None:
        return one.framework.assumed_peak, EQUAL_WITHIN
    for other in found.reported:
        same = other.framework is one.framework and other.series.key.labels == one.series.key.labels
        if other.quantity is ReportedQuantity.TFLOPS and same and len(other.values) == len(one.values):
            ratios = other.values / np.where(one.values > 0, one.values, np.nan)
            usable = ratios[np.isfinite(ratios) & (ratios > 0)]
            if len(usable):
                return float(np.median(usable)), EQUAL_WITHIN
    if one.level is None or one.framework is None or one.guessed:
        return None, 0.0
    by_formula = [
        level for name in one.framework.formulas if (level := level_by_formula(name, found.own)) is not None
    ]
    if not by_formula:
        return None, 0.0
    return median(level.typical for level in by_formula) / one.level.typical, _BY_FORMULA


def _what(used: float, slack: float, peak: Peak, one: ReportedFigure) -> str:
    """What the peak that was used is; empty where it is the device's, or not known to be something else."""
    if abs(used / peak.tflops - 1) <= max(slack, EQUAL_WITHIN):
        return ""
    if peak.sparse and abs(used / (2 * peak.tflops) - 1) <= slack:
        return "the figure with sparsity that vendors print, twice the dense one"
    name = one.framework.name if one.framework is not None else ""
    if one.framework is not None and any(
        abs(used / other - 1) <= slack for other in one.framework.sparse_peaks
    ):
        return f"one with sparsity in the table of {name}"
    always = one.framework.assumed_peak if one.framework is not None else None
    unknown = one.framework.fallback_peaks if one.framework is not None else ()
    if always is not None and abs(used / always - 1) <= slack:
        return f"that of an A100, which {name} takes on every device"
    if any(abs(used / other - 1) <= slack for other in unknown):
        return f"the one that {name} falls back to where it does not know a device"
    return f"not that of {peak.device}" if slack <= EQUAL_WITHIN else ""


def _remark(one: ReportedFigure, used: float, what: str, peak: Peak) -> Diagnostic:
    assert one.level is not None
    corrected = one.level.typical * used / peak.tflops
    key = str(one.series.key)
    return Diagnostic(
        code="mfu-wrong-peak",
        attempt=int(one.series.attempt[-1]),
        severity=Severity.WARNING,
        summary=(
            f"{key} of {one.level.typical:.1%} is against {used:,.4g} TFLOPS, {what}. Against {peak} it is "
            f"{corrected:.1%}."
        ),
        advice="Compare runs by Holter's own MFU, or set the peak where the framework takes one.",
        evidence={
            "metric": key,
            "mfu": one.level.typical,
            "used_peak_tflops": used,
            "peak_tflops": peak.tflops,
            "corrected_mfu": corrected,
        },
    )

"""Checks for reported MFU that is relative to a wrong peak: a sparse one, or a fallback."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

from holter.detectors.thresholds import Thresholds
from holter.flops.frameworks import ReportedQuantity
from holter.flops.peaks import Peak
from holter.flops.reported import ReportedFigure
from holter.flops.throughput import EQUAL_WITHIN, RunThroughput, level_by_formula
from holter.types import Diagnostic, Severity


@dataclass(frozen=True, kw_only=True)
class PeakThresholds(Thresholds):
    """When the peak behind a reported MFU counts as identified."""

    formula_tolerance: float = 0.04
    """Relative difference up to which a peak is identified that was computed by way of a formula. One that
    two reported figures give must be as near as figures that count as equal."""


def check_peaks(throughput: RunThroughput, limits: PeakThresholds) -> Iterator[Diagnostic]:
    """One diagnostic on every reported MFU that was divided by another peak than the device's."""
    peak = throughput.own.launch.device.peak
    if peak is None:
        return
    stated = throughput.own.launch.settings.number(("peak_flops", "gpu_peak_flops", "device_peak_flops"))
    for figure in throughput.reported:
        is_mfu = figure.quantity is ReportedQuantity.MFU
        if not is_mfu or figure.level is None or figure.framework is None:
            continue
        if stated is not None:
            used, tolerance = stated / 1e12, EQUAL_WITHIN
        else:
            used, tolerance = _divided_by(figure, throughput, limits)  # type: ignore[assignment]
        if used is not None and (description := _describe_peak(used, tolerance, peak, figure)):
            yield _diagnostic(figure, used, description, peak)


def _divided_by(
    figure: ReportedFigure, throughput: RunThroughput, limits: PeakThresholds
) -> tuple[float | None, float]:
    """The peak in TFLOPS behind a reported MFU, and the tolerance with which it is known; None: unknown."""
    if figure.framework is not None and figure.framework.assumed_peak is not None:
        return figure.framework.assumed_peak, EQUAL_WITHIN
    for other in throughput.reported:
        same = other.framework is figure.framework and other.series.key.labels == figure.series.key.labels
        is_tflops = other.quantity is ReportedQuantity.TFLOPS
        if is_tflops and same and len(other.values) == len(figure.values):
            ratios = other.values / np.where(figure.values > 0, figure.values, np.nan)
            usable = ratios[np.isfinite(ratios) & (ratios > 0)]
            if len(usable):
                return float(np.median(usable)), EQUAL_WITHIN
    if figure.level is None or figure.framework is None or figure.guessed:
        return None, 0.0
    by_formula = [level_by_formula(name, throughput.own) for name in figure.framework.formulas]
    levels = [level for level in by_formula if level is not None]
    if not levels:
        return None, 0.0
    return median(level.typical for level in levels) / figure.level.typical, limits.formula_tolerance


def _describe_peak(used: float, tolerance: float, peak: Peak, figure: ReportedFigure) -> str:
    """The peak that was used, in words; "" where it is the device's, or not known to be another one."""
    if abs(used / peak.tflops - 1) <= max(tolerance, EQUAL_WITHIN):
        return ""
    if peak.sparse and abs(used / (2 * peak.tflops) - 1) <= tolerance:
        return "the figure with sparsity that vendors print, twice the dense one"
    framework = figure.framework
    if framework is not None:
        if any(abs(used / other - 1) <= tolerance for other in framework.sparse_peaks):
            return f"one with sparsity in the table of {framework.name}"
        assumed = framework.assumed_peak
        if assumed is not None and abs(used / assumed - 1) <= tolerance:
            return f"that of an A100, which {framework.name} assumes on every device"
        if any(abs(used / other - 1) <= tolerance for other in framework.fallback_peaks):
            return f"the one that {framework.name} falls back to where it does not know a device"
    return f"not that of {peak.device}" if tolerance <= EQUAL_WITHIN else ""


def _diagnostic(figure: ReportedFigure, used: float, description: str, peak: Peak) -> Diagnostic:
    assert figure.level is not None
    corrected = figure.level.typical * used / peak.tflops
    key = str(figure.series.key)
    return Diagnostic(
        code="mfu-wrong-peak",
        attempt=int(figure.series.attempt[-1]),
        severity=Severity.WARNING,
        summary=(
            f"{key} of {figure.level.typical:.1%} is relative to {used:,.4g} TFLOPS, {description}. Relative "
            f"to {peak} it is {corrected:.1%}."
        ),
        advice="Compare runs by Holter's own MFU, or set the peak where the framework takes one.",
        evidence={
            "metric": key,
            "mfu": figure.level.typical,
            "used_peak_tflops": used,
            "peak_tflops": peak.tflops,
            "corrected_mfu": corrected,
        },
    )

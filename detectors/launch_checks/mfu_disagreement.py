"""Checks for reported figures that the framework's formula does not give, with the likely reason."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from holter.detectors.thresholds import Thresholds
from holter.flops.formulas import FORMULAS
from holter.flops.frameworks import ReportedQuantity
from holter.flops.mfu import OwnThroughput
from holter.flops.reported import ReportedFigure
from holter.flops.throughput import (
    EQUAL_WITHIN,
    HIGHEST_TFLOPS,
    LOWEST_TFLOPS,
    RunThroughput,
    describe_formula,
    level_by_formula,
)
from holter.types import Diagnostic, Severity


@dataclass(frozen=True, kw_only=True)
class FormulaThresholds(Thresholds):
    """When a reported figure disagrees with the formulas."""

    tolerance: float = 0.05
    """Relative difference that rounding, windows of logging and small parts of a model explain."""


_FACTORS: tuple[tuple[float, str], ...] = (
    (4 / 3, "recomputed activations are counted: it is HFU, not MFU"),
    (1000.0, "the unit is off by 1,000: milliseconds for seconds, or GFLOPS for TFLOPS"),
    (1 / 1000.0, "the unit is off by 1,000: seconds for milliseconds, or PFLOPS for TFLOPS"),
    (100.0, "percents are logged as a share"),
    (0.01, "a share is logged as percents"),
    (
        2.0,
        "every product is counted twice, or half of the devices are stated",
    ),
    (
        0.5,
        "a multiplication and its addition count as one, or twice as many devices are stated",
    ),
    (1 / 3, "only the forward pass is counted"),
)
_UNEXPLAINED = (
    "No formula and no common mistake gives it: shape, batch or devices may differ from those stated."
)


def check_formulas(
    throughput: RunThroughput, explained: Collection[str], limits: FormulaThresholds
) -> Iterator[Diagnostic]:
    """Diagnostics on reported figures that differ from Holter's own by more than the formulas do."""
    own_tflops = _own_tflops(throughput.own)
    for figure in throughput.reported:
        if own_tflops is None or figure.level is None or str(figure.series.key) in explained:
            continue
        tflops = _as_tflops(figure, throughput.own)
        if tflops is None or not LOWEST_TFLOPS < tflops < HIGHEST_TFLOPS:
            continue
        if not _is_within_formulas(figure, tflops, throughput.own, limits):
            yield _diagnostic(figure, tflops, own_tflops, throughput.own, limits)


def _own_tflops(own: OwnThroughput) -> float | None:
    level = own.level(own.tflops)
    return level.typical if level is not None and LOWEST_TFLOPS < level.typical < HIGHEST_TFLOPS else None


def _as_tflops(figure: ReportedFigure, own: OwnThroughput) -> float | None:
    """A reported figure as TFLOPS of one device; an MFU is converted by the device's peak."""
    assert figure.level is not None
    if figure.quantity is ReportedQuantity.TFLOPS:
        return figure.level.typical
    peak = own.launch.device.peak
    return None if peak is None else figure.level.typical * peak.tflops


def _is_within_formulas(
    figure: ReportedFigure, tflops: float, own: OwnThroughput, limits: FormulaThresholds
) -> bool:
    """Whether the framework's own formula gives a figure, or any formula where the framework is unknown."""
    framework = figure.framework
    names = framework.formulas if framework is not None and framework.formulas else tuple(FORMULAS)
    levels = [level.typical for name in names if (level := level_by_formula(name, own)) is not None]
    if not levels:
        return True
    return min(levels) * (1 - limits.tolerance) <= tflops <= max(levels) * (1 + limits.tolerance)


def _likely_reason(
    figure: ReportedFigure, tflops: float, own: OwnThroughput, limits: FormulaThresholds
) -> str:
    """Why a figure may differ: another formula's count, or the factor of a common mistake; "" for neither."""
    for name, formula in FORMULAS.items():
        level = level_by_formula(name, own)
        if level is not None and abs(tflops / level.typical - 1) <= EQUAL_WITHIN:
            attention = "half of" if formula.causal else "the full square of"
            return f"it is what {formula.title} gives, which counts {attention} the attention"
    formulas = figure.framework.formulas if figure.framework is not None else ()
    expected = [level.typical for name in formulas if (level := level_by_formula(name, own)) is not None] or [
        value for value in (_own_tflops(own),) if value is not None
    ]
    for factor, reason in _factors(own):
        if any(abs(tflops / (value * factor) - 1) <= limits.tolerance for value in expected):
            return reason
    return ""


def _factors(own: OwnThroughput) -> Iterator[tuple[float, str]]:
    yield from _FACTORS
    devices = own.launch.devices
    if devices is not None and devices > 1:
        yield float(devices), f"it is that of all {devices} devices together"
        yield 1 / devices, "the speed is already that of one device"


def _diagnostic(
    figure: ReportedFigure, tflops: float, own_tflops: float, own: OwnThroughput, limits: FormulaThresholds
) -> Diagnostic:
    assert figure.level is not None
    key, typical = str(figure.series.key), figure.level.typical
    is_mfu = figure.quantity is ReportedQuantity.MFU
    reported = f"{typical:.1%}" if is_mfu else f"{typical:,.4g} TFLOPS"
    peak = own.launch.device.peak
    ours = f"{own_tflops:,.4g} TFLOPS a device"
    if is_mfu and peak is not None:
        ours = f"{own_tflops / peak.tflops:.1%}"
    reason = _likely_reason(figure, tflops, own, limits) or None
    ratio = max(tflops / own_tflops, own_tflops / tflops)
    direction = "less" if tflops > own_tflops else "more"
    return Diagnostic(
        code="throughput-disagrees",
        attempt=int(figure.series.attempt[-1]),
        severity=Severity.INFO,
        summary=(
            f"{key} is {reported} ({describe_formula(figure, own)}); by the run's own speed it is {ours}, "
            f"{ratio:.3g} times {direction}. " + (f"Likely {reason}." if reason else _UNEXPLAINED)
        ),
        advice="Compare runs by figures of one formula only; Holter's own is the same for all of them.",
        evidence={"metric": key, "reported_tflops": tflops, "own_tflops": own_tflops, "reason": reason},
    )

"""A reported figure that its framework's formula does not give: with the likely reason."""

from __future__ import annotations

from collections.abc import Collection, Iterator

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

_SPREAD = 0.05
"""What rounding, windows of logging and small parts of a model make between one formula and another's run."""
_FACTORS: tuple[tuple[float, str], ...] = (
    (4 / 3, "recomputed activations are counted: it is HFU, not MFU"),
    (1000.0, "the unit is off by 1,000: milliseconds for seconds, or GFLOPS for TFLOPS"),
    (1 / 1000.0, "the unit is off by 1,000: seconds for milliseconds, or PFLOPS for TFLOPS"),
    (100.0, "percents are taken for a share"),
    (0.01, "a share is taken for percents"),
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
_UNEXPLAINED = "No formula and no usual mistake gives it: shape, batch or devices may be others than stated."


def check_formulas(found: RunThroughput, explained: Collection[str]) -> Iterator[Diagnostic]:
    """Remarks on reported figures that differ from Holter's own by more than the formulas do."""
    own = _own_tflops(found.own)
    for one in found.reported:
        if own is None or one.level is None or str(one.series.key) in explained:
            continue
        tflops = _tflops(one, found.own)
        if tflops is None or not LOWEST_TFLOPS < tflops < HIGHEST_TFLOPS or _within(one, tflops, found.own):
            continue
        yield _remark(one, tflops, own, found.own)


def _own_tflops(own: OwnThroughput) -> float | None:
    level = own.level(own.tflops)
    return level.typical if level is not None and LOWEST_TFLOPS < level.typical < HIGHEST_TFLOPS else None


def _tflops(one: ReportedFigure, own: OwnThroughput) -> float | None:
    """What is reported as TFLOPS of one device, an MFU by way of the device's peak."""
    assert one.level is not None
    if one.quantity is ReportedQuantity.TFLOPS:
        return one.level.typical
    peak = own.launch.device.peak
    return None if peak is None else one.level.typical * peak.tflops


def _within(one: ReportedFigure, tflops: float, own: OwnThroughput) -> bool:
    """Whether a figure is what its own formula gives, or where that is not known, any known one."""
    names = (
        one.framework.formulas if one.framework is not None and one.framework.formulas else tuple(FORMULAS)
    )
    given = [level.typical for name in names if (level := level_by_formula(name, own)) is not None]
    if not given:
        return True
    return min(given) * (1 - _SPREAD) <= tflops <= max(given) * (1 + _SPREAD)


def _reason(one: ReportedFigure, tflops: float, own: OwnThroughput) -> str:
    """Why a figure may differ: another formula's count, or a factor that mistakes make; "" for neither."""
    for name, formula in FORMULAS.items():
        level = level_by_formula(name, own)
        if level is not None and abs(tflops / level.typical - 1) <= EQUAL_WITHIN:
            attention = "half of" if formula.causal else "the whole square of"
            return f"it is what {formula.title} gives, which counts {attention} the attention"
    expected = [
        level.typical
        for name in (one.framework.formulas if one.framework is not None else ())
        if (level := level_by_formula(name, own)) is not None
    ] or [value for value in (_own_tflops(own),) if value is not None]
    for factor, reason in _factors(own):
        if any(abs(tflops / (value * factor) - 1) <= _SPREAD for value in expected):
            return reason
    return ""


def _factors(own: OwnThroughput) -> Iterator[tuple[float, str]]:
    yield from _FACTORS
    devices = own.launch.devices
    if devices is not None and devices > 1:
        yield float(devices), f"it is that of all {devices} devices together"
        yield 1 / devices, "the speed is already that of one device"


def _remark(one: ReportedFigure, tflops: float, own_tflops: float, own: OwnThroughput) -> Diagnostic:
    assert one.level is not None
    key = str(one.series.key)
    what = (
        f"{one.level.typical:.1%}"
        if one.quantity is ReportedQuantity.MFU
        else f"{one.level.typical:,.4g} TFLOPS"
    )
    peak = own.launch.device.peak
    ours = f"{own_tflops:,.4g} TFLOPS a device"
    if one.quantity is ReportedQuantity.MFU and peak is not None:
        ours = f"{own_tflops / peak.tflops:.1%}"
    reason = _reason(one, tflops, own) or None
    factor, sense = max(tflops / own_tflops, own_tflops / tflops), "less" if tflops > own_tflops else "more"
    return Diagnostic(
        code="throughput-disagrees",
        attempt=int(one.series.attempt[-1]),
        severity=Severity.INFO,
        summary=(
            f"{key} is {what} ({describe_formula(one, own)}); by the run's own speed it is {ours}, "
            f"{factor:.3g} times {sense}. " + (f"Likely {reason}." if reason else _UNEXPLAINED)
        ),
        advice="Compare runs by figures of one formula only; Holter's own is the same for all of them.",
        evidence={"metric": key, "reported_tflops": tflops, "own_tflops": own_tflops, "reason": reason},
    )

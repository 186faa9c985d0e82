"""A run's throughput and how its time was spent, as text: the values it reports, and Holter's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holter.attempts.goodput import Goodput, TimeUse, clock_series, measure_goodput
from holter.detectors.formatting import duration, figure
from holter.flops.frameworks import ReportedQuantity
from holter.flops.levels import CurveLevel, attempt_spans
from holter.flops.mfu import OwnThroughput
from holter.flops.rates import batch_size_at, batch_size_series
from holter.flops.reported import ReportedFigure
from holter.flops.throughput import RunThroughput, describe_formula
from holter.types import RunData

TIME_USE_LABELS = {
    TimeUse.FORWARD: "forward",
    TimeUse.SLOW: "below own best",
    TimeUse.SUPERSEDED: "done again later",
    TimeUse.RESTARTS: "restarts",
    TimeUse.STALLED: "stalled",
}
"""How time was spent, in the words of the pages."""
_MAX_MISSING = 3
"""Missing inputs of Holter's own MFU that are listed."""
_MIN_MICROSECONDS = 60_000_000
"""Runs shorter than this have no line about goodput: their time is mostly start-up."""
_MIN_SHARE = 0.0005
"""Smaller shares of the time are left out."""


@dataclass(frozen=True, kw_only=True)
class ThroughputLine:
    """One line about throughput: its name, its figures as text, and their formula or source."""

    name: str
    text: str
    source: str = ""


def measure_run_goodput(run: RunData) -> Goodput | None:
    """How a run's wall time was spent, by the series logged most often; None without wall times."""
    clock = clock_series({key: len(series) for key, series in run.series.items()})
    if clock is None:
        return None
    sizes = batch_size_series(run.series)
    series = run.series[clock]
    work = batch_size_at(series, None if sizes is None else run.series[sizes])
    return measure_goodput(series, attempt_spans(series), work)


def describe_throughput(throughput: RunThroughput, goodput: Goodput | None) -> Iterator[ThroughputLine]:
    """The lines about a run's throughput, the most important first."""
    own = throughput.own
    yield from _describe_own(own)
    for reported in throughput.reported:
        if reported.level is not None:
            text = f"{reported.series.key} {_format_reported(reported)}"
            yield ThroughputLine(name="reported", text=text, source=_source(reported, own))
    if throughput.has_content and own.missing and (throughput.reported or own.launch.shape is not None):
        more = len(own.missing) - _MAX_MISSING
        rest = f", and {more} more" if more > 0 else ""
        names = [description.split(" (")[0] for description in own.missing[:_MAX_MISSING]]
        yield ThroughputLine(name="own MFU", text=f"not in the logs: {', '.join(names)}{rest}")
    if goodput is not None and goodput.total >= _MIN_MICROSECONDS:
        yield ThroughputLine(name="goodput", text=describe_goodput(goodput))


def describe_goodput(goodput: Goodput) -> str:
    """`93.1% of 4 h 10 min; 4.2% below own best (11 min), 2.7% restarts (7 min)`."""
    rest = [
        f"{goodput.share(use):.1%} {TIME_USE_LABELS[use]} ({duration(goodput.seconds(use))})"
        for use in TimeUse
        if use is not TimeUse.FORWARD and goodput.share(use) >= _MIN_SHARE
    ]
    forward = f"{goodput.share(TimeUse.FORWARD):.1%} of {duration(goodput.total / 1e6)}"
    return f"{forward}; {', '.join(rest)}" if rest else forward


@dataclass(frozen=True, kw_only=True)
class GoodputPart:
    """One part of the bar that shows how the time was spent."""

    use: str
    share: float
    title: str


def goodput_parts(goodput: Goodput) -> list[GoodputPart]:
    """The parts of the bar that are wide enough to be seen."""
    return [
        GoodputPart(
            use=use.value,
            share=round(goodput.share(use), 5),
            title=f"{TIME_USE_LABELS[use]}: {duration(goodput.seconds(use))}, {goodput.share(use):.1%}",
        )
        for use in TimeUse
        if goodput.share(use) >= _MIN_SHARE
    ]


def _describe_own(own: OwnThroughput) -> Iterator[ThroughputLine]:
    tflops, mfu, hfu = (own.level(values) for values in (own.tflops, own.mfu, own.hfu))
    if tflops is None:
        return
    device = own.launch.device
    source = f"Holter's formula, from {own.series.key}" if own.series is not None else ""
    if mfu is None or device.peak is None:
        text = f"{figure(tflops.newest)} per device{_format_best(tflops, '')}"
        yield ThroughputLine(name="TFLOPS", text=text, source=source)
        return
    assumed = ", assumed" if device.precision_assumed else ""
    hardware = f"; HFU {hfu.newest:.1%}" if hfu is not None and hfu.newest > mfu.newest * 1.001 else ""
    peak = f"{device.peak.tflops:,.4g} TFLOPS {device.precision}{assumed}, {device.peak.device}"
    text = f"{mfu.newest:.1%}{_format_best(mfu, '%')}{hardware}: {figure(tflops.newest)} of {peak}"
    yield ThroughputLine(name="MFU", text=text, source=source)


def _format_reported(reported: ReportedFigure) -> str:
    assert reported.level is not None
    if reported.quantity is ReportedQuantity.MFU:
        return f"{reported.level.newest:.1%}{_format_best(reported.level, '%')}"
    return f"{figure(reported.level.newest)} TFLOPS{_format_best(reported.level, '')}"


def _format_best(level: CurveLevel, unit: str) -> str:
    """The best value, where it is above the newest."""
    if level.best <= level.newest * 1.01:
        return ""
    return f" (at best {level.best:.1%})" if unit else f" (at best {figure(level.best)})"


def _source(reported: ReportedFigure, own: OwnThroughput) -> str:
    framework = f"{reported.framework.name}: " if reported.framework is not None else ""
    return f"{framework}{describe_formula(reported, own)}"

"""A run's throughput and how its time was spent, in words: what it reports, and Holter's own."""

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

SPENT = {
    TimeUse.FORWARD: "forward",
    TimeUse.SLOW: "below own best",
    TimeUse.SUPERSEDED: "done again later",
    TimeUse.RESTARTS: "restarts",
    TimeUse.STALLED: "stalled",
}
"""What time went into, in the words of the pages."""
_LACKING = 3
_SHORTEST = 60_000_000
"""Microseconds of a run from which on its time is worth an account: sooner it all is start-up."""
_WORTH = 0.0005
"""A share of the time that is worth a word."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing said: what it is, its figures, and by which formula or from what."""

    name: str
    said: str
    source: str = ""


def spent_in(run: RunData) -> Goodput | None:
    """How a run's wall time was spent, by the series logged most; None without a clock."""
    clock = clock_series({key: len(series) for key, series in run.series.items()})
    if clock is None:
        return None
    sizes = batch_size_series(run.series)
    series = run.series[clock]
    work = batch_size_at(series, None if sizes is None else run.series[sizes])
    return measure_goodput(series, attempt_spans(series), work)


def lines(found: RunThroughput, spent: Goodput | None) -> Iterator[Line]:
    """What is to be said of a run's speed, the most important first."""
    own = found.own
    yield from _own(own)
    for one in found.reported:
        if one.level is not None:
            yield Line(name="reported", said=f"{one.series.key} {_figures(one)}", source=_source(one, own))
    if found.has_content and own.missing and (found.reported or own.launch.shape is not None):
        more = len(own.missing) - _LACKING
        rest = f", and {more} more" if more > 0 else ""
        named = [word.split(" (")[0] for word in own.missing[:_LACKING]]
        yield Line(name="own MFU", said=f"needs {', '.join(named)}{rest}, which no log says")
    if spent is not None and spent.total >= _SHORTEST:
        yield Line(name="goodput", said=in_words(spent))


def in_words(spent: Goodput) -> str:
    """`93.1% of 4 h 10 min; 4.2% below own best (11 min), 2.7% restarts (7 min)`."""
    rest = [
        f"{spent.share(what):.1%} {SPENT[what]} ({duration(spent.seconds(what))})"
        for what in TimeUse
        if what is not TimeUse.FORWARD and spent.share(what) >= _WORTH
    ]
    whole = f"{spent.share(TimeUse.FORWARD):.1%} of {duration(spent.total / 1e6)}"
    return f"{whole}; {', '.join(rest)}" if rest else whole


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of the bar that shows how the time was spent."""

    what: str
    share: float
    title: str


def parts(spent: Goodput) -> list[Part]:
    """The parts of the bar, those that can be seen."""
    return [
        Part(
            what=what.value,
            share=round(spent.share(what), 5),
            title=f"{SPENT[what]}: {duration(spent.seconds(what))}, {spent.share(what):.1%}",
        )
        for what in TimeUse
        if spent.share(what) >= _WORTH
    ]


def _own(own: OwnThroughput) -> Iterator[Line]:
    tflops, mfu, hfu = (own.level(values) for values in (own.tflops, own.mfu, own.hfu))
    if tflops is None:
        return
    device = own.launch.device
    source = f"Holter's formula, from {own.series.key}" if own.series is not None else ""
    if mfu is None or device.peak is None:
        yield Line(
            name="TFLOPS", said=f"{figure(tflops.newest)} a device{_at_best(tflops, '')}", source=source
        )
        return
    assumed = ", assumed" if device.precision_assumed else ""
    repeated = f"; HFU {hfu.newest:.1%}" if hfu is not None and hfu.newest > mfu.newest * 1.001 else ""
    peak = f"{device.peak.tflops:,.4g} TFLOPS {device.precision}{assumed}, {device.peak.device}"
    said = f"{mfu.newest:.1%}{_at_best(mfu, '%')}{repeated}: {figure(tflops.newest)} of {peak}"
    yield Line(name="MFU", said=said, source=source)


def _figures(one: ReportedFigure) -> str:
    assert one.level is not None
    if one.quantity is ReportedQuantity.MFU:
        return f"{one.level.newest:.1%}{_at_best(one.level, '%')}"
    return f"{figure(one.level.newest)} TFLOPS{_at_best(one.level, '')}"


def _at_best(level: CurveLevel, unit: str) -> str:
    """The best, where it is more than what is now."""
    if level.best <= level.newest * 1.01:
        return ""
    return f" (at best {level.best:.1%})" if unit else f" (at best {figure(level.best)})"


def _source(one: ReportedFigure, own: OwnThroughput) -> str:
    framework = f"{one.framework.name}: " if one.framework is not None else ""
    return f"{framework}{describe_formula(one, own)}"

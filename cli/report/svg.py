"""Curves as inline SVG: a wide drawing for the HTML report, and a thumbnail for tables in notebooks.

Written by hand: matplotlib is no dependency of reports and notebooks, and the page's style sheet colours it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import inf

import numpy as np

from holter.cli.report.words import describe_position, kind_title
from holter.curve_plot import CurvePlot, PlotBand, PlotLine, finding_band, plot_curve
from holter.curves import Excerpt
from holter.detectors.formatting import figure
from holter.types import Finding, Severity

WIDTH, HEIGHT = 960, 160
_BODY_WIDTHS = 2.0
"""A report shows what is usual: values farther out are counted in a note."""
_SHOWN_ATTEMPTS = 12
"""Attempts whose numbers fit next to each other, on a phone too."""
_THUMBNAIL_WIDTH, _THUMBNAIL_HEIGHT, _THUMBNAIL_MARGIN = 180, 36, 3
_COLOURS = {
    Severity.CRITICAL.value: "#d3302c",
    Severity.WARNING.value: "#c07a10",
    Severity.INFO.value: "#4d83b0",
}


def draw(excerpt: Excerpt, findings: Sequence[Finding], *, title: str) -> str:
    """The excerpt as a drawing with its axes as text; empty without finite points.

    A finding on this series is a band, one on another a bar along the axis. The drawing is scaled with
    the page; the text, which is around it, is not.
    """
    bands = [
        finding_band(
            finding,
            excerpt.last_step,
            own=finding.metric == excerpt.key.metric,
            label=f"{kind_title(finding)}, {describe_position(finding)}",
        )
        for finding in findings
        if excerpt.first_step <= finding.start_step <= excerpt.last_step
    ]
    plot = plot_curve(
        excerpt.segments,
        first_step=float(excerpt.first_step),
        last_step=float(excerpt.last_step),
        columns=WIDTH,
        body_widths=_BODY_WIDTHS,
        bands=bands,
    )
    if not plot.points:
        return ""
    parts = [
        *(_band(band, plot) for band in plot.bands),
        *(f'<path class="grid" d="M0 {y}H{WIDTH}"/>' for y in (0, HEIGHT // 2, HEIGHT)),
        *(f'<path class="tick" d="M{x} {HEIGHT}v-7"/>' for x in _resume_pixels(plot)),
        *(_line(line, plot) for line in plot.lines),
        *(
            f'<path class="broken" d="M{x:.0f} {HEIGHT - 10}v10"/>'
            for x in np.floor(plot.x(plot.nonfinite) * WIDTH).tolist()
        ),
    ]
    drawing = (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title, quote=True)}">{"".join(parts)}</svg>'
    )
    return f'<div class="plot">{_with_axes(drawing, plot)}</div>'


def _with_axes(drawing: str, plot: CurvePlot) -> str:
    """The drawing with three values next to it, three steps below, and the numbers of attempts."""
    middle = plot.low / 2 + plot.high / 2
    values = "".join(f"<span>{figure(value)}</span>" for value in (plot.high, middle, plot.low))
    first, last = plot.first_step, plot.last_step
    # between few steps the middle is half a step
    steps = "".join(
        f"<span>{step:,.{int(step % 1 > 0 and last - first < 100)}f}</span>"
        for step in (first, (first + last) / 2, last)
    )
    note = f'<div class="note">{plot.note}</div>' if plot.note else ""
    spacing = max(-(-len(plot.resumes) // _SHOWN_ATTEMPTS), 1)
    numbers = "".join(
        f'<span style="left:{float(plot.x([step])[0]):.1%}">{attempt}</span>'
        for attempt, step in plot.resumes[::spacing]
    )
    below = f'<div class="resumes">{numbers}</div>' if numbers else ""
    return (
        f'{note}<div class="values">{values}</div><div class="picture">{drawing}</div>'
        f'{below}<div class="steps">{steps}</div>'
    )


def _line(line: PlotLine, plot: CurvePlot) -> str:
    x, y = (plot.x(line.steps) * WIDTH).tolist(), (plot.y(line.values) * HEIGHT).tolist()
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    dots = ""
    if not line.ghost and (plot.sparse or len(x) == 1):
        path = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x, y, strict=True))
        dots = f'<path class="dots" d="{path}"/>'
    return f'<polyline class="{"ghost" if line.ghost else "curve"}" points="{points}"/>{dots}'


def _band(band: PlotBand, plot: CurvePlot) -> str:
    left, right = (plot.x([band.start, band.end]) * WIDTH).tolist()
    top = 0 if band.own else HEIGHT - 4
    onset = f'<path class="onset" d="M{left:.1f} 0V{HEIGHT}"/>' if band.own else ""
    return (
        f'<g class="{band.severity}"><title>{escape(band.label)}</title>'
        f'<rect class="{"band" if band.own else "bar"}" x="{left:.1f}" y="{top}" '
        f'width="{max(right - left, 1.5):.1f}" height="{HEIGHT - top}"/>{onset}</g>'
    )


def _resume_pixels(plot: CurvePlot) -> list[int]:
    pixels = (plot.x([step for _, step in plot.resumes]) * WIDTH).astype(np.int64)
    return [int(pixel) for pixel in np.unique(pixels)]


def thumbnail(excerpt: Excerpt, finding: Finding) -> str:
    """The timeline of an excerpt as a small `<svg>` that needs no style sheet; empty without finite points.

    The finding's steps are tinted, and all values are in range, so that a single spike is visible.
    """
    plot = plot_curve(
        [segment for segment in excerpt.segments if not segment.ghost],
        first_step=float(excerpt.first_step),
        last_step=float(excerpt.last_step),
        columns=_THUMBNAIL_WIDTH,
        body_widths=inf,
        bands=[finding_band(finding, excerpt.last_step)],
    )
    if not plot.points:
        return ""
    (band,) = plot.bands
    left, right = (plot.x([band.start, band.end]) * _THUMBNAIL_WIDTH).tolist()
    x = plot.x([step for line in plot.lines for step in line.steps]) * _THUMBNAIL_WIDTH
    height = _THUMBNAIL_HEIGHT - 2 * _THUMBNAIL_MARGIN
    y = _THUMBNAIL_MARGIN + height * plot.y([value for line in plot.lines for value in line.values])
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    broken = "".join(
        f'<path d="M{pixel:.0f} {_THUMBNAIL_HEIGHT - 6}v6" stroke="#d3302c"/>'
        for pixel in np.floor(plot.x(plot.nonfinite) * _THUMBNAIL_WIDTH).tolist()
    )
    return (
        f'<svg width="{_THUMBNAIL_WIDTH}" height="{_THUMBNAIL_HEIGHT}" '
        f'viewBox="0 0 {_THUMBNAIL_WIDTH} {_THUMBNAIL_HEIGHT}" role="img">'
        f'<rect x="{left:.1f}" width="{max(right - left, 1.5):.1f}" height="{_THUMBNAIL_HEIGHT}" '
        f'fill="{_COLOURS[band.severity]}" opacity=".2"/>'
        f'<polyline points="{points}" fill="none" stroke="#3072c1"/>{broken}</svg>'
    )

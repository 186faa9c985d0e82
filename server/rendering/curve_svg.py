"""A plot as inline SVG with its axes as text, coloured by the style sheet of the page; no JavaScript."""

from __future__ import annotations

from html import escape

import numpy as np

from holter.curve_plot import CurvePlot, PlotBand, PlotLine
from holter.server.rendering.axis_ticks import axis_ticks
from holter.server.rendering.plot_frame import grid_lines, plot_frame

WIDTH, HEIGHT = 960, 160
_VALUE_TICKS, _STEP_TICKS = 6, 5
_SHOWN_ATTEMPTS = 12
"""Attempts whose numbers fit next to each other, on a phone too."""


def curve_svg(plot: CurvePlot, *, title: str) -> str:
    """The plot as HTML; empty without finite points.

    It is scaled with the page; the text, which is around it, is not.
    """
    if not plot.points:
        return ""
    values = axis_ticks(plot.low, plot.high, _VALUE_TICKS)
    steps = axis_ticks(plot.first_step, plot.last_step, _STEP_TICKS, whole=True)
    parts = [
        *(_band(band, plot) for band in plot.bands),
        grid_lines(values, WIDTH, HEIGHT),
        *(f'<path class="grid" d="M{WIDTH * tick.place:.1f} {HEIGHT}v4"/>' for tick in steps),
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
    return plot_frame(drawing, values=values, steps=steps, note=plot.note, below=_attempts(plot))


def _attempts(plot: CurvePlot) -> str:
    """The numbers of attempts where they begin."""
    spacing = max(-(-len(plot.resumes) // _SHOWN_ATTEMPTS), 1)
    numbers = "".join(
        f'<span style="left:{float(plot.x([step])[0]):.1%}">{attempt}</span>'
        for attempt, step in plot.resumes[::spacing]
    )
    return f'<div class="resumes">{numbers}</div>' if numbers else ""


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

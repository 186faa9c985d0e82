"""Draws plots: requests as JSON on standard input, PNGs on standard output. Runs as a process."""

from __future__ import annotations

import io
import json
import os
import select
import sys

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, StrMethodFormatter

from holter.curve_plot import CurvePlot, PlotBand
from holter.server.rendering.incident_chart import PictureRequest
from holter.server.rendering.picture_process import IDLE_SECONDS, read_block, write_block

_TEXT, _MUTED, _GRID, _CURVE = "#15191d", "#5a646e", "#dde1e5", "#1f5fa8"
_COLOURS = {"critical": "#b3261e", "warning": "#9a5b00", "info": "#1f5fa8"}
_WIDTH, _HEIGHT, _DPI = 5.2, 2.9, 230


def draw(request: PictureRequest) -> Figure:
    """The figure: superseded lines dashed, onset and end marked, NaN on the axis."""
    figure = Figure(figsize=(_WIDTH, _HEIGHT), dpi=_DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    plot = request.plot
    _draw_lines(axes, plot)
    for band in plot.bands:
        _draw_band(axes, band)
    if request.baseline is not None:
        axes.axhline(request.baseline, color=_MUTED, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
    if plot.nonfinite:
        axes.plot(
            plot.nonfinite,
            np.zeros(len(plot.nonfinite)),
            "x",
            color=_COLOURS[plot.bands[0].severity],
            markersize=6,
            transform=axes.get_xaxis_transform(),
            clip_on=False,
            zorder=4,
        )
    _style_axes(axes, request.title, plot)
    return figure


def _draw_lines(axes: Axes, plot: CurvePlot) -> None:
    for line in plot.lines:
        dotted = not line.ghost and (plot.sparse or len(line.steps) == 1)
        axes.plot(
            line.steps,
            line.values,
            color=_MUTED if line.ghost else _CURVE,
            linewidth=0.8 if line.ghost else 1.2,
            linestyle=(0, (3, 2)) if line.ghost else "-",
            marker="." if dotted else "",
            markersize=3,
            alpha=0.7 if line.ghost else 1.0,
            zorder=2 if line.ghost else 3,
        )


def _draw_band(axes: Axes, band: PlotBand) -> None:
    colour = _COLOURS[band.severity]
    axes.axvspan(band.start, band.end, color=colour, alpha=0.08, linewidth=0, zorder=0)
    axes.axvline(band.start, color=colour, linewidth=1.2, zorder=1)
    axes.annotate(
        f"step {band.start:,.0f}",
        (band.start, 1),
        (4, -3),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        color=colour,
        fontsize=9,
        va="top",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
    )
    if band.ended:
        axes.axvline(band.end, color=colour, linewidth=1.0, linestyle=":", zorder=1)


def _style_axes(axes: Axes, title: str, plot: CurvePlot) -> None:
    margin = 0.01 * max(plot.last_step - plot.first_step, 1.0)
    axes.set_xlim(plot.first_step - margin, plot.last_step + margin)
    axes.set_ylim(plot.low, plot.high)
    axes.set_title(title if len(title) <= 60 else f"…{title[-59:]}", loc="left", fontsize=10, color=_TEXT)
    label = f"step · {plot.note}" if plot.note else "step"
    axes.set_xlabel(label, fontsize=9, color=_MUTED)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.tick_params(colors=_MUTED, labelsize=9, length=3, width=0.6)
    axes.grid(True, axis="y", color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_GRID)


def main() -> None:
    """Read, draw, write, at a lower priority than everything else on the machine, until nobody asks."""
    os.nice(5)
    while select.select([sys.stdin], [], [], IDLE_SECONDS)[0]:
        request = read_block(sys.stdin.buffer)
        if request is None:
            return
        picture = io.BytesIO()
        draw(PictureRequest.decode(json.loads(request))).savefig(picture, format="png")
        write_block(sys.stdout.buffer, picture.getvalue())


if __name__ == "__main__":
    main()

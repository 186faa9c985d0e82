"""Draws one curve: a description as JSON on standard input, a PNG on standard output. Run as a process."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, StrMethodFormatter

from holter.plurals import counted

INK, QUIET, LINE, CURVE = "#15191d", "#5a646e", "#dde1e5", "#1f5fa8"
TINTS = {"critical": "#b3261e", "warning": "#9a5b00", "info": "#1f5fa8"}
WIDTH, HEIGHT, DENSITY = 5.2, 2.9, 230


def draw(asked: dict[str, Any]) -> Figure:
    """The curve around an incident: what was superseded dashed, onset and end marked, NaN on the axis."""
    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DENSITY, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _curves(axes, asked["stretches"])
    _marks(axes, asked)
    _range(axes, asked)
    _dress(axes, asked["name"])
    return figure


def _curves(axes: Axes, stretches: list[dict[str, Any]]) -> None:
    for stretch in stretches:
        ghost = stretch["ghost"]
        few = len(stretch["step"]) <= 60
        axes.plot(
            stretch["step"],
            stretch["value"],
            color=QUIET if ghost else CURVE,
            linewidth=0.8 if ghost else 1.2,
            linestyle=(0, (3, 2)) if ghost else "-",
            marker="." if few and not ghost else "",
            markersize=3,
            alpha=0.7 if ghost else 1.0,
            zorder=2 if ghost else 3,
        )


def _marks(axes: Axes, asked: dict[str, Any]) -> None:
    tint = TINTS[asked["severity"]]
    last = max(
        (stretch["step"][-1] for stretch in asked["stretches"] if stretch["step"]), default=asked["onset"]
    )
    end = asked["end"]
    axes.axvspan(asked["onset"], last if end is None else end, color=tint, alpha=0.08, linewidth=0, zorder=0)
    axes.axvline(asked["onset"], color=tint, linewidth=1.2, zorder=1)
    words = f"step {asked['onset']:,}"
    axes.annotate(
        words,
        (asked["onset"], 1),
        (4, -3),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        color=tint,
        fontsize=9,
        va="top",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
    )
    if end is not None:
        axes.axvline(end, color=tint, linewidth=1.0, linestyle=":", zorder=1)
    if asked["baseline"] is not None:
        axes.axhline(asked["baseline"], color=QUIET, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
    if asked["nonfinite"]:
        axes.plot(
            asked["nonfinite"],
            np.zeros(len(asked["nonfinite"])),
            "x",
            color=tint,
            markersize=6,
            transform=axes.get_xaxis_transform(),
            clip_on=False,
            zorder=4,
        )


def _range(axes: Axes, asked: dict[str, Any]) -> None:
    """A range in which the curve can be read; what leaves it is said, never left out silently."""
    values = np.concatenate([np.asarray(one["value"], float) for one in asked["stretches"]] or [np.empty(0)])
    values = values[np.isfinite(values)]
    if not len(values):
        return
    low, middle, high = np.percentile(values, [0, 50, 100])
    usual = np.percentile(values, 95) - low
    ceiling = middle + 40 * max(float(usual), 1e-12)
    if high > ceiling and len(values) > 20:
        axes.set_ylim(low - 0.05 * usual, ceiling)
        outside = f"{counted(int((values > ceiling).sum()), 'point')} above, up to {high:.4g}"
        axes.annotate(
            outside,
            (1, 1),
            (-3, -3),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=9,
            color=QUIET,
        )


def _dress(axes: Axes, name: str) -> None:
    axes.set_title(name if len(name) <= 60 else f"…{name[-59:]}", loc="left", fontsize=10, color=INK)
    axes.set_xlabel("step", fontsize=9, color=QUIET)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.tick_params(colors=QUIET, labelsize=9, length=3, width=0.6)
    axes.grid(True, axis="y", color=LINE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.margins(x=0.01)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(LINE)


def main() -> None:
    """Read, draw, write. Of lower priority than whatever else runs on the machine."""
    os.nice(5)
    draw(json.load(sys.stdin)).savefig(sys.stdout.buffer, format="png")


if __name__ == "__main__":
    main()

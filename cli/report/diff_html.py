"""The comparison of two runs as one stand-alone HTML page, with both curves and their difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from holter.cli.report.diff_text import SENTENCES, change_text, figure_text
from holter.detectors.compare.grid import grid_edges, grid_means
from holter.detectors.compare.run_diff import RunDiff
from holter.detectors.compare.words import value_text
from holter.server.rendering.axis_ticks import axis_ticks
from holter.server.rendering.plot_frame import grid_lines, page_style, plot_frame
from holter.types import FloatArray

_WIDTH, _HEIGHT = 960, 200
_INTERVALS = 300
_TICKS = 5
_BODY = (0.5, 99.5)
"""Percentiles of the values that a picture shows: the first steps are far above all others."""

_ENVIRONMENT = Environment(loader=PackageLoader("holter.cli.report", "."), autoescape=True)


def page(diff: RunDiff) -> str:
    """The complete page; it loads nothing from elsewhere."""
    content = diff.as_json()
    return render(content, curves=_curves(diff), difference=_difference(diff))


def render(content: Mapping[str, Any], *, curves: str = "", difference: str = "") -> str:
    """The page of a comparison as JSON, with pictures where there are any."""
    return _ENVIRONMENT.get_template("diff.html").render(
        style=Markup(page_style()),
        diff=content,
        sentences=[(name, content[name]) for name in SENTENCES],
        settings=[
            (each["name"], each["category"], *(value_text(value) for value in each["values"]))
            for each in content["settings"]
            if not each["folded"]
        ],
        figures=[
            (
                each["title"],
                *(figure_text(value, each) for value in each["values"]),
                change_text(*each["values"]),
            )
            for each in content["figures"]
        ],
        curves=Markup(curves),  # made of numbers only
        difference=Markup(difference),
    )


def _curves(diff: RunDiff) -> str:
    """Both curves as means over intervals of the common x."""
    run, baseline = diff.curves
    edges = grid_edges([run.x, baseline.x], _INTERVALS, overlap=True)
    if len(edges) < 3:
        return ""
    centers = (edges[:-1] + edges[1:]) / 2
    means = [grid_means(edges, each.x, each.value).mean for each in (baseline, run)]
    low, high = (float(value) for value in np.nanpercentile(np.concatenate(means), _BODY))
    lines = "".join(
        _line(centers, values, low, high, name)
        for values, name in zip(means, ("baseline", "run"), strict=True)
    )
    return _picture(lines, low, high, centers)


def _difference(diff: RunDiff) -> str:
    """The difference with its interval."""
    if diff.loss is None or len(diff.loss.band.x) < 2:
        return ""
    band = diff.loss.band
    newest = slice(len(band.x) // 8, None)  # the interval of the first steps is wide and says little
    low = float(min(np.min(band.low[newest]), 0.0))
    high = float(max(np.max(band.high[newest]), 0.0))
    x = np.concatenate((band.x, band.x[::-1]))
    area = _points(x, np.concatenate((band.high, band.low[::-1])), low, high, band.x)
    zero = _points(band.x[[0, -1]], np.zeros(2), low, high, band.x)
    shapes = f'<polygon class="interval" points="{area}"/><polyline class="zero" points="{zero}"/>'
    return _picture(shapes + _line(band.x, band.difference, low, high, "run"), low, high, band.x)


def _picture(shapes: str, low: float, high: float, x: FloatArray) -> str:
    values = axis_ticks(low, high, _TICKS)
    grid = grid_lines(values, _WIDTH, _HEIGHT)
    drawing = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none">{grid}{shapes}</svg>'
    return plot_frame(drawing, values=values, steps=axis_ticks(float(x[0]), float(x[-1]), _TICKS))


def _line(x: FloatArray, value: FloatArray, low: float, high: float, name: str) -> str:
    return f'<polyline class="{name}" points="{_points(x, value, low, high, x)}"/>'


def _points(x: FloatArray, value: FloatArray, low: float, high: float, scale: FloatArray) -> str:
    """Points of an SVG; values outside of the picture lie on its edge, unknown ones are left out."""
    known = np.isfinite(value)
    width, height = max(float(scale[-1] - scale[0]), 1e-300), max(high - low, 1e-300)
    across = (x[known] - scale[0]) / width * _WIDTH
    down = np.clip((high - value[known]) / height, 0, 1) * _HEIGHT
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across.tolist(), down.tolist(), strict=True))

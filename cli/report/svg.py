"""Curves as inline SVG: a wide drawing for the HTML report, and a thumbnail for tables in notebooks.

Written by hand: matplotlib is no dependency of reports and notebooks, and the page's style sheet colours it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from holter.cli.report.words import describe_position, kind_title
from holter.curve_plot import finding_band, plot_curve
from holter.curves import Excerpt
from holter.server.rendering.curve_svg import WIDTH, curve_svg
from holter.types import Finding, Severity

_BODY_WIDTHS = 2.0
"""A report shows what is usual: values farther out are counted in a note."""
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
    return curve_svg(plot, title=title)


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

"""What surrounds a drawing of a curve on a page that loads nothing: axes as text, style, and the typeface."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from holter.server.rendering.axis_ticks import AxisTick

_FONT = "ibm-plex-sans-latin.woff2"
_NEAR_END = 0.06
"""Share of the width next to an end of the axis in which a label begins or ends at its place: centered, it
would leave the picture."""


def plot_frame(
    drawing: str, *, values: Sequence[AxisTick], steps: Sequence[AxisTick], note: str = "", below: str = ""
) -> str:
    """The drawing as HTML with values next to it and steps below; `below`: what comes between them."""
    heights = "".join(f'<span style="top:{1 - tick.place:.2%}">{tick.label}</span>' for tick in values)
    widths = "".join(
        f'<span style="left:{tick.place:.2%}"{_alignment(tick.place)}>{tick.label}</span>' for tick in steps
    )
    remark = f'<div class="note">{note}</div>' if note else ""
    return (
        f'<div class="plot">{remark}<div class="values">{heights}</div><div class="picture">{drawing}</div>'
        f'{below}<div class="steps">{widths}</div></div>'
    )


def grid_lines(values: Sequence[AxisTick], width: int, height: int) -> str:
    """A line across the drawing at each value of its axis, as SVG."""
    return "".join(f'<path class="grid" d="M0 {height * (1 - tick.place):.1f}H{width}"/>' for tick in values)


@cache
def page_style() -> str:
    """Style of `plot_frame`, and the typeface of the dashboard (47 kB), for the style sheet of a page."""
    style = files("holter.server.rendering").joinpath("plot_frame.css").read_text()
    font = files("holter.ui").joinpath("static", "fonts", _FONT).read_bytes()
    return style.replace("{{font}}", b64encode(font).decode())


def _alignment(place: float) -> str:
    if place < _NEAR_END:
        return ' class="first"'
    return ' class="last"' if place > 1 - _NEAR_END else ""

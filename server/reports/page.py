"""What the templates of reports share: the environment, times and durations in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from holter.server.rendering.plot_frame import page_style
from holter.terminal_text import printable

_ENVIRONMENT = Environment(
    loader=PackageLoader("holter.server", "reports"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=lambda value: printable(value) if type(value) is str else value,
)
_UNITS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))


def render(template: str, values: Mapping[str, Any]) -> str:
    """The complete page of a template."""
    return _ENVIRONMENT.get_template(template).render(plot_style=markup(page_style()), **values)


def markup(html: str) -> Markup:
    """HTML of Holter's own drawings, which is not escaped again."""
    return Markup(html)


def moment(time: float | None) -> str:
    """A wall time in UTC: 23 Nov 2026, 09:42 UTC."""
    return "" if time is None else f"{datetime.fromtimestamp(time, tz=UTC):%d %b %Y, %H:%M} UTC"


def length(seconds: float | None) -> str:
    """A duration with its two largest units: 3 d 4 h."""
    if seconds is None:
        return ""
    for size, unit, smaller, rest in _UNITS:
        if seconds >= size:
            remainder = int(seconds % size // smaller)
            return f"{int(seconds // size)} {unit}" + (f" {remainder} {rest}" if remainder else "")
    return f"{seconds:.0f} s"


_ENVIRONMENT.filters |= {"moment": moment, "length_of": length}

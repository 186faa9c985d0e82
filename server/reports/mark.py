"""The mark of Holter: a strip in the colour of a run's health, on top of reports and as their icon."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from holter.types import Severity

_TICKS = {"critical": "#e0443f", "warning": "#d9921f"}
_OK = "#3d9c68"
_LINE = "#8fa3b8"
"""The colour of the strip where it does not state the health."""


def health_mark(open_severities: Iterable[Severity], *, is_judged: bool = True) -> str:
    """The mark as SVG; with a tick, as in the icon of the pages, where warnings or critical ones are open.

    `is_judged`: whether anything is known about the health; without incidents the mark is grey otherwise.
    """
    worst = max(open_severities, key=lambda severity: severity.rank, default=None)
    tick = _TICKS.get(worst.value) if worst is not None else None
    strip = _OK if is_judged else _LINE
    line = 'fill="none" stroke-linecap="round" stroke-linejoin="round"'
    drawing = (
        f'<path d="M4 17h6l3-8 5 14 4-10 2 4h4" {line} stroke="{strip}" stroke-width="3"/>'
        if tick is None
        else f'<path d="M4 19h7l2-5 3 8h3" {line} stroke="{_LINE}" stroke-width="2.6"/>'
        f'<rect x="20" y="4" width="6" height="24" rx="3" fill="{tick}"/>'
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" aria-hidden="true">'
        f'<rect width="32" height="32" rx="7" fill="#14202e"/>{drawing}</svg>'
    )


def icon_address(mark: str) -> str:
    """The mark as an address that loads nothing."""
    return f"data:image/svg+xml,{quote(mark)}"

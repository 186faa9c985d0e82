"""Formats numbers for people: few digits, suffixes for thousands, durations in words."""

from __future__ import annotations

from math import isfinite

SUFFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def figure(value: float) -> str:
    """Three significant digits: 0.0321, 12.4, 8,410, 1.27M."""
    if not isfinite(value):
        return f"{value}"
    for size, suffix in SUFFIXES:
        if abs(value) >= size and abs(value) >= 1e4:
            return f"{value / size:.3g}{suffix}" if abs(value) < 1e18 else f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """The two largest units: 45 s, 12 min, 3 h 5 min, 2 d 4 h."""
    if seconds < 90 or not isfinite(seconds):
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"

"""Formats numbers for people: few digits, suffixes for thousands, durations in words."""

from __future__ import annotations

from itertools import pairwise
from math import floor, isfinite, log10

SUFFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


_DIGITS, _MOST_DIGITS = 3, 12
"""Significant digits of a figure, and the most of one that would look like the one before it."""
_LEAST_UNITS = 2
"""Units of the last digit that figures of one sentence differ by: one unit may be the rounding."""


def figure(value: float, digits: int = _DIGITS) -> str:
    """Three significant digits, or more: 0.0321, 12.4, 8,410, 1.27M."""
    if not isfinite(value):
        return f"{value}"
    for size, suffix in SUFFIXES:
        if abs(value) >= size and abs(value) >= 1e4:
            return f"{value / size:.{digits}g}{suffix}" if abs(value) < 1e18 else f"{value:.{digits}g}"
    return f"{value:,.0f}" if abs(value) >= 1000 and digits <= 4 else f"{value:,.{digits}g}"


def figures(*values: float) -> tuple[str, ...]:
    """Figures that are compared in one sentence, each with as many digits as it takes to see that it differs
    from the one before: 1.684e-08 and 1.691e-08."""
    digits = max((_digits_apart(*pair) for pair in pairwise(values)), default=_DIGITS)
    return tuple(figure(value, digits) for value in values)


def from_to(before: float, after: float) -> str:
    """A move, as a part of a sentence: from 2.31 to 4.02."""
    return "from {} to {}".format(*figures(before, after))


def _digits_apart(first: float, second: float) -> int:
    """The significant digits in which two numbers differ visibly; those of a figure where they are equal."""
    difference, size = abs(second - first), max(abs(first), abs(second))
    if not (isfinite(difference) and difference > 0):
        return _DIGITS
    needed = floor(log10(size)) - floor(log10(difference) - log10(_LEAST_UNITS)) + 1
    return min(max(needed, _DIGITS), _MOST_DIGITS)


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

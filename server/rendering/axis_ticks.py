"""Round numbers along an axis, with their places and labels."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, isfinite, log10
from typing import NamedTuple

from holter.detectors.formatting import SUFFIXES

_SUFFIX_FROM = 1e4
"""Largest absolute value from which on labels have a suffix: 12.5k."""
_POWER_BELOW = 1e-3
"""Largest absolute value below which labels have an exponent: 2.5e-05."""


class AxisTick(NamedTuple):
    """A round number and its place as a share of the axis, from its lower end."""

    place: float
    label: str


def axis_ticks(low: float, high: float, most: int, *, whole: bool = False) -> list[AxisTick]:
    """At least two and at most `most` (>= 4) multiples of 1, 2 or 5 times a power of ten in a range.

    `whole`: whole numbers only, of which a short range may have one or none; the ends of a range without
    any, and of one that is too narrow for floats, are its ticks.
    """
    spacing = _spacing(low, high, most)
    if whole:
        spacing = max(spacing, 1.0)
    if not spacing or not isfinite(spacing):
        return _ends(low, high)
    first, last = ceil(low / spacing - 1e-9), floor(high / spacing + 1e-9)
    values = [number * spacing for number in range(first, min(last, first + most) + 1)]
    width = high / 2 - low / 2  # halves: two large numbers may differ by more than a float can hold
    if not values or len(values) > most or not width:
        return _ends(low, high)
    places = [min(max((value / 2 - low / 2) / width, 0.0), 1.0) for value in values]
    if len({*places}) < len(places):  # too narrow: several values are rounded to one
        return _ends(low, high)
    return [AxisTick(*tick) for tick in zip(places, _labels(values, spacing), strict=True)]


def _spacing(low: float, high: float, most: int) -> float:
    """The least of 1, 2 and 5 times powers of ten of which a range has at most `most` multiples."""
    least = high / (most - 1) - low / (most - 1)
    if least <= 0 or not isfinite(least):
        return 0.0
    power = 10.0 ** floor(log10(least))
    return next((factor * power for factor in (1.0, 2.0, 5.0) if factor * power >= least), 10 * power)


def _ends(low: float, high: float) -> list[AxisTick]:
    if low == high:
        return [AxisTick(0.0, f"{low:,.6g}")]
    return [AxisTick(0.0, f"{low:,.6g}"), AxisTick(1.0, f"{high:,.6g}")]


def _labels(values: Sequence[float], spacing: float) -> list[str]:
    """As many digits as distinguish the values, and the same suffix for all."""
    largest = max(map(abs, values))
    if not largest:
        return ["0"] * len(values)
    digits = floor(log10(largest)) - floor(log10(spacing)) + 1
    if largest < _POWER_BELOW or largest >= SUFFIXES[0][0] * 1e3:
        return [f"{value:.{digits}g}" for value in values]
    size, suffix = 1.0, ""
    if largest >= _SUFFIX_FROM:
        size, suffix = next(each for each in SUFFIXES if largest >= each[0])
    decimals = max(0, -floor(log10(spacing / size) + 1e-9))
    return [f"{value / size:,.{decimals}f}{suffix}" if value else "0" for value in values]

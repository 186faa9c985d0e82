"""Axes of drawings: round numbers at their places, in a range of any size."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holter.curve_plot import plot_curve
from holter.curves import LineSegment
from holter.server.rendering.axis_ticks import axis_ticks
from holter.server.rendering.curve_svg import curve_svg

MOST = 5
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0, 10.0, ["0", "5", "10"]),
        (2.31, 4.07, ["2.5", "3.0", "3.5", "4.0"]),
        (2.3412, 2.3467, ["2.342", "2.344", "2.346"]),
        (-0.3, 0.4, ["-0.2", "0", "0.2", "0.4"]),
        (48_700.0, 51_300.0, ["49k", "50k", "51k"]),
        (0.0, 12_500_000.0, ["0", "5M", "10M"]),
        (1.1e-5, 4.2e-5, ["2e-05", "3e-05", "4e-05"]),
    ],
)
def test_values_are_round(low: float, high: float, labels: list[str]) -> None:
    assert [tick.label for tick in axis_ticks(low, high, MOST)] == labels


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0, 2_000, ["0", "500", "1,000", "1,500", "2,000"]),
        (7, 9, ["7", "8", "9"]),
        (0, 1, ["0", "1"]),
        (5, 5, ["5"]),
    ],
)
def test_steps_are_whole(low: float, high: float, labels: list[str]) -> None:
    assert [tick.label for tick in axis_ticks(low, high, MOST, whole=True)] == labels


def test_a_tick_is_at_its_place() -> None:
    assert [tick.place for tick in axis_ticks(-10.0, 10.0, MOST)] == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_two_points_are_at_their_steps_and_none_is_between() -> None:
    line = LineSegment(attempt=0, ghost=False, step=np.array([0, 1]), value=np.array([2.0, 1.0]))
    plot = plot_curve([line], first_step=0.0, last_step=1.0, columns=100, body_widths=2.0)
    _, steps = curve_svg(plot, title="loss").split('<div class="steps">')
    assert re.findall(r">([^<]+)</span>", steps) == ["0", "1"]


@given(FINITE, FINITE, st.booleans())
@example(1.7976931348623081e308, 1.7976931348623085e308, False)
def test_any_range_has_a_few_distinct_labels_in_order(one: float, other: float, whole: bool) -> None:
    ticks = axis_ticks(min(one, other), max(one, other), MOST, whole=whole)
    places = [tick.place for tick in ticks]
    assert 1 <= len(ticks) <= MOST
    assert places == sorted(set(places))
    assert 0 <= places[0] <= places[-1] <= 1
    if one != other and abs(one - other) > 1e-9 * max(abs(one), abs(other)):
        assert len({tick.label for tick in ticks}) == len(ticks)

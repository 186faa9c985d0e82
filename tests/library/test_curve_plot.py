"""What a drawing of a curve shows, before anything is drawn."""

from __future__ import annotations

import json
from math import inf

import numpy as np

from holter.curve_plot import CurvePlot, PlotBand, plot_curve
from holter.curves import LineSegment


def segment(values: object, *, first: int = 0, attempt: int = 0, ghost: bool = False) -> LineSegment:
    value = np.asarray(values, dtype=np.float64)
    return LineSegment(attempt=attempt, ghost=ghost, step=np.arange(first, first + len(value)), value=value)


def plot(*segments: LineSegment, columns: int = 100, body_widths: float = inf) -> CurvePlot:
    last = max(float(one.step[-1]) for one in segments)
    return plot_curve(segments, first_step=0.0, last_step=last, columns=columns, body_widths=body_widths)


def test_a_single_spike_survives_the_reduction_to_columns() -> None:
    values = np.zeros(100_000)
    values[51_234] = 7.0
    (line,) = plot(segment(values)).lines
    assert len(line.steps) <= 4 * 101
    assert line.steps[line.values.index(7.0)] == 51_234
    assert (line.steps[0], line.steps[-1]) == (0, 99_999)


def test_values_far_from_the_body_are_counted_and_drawn_at_the_edge() -> None:
    values = np.linspace(1.0, 2.0, 500)
    values[100] = 1e12
    shown = plot(segment(values), body_widths=2.0)
    assert shown.outside == 1
    assert shown.high < 5
    assert shown.note == "1 point is outside of this range (1 to 1e+12)"
    assert shown.y([1e12])[0] == 0.0
    assert plot(segment(values)).note == ""


def test_nan_are_marks_one_for_each_column() -> None:
    values = np.ones(1000)
    values[[10, 11, 12, 500]] = np.nan
    shown = plot(segment(values))
    assert shown.nonfinite == [10.0, 500.0]
    assert shown.points == 996


def test_superseded_lines_are_below_the_others_and_attempts_are_marked() -> None:
    shown = plot(segment(np.ones(20)), segment(np.ones(10), first=10, attempt=1, ghost=True))
    assert [line.ghost for line in shown.lines] == [True, False]
    assert list(shown.resumes) == [(1, 10.0)]


def test_huge_and_constant_values_have_positions() -> None:
    for values in ([1e308, -1e308, 0.0], [2.0, 2.0], [0.0]):
        shown = plot(segment(values))
        assert np.isfinite(shown.y(values)).all()
        assert np.isfinite(shown.x([0.0])).all()


def test_a_plot_passes_to_another_process_as_json() -> None:
    band = PlotBand(start=3.0, end=9.0, ended=True, severity="warning")
    shown = plot_curve(
        [segment([1.0, np.nan, 3.0])],
        first_step=0.0,
        last_step=2.0,
        columns=10,
        body_widths=2.0,
        bands=[band],
    )
    again = CurvePlot.from_json(json.loads(json.dumps(shown.as_json(), allow_nan=False)))
    assert (again.lines, again.bands, again.nonfinite) == (shown.lines, shown.bands, [1.0])

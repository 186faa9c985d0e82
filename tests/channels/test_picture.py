"""Pictures of incidents: as a line of text and as a PNG, and what happens when they fail."""

from __future__ import annotations

import struct
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holter.server.rendering.incident_chart import IncidentCharts, sketch, surroundings
from holter.types import Finding
from tests.support.receivers import make_incident

pytestmark = pytest.mark.slow


def make_finding(**changes: Any) -> Finding:
    return make_incident(**changes).finding


def chart(value: Any, *, first: int = 1300, nonfinite: tuple[int, ...] = (), ghost: bool = False) -> Any:
    """A chart of one attempt whose points stand at every step."""
    value = np.asarray(value, dtype=np.float64)
    step = np.arange(first, first + len(value))
    segment = SimpleNamespace(attempt=0, ghost=ghost, step=step, value=value)
    return SimpleNamespace(segments=[segment], nonfinite=[(0, at, float("nan")) for at in nonfinite])


class Charts:
    """Charts as the store gives them, one for whatever is asked."""

    def __init__(self, *charts: Any) -> None:
        self.charts = list(charts)
        self.asked: list[tuple[Any, ...]] = []

    def chart(self, run_id: int, keys: Any, *, from_step: Any, to_step: Any, points: int) -> list[Any]:
        self.asked.append((run_id, list(keys), from_step, to_step))
        return self.charts


def spike() -> Any:
    value = np.full(400, 2.0)
    value[214:220] = 9.0
    return chart(value, nonfinite=(1500,))


def test_a_sketch_shows_one_spike_among_many_points() -> None:
    line = sketch(spike())
    assert line.startswith("▁")
    assert line.endswith("  2 to 9")
    assert line.count("█") in (1, 2)
    assert "✗" in line


def test_a_sketch_draws_nothing_where_nothing_was_logged() -> None:
    gap = chart([1.0, 1.0, 2.0, 2.0])
    gap.segments[0].step = np.array([0, 1, 99, 100])
    assert sketch(gap) == "▁  █  1 to 2"


@pytest.mark.parametrize("values", [[], [1.0]])
def test_a_sketch_of_too_little_is_empty(values: list[float]) -> None:
    assert sketch(chart(values)) == ""


def test_a_sketch_leaves_out_what_was_superseded() -> None:
    both = chart(np.linspace(1, 2, 50))
    both.segments.insert(0, chart(np.full(50, 99.0), ghost=True).segments[0])
    assert sketch(both).endswith(" 2")


def test_a_picture_is_a_png_of_the_right_stretch() -> None:
    charts = Charts(spike())
    png = IncidentCharts(charts).picture(7, make_finding(end_step=1520))
    assert png is not None
    assert png.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == (1196, 667)
    assert charts.asked[0][0] == 7
    assert charts.asked[0][2:] == (1314, 1620)


@pytest.mark.parametrize(
    "odd",
    [
        chart([2.0]),
        chart([]),
        chart([2.0, 2.0, 2.0], nonfinite=(1301,)),
        chart([1e-300, 1e300, -1e300]),
        chart(np.r_[np.full(99, 1.0), 1e12]),
    ],
    ids=["one point", "only a gap", "constant", "huge", "far outside"],
)
def test_odd_curves_are_drawn_too(odd: Any) -> None:
    assert IncidentCharts(Charts(odd)).picture(1, make_finding()) is not None
    IncidentCharts(Charts(odd)).sketch(1, make_finding())


def test_the_surroundings_grow_with_the_incident() -> None:
    assert surroundings(make_finding(start_step=100, end_step=None, peak_step=None)) == (0, None)
    assert surroundings(make_finding(start_step=9000, end_step=9010)) == (8800, 9110)
    assert surroundings(make_finding(start_step=9000, end_step=13000)) == (5000, 15000)


def test_a_series_that_is_not_there_has_no_picture() -> None:
    pictures = IncidentCharts(Charts())
    assert (pictures.picture(1, make_finding()), pictures.sketch(1, make_finding())) == (None, "")


def test_a_drawing_that_fails_or_hangs_costs_the_picture_and_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert IncidentCharts(Charts(spike()), timeout=0.01).picture(1, make_finding()) is None
    broken = IncidentCharts(Charts(SimpleNamespace(segments=[SimpleNamespace(attempt=0)])))
    assert broken.picture(1, make_finding()) is None
    assert broken.sketch(1, make_finding()) == ""
    assert "no picture of spike_slow in run 1" in caplog.text


def test_the_server_does_not_load_the_drawing_library() -> None:
    modules = "holter.server.alerting, holter.server.rendering.incident_chart"
    program = f"import sys, {modules}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

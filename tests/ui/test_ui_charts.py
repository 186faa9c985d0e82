"""Formatting and charts: pure functions of the pages, run in the browser."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

Call = Callable[..., Any]
THIN = "\u202f"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.30712, "2.307"),
        (0.04123, "0.04123"),
        (12.3456, "12.35"),
        (123456.7, "123,457"),
        (8000, "8,000"),
        (1204.7, "1,205"),
        (0.0003, "3.00e−4"),
        (-1.5, "−1.500"),
        (0, "0"),
        ("NaN", "NaN"),
        ("-Infinity", "−∞"),
        (None, "NaN"),
    ],
)
def test_numbers_have_four_significant_digits_and_non_finite_values_a_symbol(
    call: Call, value: object, text: str
) -> None:
    assert call("lib/format.js", "number", value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(999, "999"), (1000, "1.00k"), (28881, "28.9k"), (999_950, "1.00M"), (1.5e9, "1.50G")]
)
def test_large_numbers_take_si_suffixes(call: Call, value: float, text: str) -> None:
    assert call("lib/format.js", "si", value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.25, "250_ms"),
        (45, "45_s"),
        (130, "2_min 10_s"),
        (7800, "2_h 10_min"),
        (273_600, "3_d 4_h"),
        (None, "–"),
    ],
)
def test_durations_show_their_two_largest_units(call: Call, seconds: float | None, text: str) -> None:
    assert call("lib/format.js", "duration", seconds) == text.replace("_", THIN)


@pytest.mark.parametrize(
    ("role", "value", "text"),
    [
        ("throughput", 195346, "195k"),
        ("mfu", 0.4123, "0.412"),
        ("mfu", 1.4123, "1.41"),
        ("learning_rate", 3e-4, "3.00e−4"),
        ("loss", 2.30712, "2.307"),
    ],
)
def test_a_value_is_formatted_by_its_role(call: Call, role: str, value: float, text: str) -> None:
    assert call("lib/format.js", "reading", role, value) == text


def test_smoothing_has_bias_correction_and_preserves_a_constant(call: Call) -> None:
    assert call("charts/curves.js", "smooth", [5, 5, 5], 0.9) == pytest.approx([5, 5, 5])
    assert call("charts/curves.js", "smooth", [1, 2], 0.0) == [1, 2]
    smoothed = call("charts/curves.js", "smooth", [0, 10], 0.5)
    assert smoothed == pytest.approx([0, 20 / 3])


def segment(attempt: int, steps: list[int], values: list[float], *, ghost: bool = False) -> dict[str, Any]:
    return {
        "attempt": attempt,
        "ghost": ghost,
        "step": steps,
        "time": [1000.0 + 10 * attempt + step for step in steps],
        "value": values,
        "band": None,
    }


def rolled_back() -> dict[str, Any]:
    """Attempt 0 reached step 4; attempt 1 continued from step 2."""
    return {
        "metric": "loss",
        "labels": {},
        "count": 8,
        "reduced": False,
        "segments": [
            segment(0, [0, 1], [5.0, 4.0]),
            segment(0, [2, 3, 4], [9.0, 9.1, 9.2], ghost=True),
            segment(1, [2, 3, 5], [3.0, 2.9, 2.8]),
        ],
        "nonfinite": [],
        "nonfinite_count": 0,
    }


def test_the_crosshair_reads_the_timeline_and_the_superseded_branch(call: Call) -> None:
    hit = call("charts/curves.js", "nearestPoints", rolled_back(), "step", 3)
    assert (hit["live"]["attempt"], hit["live"]["value"]) == (1, 2.9)
    assert (hit["ghost"]["attempt"], hit["ghost"]["value"]) == (0, 9.1)
    beyond = call("charts/curves.js", "nearestPoints", rolled_back(), "step", 5)
    assert beyond["ghost"] is None
    assert beyond["live"]["step"] == 5


def curve(values: list[float]) -> dict[str, Any]:
    return {"segments": [segment(0, list(range(len(values))), values)], "nonfinite": [], "count": len(values)}


def test_outliers_are_left_out_of_the_y_range_and_counted(call: Call) -> None:
    values = [2.0 + 0.01 * (i % 10) for i in range(500)] + [900.0]
    y = call("charts/curves.js", "yRange", [curve(values)], {"log": False, "whole": False})
    assert y["high"] < 3
    assert (y["above"], y["below"]) == (1, 0)


def test_every_value_is_in_the_y_range_without_outliers_or_on_request(call: Call) -> None:
    values = [2.0, 2.5, 3.0, 2.2]
    y = call("charts/curves.js", "yRange", [curve(values)], {"log": False, "whole": False})
    assert y["low"] < 2.0
    assert y["high"] > 3.0
    assert (y["above"], y["below"]) == (0, 0)
    spoilt = [*([2.0, 2.1] * 200), 900.0]
    assert call("charts/curves.js", "yRange", [curve(spoilt)], {"log": False, "whole": True})["high"] > 900


def test_a_straggler_is_in_the_y_range_among_many_steady_ranks(call: Call) -> None:
    steady = [curve([0.4 + 0.001 * (i % 10) for i in range(100)]) for _ in range(30)]
    straggler = curve([0.4 + 0.001 * (i % 10) for i in range(50)] + [0.7] * 50)
    y = call("charts/curves.js", "yRange", [*steady, straggler], {"log": False, "whole": False})
    assert y["high"] > 0.7
    assert y["above"] == 0


def test_a_logarithmic_axis_counts_the_values_that_it_cannot_draw(call: Call) -> None:
    y = call("charts/curves.js", "yRange", [curve([1.0, 10.0, 0.0, -3.0])], {"log": True, "whole": False})
    assert y["hidden"] == 2
    assert y["low"] < 0 < 1 < y["high"]
    assert call("charts/curves.js", "yRange", [curve([])], {"log": False, "whole": False}) is None


def test_labels_keep_their_position_and_the_one_with_more_weight_becomes_an_icon(call: Call) -> None:
    wanted = [
        {"x": 10, "width": 80, "weight": 2},
        {"x": 40, "width": 80, "weight": 0},
        {"x": 300, "width": 80, "weight": 1},
    ]
    placed = call("charts/curves.js", "layOutLabels", wanted, 340)
    assert [item["full"] for item in placed] == [False, True, True]
    assert placed[1]["left"] == 40
    assert placed[2]["left"] == 260  # pushed back inside
    assert placed[0]["left"] == 10  # an icon fits at its position
    crowded = [{"x": 50, "width": 200, "weight": 0}, {"x": 80, "width": 90, "weight": 1}]
    assert call("charts/curves.js", "layOutLabels", crowded, 340)[1] == {"left": 30, "full": False}


def test_consecutive_nan_are_one_run(call: Call) -> None:
    marks = [(0, 5, "NaN"), (0, 6, "NaN"), (0, 9, "Infinity"), (1, 10, "Infinity")]
    series = {"nonfinite": [{"attempt": a, "step": s, "value": v} for a, s, v in marks]}
    runs = call("charts/curves.js", "nonfiniteRuns", series)
    assert [(item["value"], item["first"], item["last"], item["count"]) for item in runs] == [
        ("NaN", 5, 6, 2),
        ("Infinity", 9, 9, 1),
        ("Infinity", 10, 10, 1),
    ]


PALETTE = {
    name: "#336699"
    for name in [
        *(f"series-{i}" for i in range(1, 9)),
        *("ghost", "accent", "series-rest", "ink", "ink-quiet", "paper-raised", "grid", "line-strong"),
        *("mark-info", "mark-warning", "mark-critical"),
    ]
}


def picture(series: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "series": series,
        "axis": "step",
        "log": False,
        "smoothing": 0,
        "palette": PALETTE,
        "range": [0, 10],
        "y": {"low": 0, "high": 10},
        "attempts": [
            {"number": 0, "first_step": 0, "last_step": 4},
            {"number": 1, "first_step": 2, "last_step": 5},
        ],
        "incidents": [],
        "otherIncidents": [],
        "expected": [],
        "selected": None,
        "focus": None,
        "role": "loss",
        "fontSize": 11,
        "width": 400,
        **more,
    }


def drawn(call: Call, given: dict[str, Any]) -> dict[str, Any]:
    """The traces of a chart by name."""
    return {trace["name"]: trace for trace in call("charts/figure.js", "traces", given)}


def test_attempts_have_a_gap_between_them_and_superseded_branches_are_thin_and_dashed(call: Call) -> None:
    traces = drawn(call, picture([rolled_back()]))
    curve, ghost = traces["loss {}"], traces["loss {} superseded"]
    assert curve["x"] == [0, 1, None, 2, 3, 5]  # no line from attempt 0 to attempt 1
    assert ghost["line"]["dash"] != "solid"
    assert ghost["line"]["width"] < curve["line"]["width"]
    assert ghost["x"] == [1, 2, 3, 4]  # it begins at the last point that it shares with its attempt


def test_hundreds_of_attempts_are_one_trace(call: Call) -> None:
    many = rolled_back()
    many["segments"] = [segment(i, [10 * i, 10 * i + 5], [2.0, 1.0]) for i in range(300)]
    assert len(call("charts/figure.js", "traces", picture([many], attempts=[]))) == 1


def test_an_attempt_with_a_single_point_is_a_dot(call: Call) -> None:
    series = rolled_back()
    series["count"] = 1000
    series["segments"].append(segment(2, [7], [2.5]))
    lone = drawn(call, picture([series]))["loss {} alone"]
    assert (lone["x"], lone["y"], lone["mode"]) == ([7], [2.5], "markers")


def test_with_more_series_than_colours_the_highlighted_one_is_coloured(call: Call) -> None:
    ranks = [
        {**curve([0.4, 0.4]), "metric": "step_time", "labels": {"rank": rank}, "nonfinite_count": 0}
        for rank in range(64)
    ]
    traces = drawn(call, picture(ranks, focus='step_time {"rank":17}', attempts=[]))
    assert set(traces) == {"extremes", "other series", "10 to 90 %", "median", 'step_time {"rank":17}'}
    assert traces["other series"]["x"].count(None) == 62


def test_a_reduced_curve_is_its_mean_with_a_band_of_extremes(call: Call) -> None:
    series = rolled_back()
    band = {"step": [0, 2], "minimum": [1.0, 1.5], "maximum": [9.0, 8.0], "mean": [4.0, 3.0]}
    series["segments"] = [{**segment(0, [0, 1, 2, 3], [1.0, 9.0, 1.5, 8.0]), "band": band}]
    traces = drawn(call, picture([series], attempts=[]))
    envelope, mean = traces["loss {} band"], traces["loss {}"]
    assert envelope["fill"] == "toself"
    assert envelope["y"] == [9.0, 8.0, 1.5, 1.0]
    assert mean["y"] == [4.0, 3.0]


def test_smoothing_shows_the_raw_curve_too_and_restarts_at_a_rollback(call: Call) -> None:
    traces = drawn(call, picture([rolled_back()], smoothing=0.9))
    smoothed = traces["loss {} smoothed"]["y"]
    assert smoothed[smoothed.index(None) + 1] == 3.0  # it restarts without the values of attempt 0
    assert traces["loss {} raw"]["y"] == [5.0, 4.0, None, 3.0, 2.9, 2.8]


def test_nan_is_a_cross_on_the_axis_and_infinity_an_arrow_at_the_edge(call: Call) -> None:
    series = rolled_back()
    series["nonfinite"] = [
        {"attempt": 1, "step": 4, "value": "NaN"},
        {"attempt": 1, "step": 6, "value": "Infinity"},
    ]
    marks = drawn(call, picture([series]))["NaN or Inf"]
    assert marks["yaxis"] == "y2"
    assert marks["x"] == [4, 6]
    assert marks["y"] == [0, 1]
    assert marks["marker"]["symbol"] == ["x-thin", "triangle-up"]


def test_a_line_has_a_gap_at_a_non_finite_value(call: Call) -> None:
    series = rolled_back()
    series["nonfinite"] = [{"attempt": 1, "step": 4, "value": "NaN"}]
    assert drawn(call, picture([series]))["loss {}"]["y"] == [5.0, 4.0, None, 3.0, 2.9, None, 2.8]


def incident(**more: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "metric": "loss",
        "labels": {},
        "attempt": 1,
        "start_step": 3,
        "peak_step": 5,
        "end_step": None,
        "severity": "critical",
        "state": "open",
        "evidence": {},
        **more,
    }


def test_an_incident_has_a_solid_line_at_its_onset_a_dot_at_its_peak_and_a_dotted_line_at_its_end(
    call: Call,
) -> None:
    recovered = incident(end_step=8)
    full = picture([rolled_back()], incidents=[recovered])
    dot = drawn(call, full)["peaks"]
    assert (dot["x"], dot["y"]) == ([5], [2.8])
    shapes = call("charts/layout.js", "layout", full)["shapes"]
    band, onset, recovery = shapes[:3]
    assert (band["type"], band["x0"], band["x1"]) == ("rect", 3, 8)
    assert (onset["x0"], onset["line"].get("dash")) == (3, None)
    assert (recovery["x0"], recovery["line"]["dash"]) == (8, "dot")


def test_an_open_incident_extends_to_the_end_of_the_axis_or_of_its_attempt(call: Call) -> None:
    assert call("charts/layout.js", "extentOf", picture([rolled_back()]), incident()) == [3, 10]
    assert call("charts/layout.js", "extentOf", picture([rolled_back()]), incident(attempt=0)) == [3, 4]


def test_a_resume_is_a_tick_with_the_number_of_its_attempt(call: Call) -> None:
    traces = drawn(call, picture([rolled_back()]))
    tick, number = traces["resumes"], traces["attempts"]
    assert tick["x"] == [2, 2, None]
    assert max(y for y in tick["y"] if y is not None) < 0.1
    assert (number["x"], number["text"]) == ([2], [" 1"])


def test_crowded_resumes_are_left_out_until_their_numbers_are_legible(call: Call) -> None:
    attempts = [{"number": i, "first_step": 10 * i, "last_step": 10 * i + 9} for i in range(200)]
    marks = call(
        "charts/resume_markers.js", "resumeMarks", picture([], attempts=attempts, range=[0, 2000], width=400)
    )
    positions = [label["x"] for label in marks["labels"]]
    gaps = [(b - a) / 5 for a, b in itertools.pairwise(positions)]  # 5 steps a pixel
    assert len(positions) > 5
    assert min(gaps) >= 18
    assert len(marks["ticks"]) < 120


def step_times(count: int) -> dict[str, Any]:
    ranks = [{"metric": "step_time", "labels": {"rank": rank}} for rank in range(min(count, 50))]
    return {"title": "Step time", "role": "step_time", "series": ranks, "series_count": count}


def test_many_ranks_are_one_coarse_request_and_a_thousand_ranks_a_grid(call: Call) -> None:
    loss = {"title": "Loss", "role": "loss", "series": [{"metric": "loss", "labels": {}}]}
    few = call("charts/board.js", "planRequests", [loss, step_times(64)])
    assert few == [{"metrics": ["loss"]}, {"metrics": ["step_time"], "points": 160}]
    assert call("charts/board.js", "planRequests", [loss, step_times(1024)]) == [{"metrics": ["loss"]}]
    assert call("charts/board.js", "isGrid", step_times(1024))
    assert not call("charts/board.js", "isGrid", step_times(64))


def rank_curves(count: int, **unusual: float) -> list[dict[str, Any]]:
    """Constant step times by rank; `unusual`: those of some ranks."""
    return [
        {
            "metric": "step_time",
            "labels": {"rank": rank},
            "segments": [
                segment(0, list(range(50)), [unusual.get(f"r{rank}", 1.0 + 0.001 * (rank % 7))] * 50)
            ],
            "nonfinite": [],
            "nonfinite_count": 0,
            "count": 50,
            "thinned": 0,
        }
        for rank in range(count)
    ]


def test_of_many_series_the_unusual_and_the_pinned_ones_are_named_and_coloured(call: Call) -> None:
    given = picture(rank_curves(64, r37=1.6), attempts=[], pinned=["rank=5"], range=[0, 49])
    named = call("charts/traces.js", "namedSeries", given)
    assert [curve["labels"]["rank"] for curve in named] == [5, 37]
    summary = call("charts/many_series.js", "summarise", given["series"], "step")
    assert 1.0 < summary["median"][0] < 1.01
    others = drawn(call, given)["extremes"]["y"]
    assert 1.0 <= min(others) <= max(others) < 1.01  # what is named has a line of its own


def test_the_warm_up_does_not_flatten_what_follows_and_is_reported(call: Call) -> None:
    values = [11.0 - 0.08 * i for i in range(100)] + [2.5 + 0.02 * (i % 5) for i in range(900)]
    values[600] = 3.07  # a spike that would be invisible
    options = {"log": False, "whole": False, "warmup": True}
    y = call("charts/curves.js", "yRange", [curve(values)], options)
    assert y["warmup"]
    assert y["high"] < 4
    assert y["high"] > 3.07
    assert not call("charts/curves.js", "yRange", [curve(values)], {**options, "whole": True})["warmup"]
    level = [2.5 + 0.02 * (i % 5) for i in range(1000)]
    assert not call("charts/curves.js", "yRange", [curve(level)], options)["warmup"]


def test_a_short_curve_beside_a_long_one_is_in_the_y_range(call: Call) -> None:
    long = [11.0 - 0.08 * i for i in range(100)] + [2.5 + 0.02 * (i % 5) for i in range(9_900)]
    short = [11.0 - 0.2 * i for i in range(30)] + [5.0] * 270
    options = {"log": False, "whole": False, "warmup": True}
    y = call("charts/curves.js", "yRange", [curve(long), curve(short)], options)
    assert y["warmup"]
    assert y["low"] < 2.5
    assert y["high"] > 5.0


def test_new_points_are_added_to_a_curve_and_a_new_attempt_is_fetched_again(call: Call) -> None:
    before = {**curve([3.0, 2.0, 1.0]), "nonfinite_count": 0}
    tail = {
        "segments": [segment(0, [2, 3, 4], [1.0, 0.9, 0.8])],
        "nonfinite": [{"attempt": 0, "step": 5, "value": "NaN"}],
        "nonfinite_count": 1,
        "count": 4,
    }
    after = call("charts/live_points.js", "appended", before, tail)
    assert after["segments"][0]["step"] == [0, 1, 2, 3, 4]
    assert after["segments"][0]["value"] == [3.0, 2.0, 1.0, 0.9, 0.8]
    assert (after["nonfinite_count"], len(after["nonfinite"])) == (1, 1)
    assert call("charts/live_points.js", "appended", after, tail) == after  # the same points again
    restarted = {**tail, "segments": [segment(1, [3], [0.9])]}
    assert call("charts/live_points.js", "appended", before, restarted) is None


def test_a_reduced_curve_continues_in_buckets_of_its_width(call: Call) -> None:
    band = {"step": [0, 10], "minimum": [1.0, 1.0], "maximum": [2.0, 2.0], "mean": [1.5, 1.5]}
    reduced = {**segment(0, [0, 5, 10, 19], [1.0, 2.0, 1.0, 2.0]), "band": band}
    before = {"segments": [reduced], "nonfinite": [], "nonfinite_count": 0, "count": 20}
    tail = {**before, "segments": [segment(0, list(range(20, 40)), [float(i) for i in range(20)])]}
    after = call("charts/live_points.js", "appended", before, tail)["segments"][0]["band"]
    assert after["step"] == [0, 10, 20, 30]
    assert (after["minimum"][2], after["maximum"][2], after["mean"][2]) == (0, 9, 4.5)


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0, 1, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (550e3, 700e3, ["550k", "600k", "650k", "700k"]),
        (0, 3e-4, ["0", "1e−4", "2e−4", "3e−4"]),
    ],
)
def test_ticks_are_round_values_with_the_digits_that_they_need(
    call: Call, low: float, high: float, texts: list[str]
) -> None:
    given = [tick["text"] for tick in call("charts/ticks.js", "valueTicks", low, high, 5)]
    assert given == texts or given == ["0", *texts[1:]]


def test_an_axis_with_room_for_one_tick_has_two(call: Call) -> None:
    given = [tick["text"] for tick in call("charts/ticks.js", "valueTicks", 2.8, 5.3, 1)]
    assert given == ["3", "4", "5"]
    assert len(call("charts/ticks.js", "logTicks", 0.45, 0.72, 1)) >= 2


def test_a_time_axis_has_hours_at_every_tick_and_the_date_where_the_day_changes(call: Call) -> None:
    start = 1_700_000_000_000  # 14 Nov 2023, 23:13 in Berlin
    texts = [tick["text"] for tick in call("charts/ticks.js", "clockTicks", start, start + 20 * 3_600_000, 6)]
    assert texts == ["15 Nov", "06:00", "12:00", "18:00"]
    minutes = [tick["text"] for tick in call("charts/ticks.js", "clockTicks", start, start + 3_000_000, 4)]
    assert minutes == ["14 Nov 23:15", "23:30", "23:45", "15 Nov"]


def test_a_metric_that_grows_is_an_x_axis_by_attempts_and_one_that_falls_is_refused(modules: Page) -> None:
    back = modules.evaluate(
        """async () => {
          const { metricScale } = await import('/charts/x_axes.js');
          const part = (attempt, ghost, step, value) =>
            ({ attempt, ghost, step, value, time: [], band: null });
          const scale = metricScale({ metric: 'tokens', segments: [
            part(0, false, [0, 10], [0, 100]), part(0, true, [20], [200]),
            part(1, false, [10, 30], [110, 510])] });
          const at = (step, attempt) => scale.at(step, attempt, null);
          let reason = '';
          try { metricScale({ metric: 'loss', segments: [part(0, false, [0, 1], [2, 1])] }); }
          catch (error) { reason = error.message; }
          return [at(5, 0), at(20, 1), at(40, 1), scale.steps([50, 310]), reason];
        }"""
    )
    assert back == [50, 310, 710, {"from": 5, "to": 20}, "loss falls, so it cannot be an x axis."]


def test_a_chart_is_a_sentence_for_those_who_do_not_see_it(call: Call) -> None:
    given = picture(
        [{**curve([3.0, 2.0, 1.0]), "metric": "loss", "labels": {}, "nonfinite_count": 0}], attempts=[]
    )
    plan = {"title": "Loss", "role": "loss", "series": [{"metric": "loss", "labels": {}}]}
    assert call("charts/chart_text.js", "chartText", plan, given) == (
        "Loss by step. falling, from 3.000 at step 0 to 1.000 at step 2; "
        "minimum 1.000 at step 2, maximum 3.000 at step 0."
    )


def test_a_label_in_a_search_is_read_as_words_or_with_an_equals_sign(call: Call) -> None:
    for text in ("rank 37", "rank=37", " rank = 37 "):
        assert call("run/sections.js", "labelInSearch", text) == {"name": "rank", "value": "37", "rest": ""}
    assert call("run/sections.js", "labelInSearch", "compute rank 37")["rest"] == "compute"
    assert call("run/sections.js", "labelInSearch", "train loss") is None


def test_charts_are_moved_and_pinned_in_the_order_of_the_reader(call: Call) -> None:
    layout = {"top": [], "order": [], "heights": {}, "open": {}}
    shown = ["loss", "lr", "mfu"]
    swapped = call("run/chart_layout.js", "moved", layout, shown, "mfu", -1)
    assert call("run/chart_layout.js", "inOrder", swapped, shown) == ["loss", "mfu", "lr"]
    pinned = call("run/chart_layout.js", "toggledTop", layout, "lr")
    assert call("run/chart_layout.js", "inOrder", pinned, shown) == ["lr", "loss", "mfu"]
    assert call("run/chart_layout.js", "resized", layout, "lr", 1)["heights"] == {"lr": 1.5}


def test_an_open_spike_has_its_provisional_title(call: Call) -> None:
    spike = {"kind": "spike_fast", "state": "open", "classified_step": None}
    assert call("lib/catalogue.js", "incidentTitle", spike) == "Loss spike"
    assert call("lib/catalogue.js", "incidentTitle", {**spike, "state": "recovered"}) == "Fast loss spike"
    assert call("lib/catalogue.js", "incidentTitle", {**spike, "classified_step": 90}) == "Fast loss spike"


def test_scale_converts_values_to_pixels_and_back(modules: Page) -> None:
    back = modules.evaluate(
        "async () => { const { scale } = await import('/charts/figure.js');"
        "const s = scale([100, 300], 800); return [s.toPixel(100), s.toValue(s.toPixel(234))]; }"
    )
    assert back[0] == 58
    assert back[1] == pytest.approx(234)


@pytest.mark.parametrize(
    ("attempts", "text"), [([0], "0"), ([0, 1, 2, 5], "0–2, 5"), ([3, 5], "3, 5"), ([], "")]
)
def test_consecutive_attempts_are_shown_as_a_range(call: Call, attempts: list[int], text: str) -> None:
    assert call("run/configuration.js", "attemptRanges", attempts) == text


def test_a_setting_of_one_process_names_it_and_one_of_many_counts_them(call: Call) -> None:
    assert call("run/configuration.js", "holdersText", {"processes": 0, "labels": []}) == ""
    single = {"processes": 1, "labels": [{"rank": "3", "host": "n1"}]}
    assert call("run/configuration.js", "holdersText", single) == "rank 3, host n1"
    many = {"processes": 1024, "labels": [{"rank": "0"}]}
    assert call("run/configuration.js", "holdersText", many) == "1,024 processes, e.g. rank 0"


@pytest.mark.parametrize(("value", "text"), [(None, "not stated"), ("", "(empty)"), (False, "false")])
def test_an_empty_or_absent_setting_has_a_text(call: Call, value: object, text: str) -> None:
    assert call("run/configuration.js", "valueText", value) == text


def test_equal_diagnostics_of_several_attempts_are_merged(call: Call) -> None:
    same = {"code": "c", "labels": {}, "severity": "warning", "summary": "s", "advice": "a"}
    merged = call("run/configuration.js", "mergeAttempts", [{**same, "attempt": 0}, {**same, "attempt": 1}])
    assert [diagnostic["attempts"] for diagnostic in merged] == [[0, 1]]


def test_charts_of_telemetry_have_a_time_axis(call: Call) -> None:
    clocked = {"series": [{"metric": "gpu_util (%)", "labels": {"gpu": "0", "steps": "milliseconds"}}]}
    sized = {"series": [{"metric": "busbw_gbs", "labels": {"steps": "message bytes"}}]}
    loss = {"series": [{"metric": "loss", "labels": {}}]}
    by_step, by_time = {"axis": "step", "range": [0, 9]}, {"axis": "time", "range": [1e12, 2e12]}
    assert call("charts/panel.js", "axisOf", clocked, by_step) == {"axis": "time", "range": None}
    assert call("charts/panel.js", "axisOf", clocked, by_time) == by_time
    assert call("charts/panel.js", "axisOf", sized, by_time) == {"axis": "step", "range": None}
    assert call("charts/panel.js", "axisOf", loss, by_time) == by_time
    assert [call("charts/board.js", "rangeKind", plan) for plan in (clocked, sized, loss)] == [
        "time",
        "all",
        "step",
    ]
    assert call("charts/board.js", "timeRange", by_time) == {"from": 1e12, "to": 2e12}
    assert call("charts/board.js", "timeRange", by_step) == {}

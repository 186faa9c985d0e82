"""Pages of runs that are not judged, and of findings on components, rewards, ratios and durations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.finding_runs import FindingRuns
from tests.support.pages import Opener, Server

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FindingRuns]:
    """A server of its own: its heading and its badge count these runs alone."""
    server = Server(tmp_path_factory.mktemp("findings"))
    yield FindingRuns(server)
    server.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "health"),
    [
        ("empty", "No data received"),
        ("unjudged", "Not judged: no metric recognised"),
        ("ten-points", "Healthy"),
    ],
)
@pytest.mark.parametrize("width", [1440, 390])
def test_a_run_without_data_or_known_metrics_is_not_called_healthy(
    open_page: Opener, findings: FindingRuns, run: str, health: str, width: int
) -> None:
    page = open_page(f"{findings.server.address}/runs/{findings.ids[run]}", width=width)
    expect(page.locator(".run-headline .severity")).to_have_text(health)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_a_run_without_data_has_examples_with_its_name_and_no_empty_tiles(
    open_page: Opener, findings: FindingRuns
) -> None:
    page = open_page(f"{findings.server.address}/runs/{findings.ids['empty']}")
    expect(page.locator(".empty")).to_contain_text('holter.init(project="llm", run="empty")')
    expect(page.locator(".empty")).to_contain_text('{"project":"llm","run":"empty"')
    expect(page.locator(".tile").first).to_be_hidden()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 390])
def test_the_overview_names_what_is_not_judged_next_to_problems(
    open_page: Opener, findings: FindingRuns, width: int
) -> None:
    for run, text in (("unjudged", "Not judged: no metric recognised"), ("empty", "No data received")):
        page = open_page(f"{findings.server.address}/?q={run}", width=width)
        problem = page.locator("[data-run]", has_text=run).locator(".cell-problem .cell-text")
        expect(problem).to_have_text(text)
        assert problem.evaluate("part => part.scrollWidth <= part.clientWidth")
        heading = page.locator(".status-heading .severity")
        expect(heading).to_contain_text("health not known")
        assert page.locator(".status-heading .icon-ok").count() == 0


@pytest.mark.slow
def test_a_long_title_leaves_the_step_and_the_number_of_others(
    open_page: Opener, findings: FindingRuns
) -> None:
    findings.server.wait_for_incident(findings.ids["long"], "spike_unrecovered")
    findings.server.wait_for_incident(findings.ids["long"], "divergence")
    names = ("name", "problem", "history", "trend", "loss", "speed", "step", "mean(loss)", "last(kl)")
    columns = "&".join(f"columns={name}" for name in names)
    page = open_page(f"{findings.server.address}/?q=long&{columns}")
    row = page.locator("[data-run]", has_text="long")
    more = row.locator(".problem-more")
    expect(more).to_have_text("at 801,000 +1")
    page.set_viewport_size({"width": 1000, "height": 900})
    expect(more).to_be_visible()
    cell, part = row.locator(".cell-problem").bounding_box(), more.bounding_box()
    assert cell is not None
    assert part is not None
    assert part["x"] + part["width"] <= cell["x"] + cell["width"] + 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "tile"),
    [
        ("exchange", "Loss: train_loss"),
        ("detector", "Loss"),
        ("gan", None),
        ("terms", "Reward"),
        ("rewards", "Reward"),
    ],
)
def test_the_tile_of_the_loss_has_the_total_or_names_what_it_has(
    open_page: Opener, findings: FindingRuns, run: str, tile: str | None
) -> None:
    page = open_page(f"{findings.server.address}/runs/{findings.ids[run]}")
    expect(page.locator(".tile dt").first).to_have_text("State")
    names = page.locator(".tile dt").all_inner_texts()
    assert [name for name in names if name.startswith(("Loss", "Reward"))] == ([tile] if tile else [])


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 390])
def test_the_overview_has_the_reward_of_a_policy_in_full(
    open_page: Opener, findings: FindingRuns, width: int
) -> None:
    page = open_page(f"{findings.server.address}/?q=rewards", width=width)
    cell = page.locator("[data-run]", has_text="rewards").locator(".cell-loss")
    expect(cell).to_contain_text("reward")
    assert cell.evaluate("part => part.scrollWidth <= part.clientWidth")
    if width == 1440:
        expect(page.locator("[data-run] .trend")).to_have_attribute(
            "aria-label", re.compile(r"^Reward from 8")
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "kind", "fact", "rows"),
    [
        ("epochs", "throughput_regression", "59.2 → 79.5 s", {"Baseline": "59.23 s"}),
        ("evaluations", "throughput_regression", "12.1 → 63.0 s", {"Worst level": "63.03 s"}),
        ("dip", "sudden_drop", "2.25 → 1.68", {"New level at step": "3,032", "Duration": "24 steps"}),
        ("policy", "metric_collapse", "0.990", {"Level after": "0.9898"}),
        ("digits", "spike_unrecovered", "0.123457 → 0.123461", {"Peak": "0.123461"}),
        ("terms", "nonfinite", "policy_loss", {"Level before": "0.5386"}),
    ],
)
def test_facts_and_evidence_of_a_finding_have_units_and_digits(
    open_page: Opener, findings: FindingRuns, run: str, kind: str, fact: str, rows: dict[str, str]
) -> None:
    incident = findings.server.wait_for_incident(findings.ids[run], kind)
    page = open_page(f"{findings.server.address}/incidents/{incident}")
    expect(page.locator(".key-facts dd.number, .key-facts dd").filter(has_text=fact).first).to_be_visible()
    evidence = page.locator("table.evidence")
    for name, text in rows.items():
        row = evidence.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name, exact=True))
        expect(row.locator("td")).to_have_text(text)
    expect(evidence.get_by_role("rowheader", name="Steps affected")).to_have_count(0)


MARKS = """async (trace) => {
  const { drawFigure } = await import('/charts/drawing.js');
  const { svgSurface } = await import('/charts/surface.js');
  const axis = { range: [0, 10], tickfont: { color: '#000000', size: 11 } };
  const surface = svgSurface(400, 200, 'sans-serif', '#ffffff');
  drawFigure(surface, { data: [trace], layout: { xaxis: axis, yaxis: axis } }, { width: 400, height: 200 });
  return surface.file();
}"""


def test_a_mark_at_the_edge_of_a_chart_is_complete_and_one_outside_is_left_out(modules: Page) -> None:
    marker = {"size": 8, "color": "#ff0000"}
    trace = {"mode": "markers", "x": [5, 10, 5, 12, 5], "y": [10, 5, 0, 5, 11], "marker": marker}
    file = modules.evaluate(MARKS, trace)
    assert file.count("<circle") == 3
    assert "<circle" not in file[: file.rindex("</g>")]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([2.31, 4.02], ["2.31", "4.02"]),
        ([0.9996, 1.47], ["1.00", "1.47"]),
        ([0.123457, 0.123461], ["0.123457", "0.123461"]),
        ([1.684e-8, 1.691e-8], ["1.684e−8", "1.691e−8"]),
        ([2.0, 2.0], ["2.00", "2.00"]),
        ([1204.1, 1204.3], ["1,204.1", "1,204.3"]),
        ([float("nan"), 1.0], ["NaN", "1.00"]),
    ],
)
def test_numbers_that_are_compared_have_the_digits_in_which_they_differ(
    call: Call, values: list[float], texts: list[str]
) -> None:
    assert call("lib/format.js", "numbersApart", json.loads(json.dumps(values))) == texts


@pytest.mark.parametrize(
    ("metric", "name"),
    [("loss", "Loss"), ("train/loss", "Loss"), ("train_loss", "Loss: train_loss"), ("mse", "Loss: mse")],
)
def test_the_tile_names_a_loss_that_is_not_plainly_the_loss(call: Call, metric: str, name: str) -> None:
    assert call("run/summary_tiles.js", "lossName", metric) == name


def test_a_closed_incident_without_an_end_has_the_time_at_which_it_was_closed(call: Call) -> None:
    incident = {
        **{"kind": "metric_collapse", "metric": "reward", "labels": {}, "attempt": 1, "run_id": "a"},
        **{"start_step": 700, "end_step": None, "peak_step": None, "evidence": {}, "severity": "info"},
        **{"state": "closed", "closed_at": 1_700_000_000, "recovered_at": None, "events": []},
    }
    time = call("lib/format.js", "clock", 1_700_000_000)
    person = {"severity": "warning", "events": [{"type": "closed", "by": "Ada"}]}
    recovered = {"state": "recovered", "recovered_at": 1_700_000_000, "severity": "warning"}
    changes: list[dict[str, Any]] = [{}, person, recovered, {"state": "open"}]
    assert [call("incidents/details.js", "keyFacts", incident | more)[-1] for more in changes] == [
        ["Closed", time, "for information only"],
        ["Closed", time, "by Ada"],
        ["Recovered", time, ""],
        ["Duration", "ongoing", "Open"],
    ]


def test_the_chart_of_an_incident_on_a_metric_without_a_role_has_the_unit_of_its_kind(call: Call) -> None:
    incident = {"kind": "throughput_regression", "metric": "eval_runtime", "labels": {}, "causes": []}
    (plan,) = call("incidents/charts.js", "incidentCharts", incident, {"charts": []})
    assert (plan["role"], plan["title"]) == ("throughput", "eval_runtime")

"""Workflows on the pages with a real server: overview, zoom, search, live updates, inbox, deletion."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.support.pages import Opener, Runs, Server, healthy, until, wave


def panel(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=f"Chart of {title}", exact=True)


def row(page: Page, name: str) -> Locator:
    return page.locator("[data-run]", has_text=name)


def test_the_overview_shows_which_runs_need_attention(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(server.address)
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("needs? attention"))
    expect(page.get_by_role("heading", level=2, name="Needs attention")).to_be_visible()
    troubled = row(page, "broken")
    expect(troubled).to_have_class(re.compile("section-attention"))
    expect(troubled.get_by_role("link", name="NaN or infinity")).to_be_visible()
    expect(troubled.locator(".strip-picture")).to_have_accessible_name(re.compile("1 attempt, .*open"))
    expect(row(page, "steady")).to_have_class(re.compile("section-running"))
    expect(row(page, "rolled-back").locator(".strip-lost")).to_have_count(1)


def test_the_filter_is_completed_applied_and_in_the_address(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(server.address)
    expect(row(page, "rolled-back")).to_be_visible()
    field = page.get_by_role("combobox", name="Filter runs")
    page.keyboard.press("/")
    page.keyboard.type("rolled")
    expect(page.locator("[data-run]")).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_have_text("1 running")  # of what the filter finds
    assert page.url.endswith("/?q=rolled")
    page.reload()
    expect(page.locator("[data-run]")).to_have_count(1)
    expect(field).to_have_value("rolled")
    field.fill("")
    field.type("project:ll")
    expect(page.get_by_role("option", name="llm")).to_be_visible()
    field.press("ArrowDown")
    field.press("Enter")
    expect(field).to_have_value("project:llm ")
    field.fill("state:runing")
    expect(page.locator(".filter-message")).to_contain_text(
        "At character 7: state is never runing: did you mean running?"
    )
    field.fill("nothing-has-this-name")
    expect(page.get_by_role("heading", level=1, name="No matching runs")).to_be_visible()
    page.get_by_role("button", name="Show all runs").click()
    expect(row(page, "steady")).to_be_visible()
    page.get_by_role("button", name="Needs attention", exact=True).click()
    expect(row(page, "steady")).to_have_count(0)
    expect(page).to_have_url(re.compile("q=is%3Aattention"))
    open_page.allow("422")


def test_the_keyboard_selects_and_opens_a_run_and_back_returns(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(server.address)
    expect(row(page, "broken")).to_be_visible()
    page.keyboard.press("j")
    first = page.locator(".row-active .run-link").inner_text()
    page.keyboard.press("j")
    expect(page.locator(".row-active .run-link")).not_to_have_text(first)
    page.keyboard.press("k")
    expect(page.locator(".row-active .run-link")).to_have_text(first)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name=first)).to_be_visible()
    page.go_back()
    expect(row(page, first)).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(page).to_have_url(f"{server.address}/incidents")


def test_a_run_shows_loss_throughput_gradient_norm_and_learning_rate_first(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/runs/{runs.steady}")
    expect(panel(page, "Loss").locator(".plot[data-drawn]").first).to_be_visible()
    titles = page.locator(".panel h3").all_inner_texts()
    assert titles[:4] == ["Loss", "Throughput", "Gradient norm", "Learning rate"]
    expect(page.locator(".tiles")).to_contain_text("52.")
    expect(page.locator(".tiles")).to_contain_text("tokens/s")
    expect(page.get_by_role("complementary", name="Incidents of this run")).to_be_hidden()


def test_a_rollback_is_drawn_as_two_attempts_with_a_dashed_branch_and_a_tick(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/runs/{runs.rolled_back}?from=600&to=1000")
    loss = panel(page, "Loss")
    expect(loss.locator(".plot[data-drawn]").first).to_be_visible()
    drawn = loss.locator(".plot").evaluate(
        "node => node.figure.data.map((trace) => [trace.name, trace.line?.dash, trace.x])"
    )
    by_name = {name: (dash, x) for name, dash, x in drawn}
    assert by_name["loss {} superseded"][0] not in (None, "solid")
    steps = by_name["loss {}"][1]
    assert (
        steps[steps.index(None) - 1] == 699
    )  # attempt 0 ends where attempt 1 begins, and nothing joins them
    assert steps[steps.index(None) + 1] == 700
    assert by_name["attempts"][0] is None  # the number of the attempt, at its tick
    expect(page.locator(".strip-labels")).to_contain_text("1")
    expect(page.locator(".tiles")).to_contain_text("200 steps")


def box_of_chart(page: Page, title: str) -> FloatRect:
    """Where a chart is, once it follows the mouse and nothing above it moves it any more."""
    plot = panel(page, title).locator(".plot-area").first
    expect(plot).to_be_visible()
    for attempt in range(100):
        box = plot.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2 + attempt % 2, box["y"] + 20)
        page.wait_for_timeout(100)
        if panel(page, title).locator(".crosshair").is_visible() and plot.bounding_box() == box:
            return box
    raise AssertionError(f"the chart {title} does not follow the mouse")


def drag(page: Page, title: str, from_share: float, to_share: float) -> None:
    """Drag over a chart between two shares of its width."""
    box = box_of_chart(page, title)
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + from_share * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + to_share * box["width"], y, steps=6)
    page.mouse.up()


def test_a_zoom_fetches_full_resolution_for_every_chart_and_a_double_click_resets_it(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/runs/{runs.steady}")
    expect(panel(page, "Loss").locator(".plot-area").first).to_be_visible()
    with page.expect_response(lambda answer: "/data?" in answer.url and "from=" in answer.url) as fetched:
        drag(page, "Loss", 0.4, 0.5)
    series = msgspec.msgpack.decode(fetched.value.body())["series"]
    loss = next(curve for curve in series if curve["metric"] == "loss")
    assert not loss["reduced"]
    assert 130 < loss["count"] < 180
    assert {"tokens_per_second", "grad_norm", "lr"} <= {curve["metric"] for curve in series}
    expect(page).to_have_url(re.compile(r"from=\d+&to=\d+"))
    expect(page.get_by_role("button", name="Reset zoom")).to_be_visible()
    page.wait_for_timeout(400)  # longer than the library waits for the second click of a pair
    panel(page, "Throughput").locator(".plot-area").first.dblclick()
    expect(page.get_by_role("button", name="Reset zoom")).to_have_count(0)
    assert "from=" not in page.url
    page.go_back()
    expect(page.get_by_role("button", name="Reset zoom")).to_be_visible()


def test_the_crosshair_is_shared_and_its_values_have_a_fixed_position(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/runs/{runs.steady}")
    box = box_of_chart(page, "Loss")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    for title in ("Loss", "Throughput"):
        expect(panel(page, title).locator(".crosshair")).to_be_visible()
        expect(panel(page, title).locator(".readout")).to_contain_text(re.compile(r"step 7[45]\d"))
    page.mouse.move(5, 5)
    expect(panel(page, "Loss").locator(".crosshair")).to_be_hidden()


def test_a_chart_of_any_metric_can_be_added_and_removed_and_is_in_the_address(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    extra = healthy(0, 200)
    names = {f"layer_{i}/rms": [float(i)] * 200 for i in range(30)}
    run_id = server.post(
        "many-metrics", {"step": extra["step"], "time": extra["time"], "loss": extra["loss"], **names}
    )
    page = open_page(f"{server.address}/runs/{run_id}")
    expect(panel(page, "Loss")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("layer_17")
    page.keyboard.press("Enter")
    expect(panel(page, "layer_17/rms").locator(".readout")).to_contain_text("17")
    page.reload()
    expect(panel(page, "layer_17/rms")).to_be_visible()
    page.get_by_role("button", name="Remove layer_17/rms").click()
    expect(panel(page, "layer_17/rms")).to_have_count(0)
    page.get_by_text("All 31 series").click()
    expect(page.locator(".series-table tbody tr")).to_have_count(31)


def log_button(page: Page, title: str) -> Locator:
    return panel(page, title).get_by_role("button", name="log")


def test_an_address_opens_with_the_same_view_options_elsewhere(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/runs/{runs.steady}?smooth=0.9&from=100&to=900")
    expect(panel(page, "Loss")).to_contain_text("smoothed 0.90")
    log_button(page, "Loss").click()
    panel(page, "Throughput").get_by_role("button", name="Wide").click()
    expect(page).to_have_url(re.compile("log=loss.*wide=tokens_per_second"))
    theirs = open_page(page.url)
    expect(log_button(theirs, "Loss")).to_have_attribute("aria-pressed", "true")
    expect(log_button(theirs, "Throughput")).to_have_attribute("aria-pressed", "false")
    expect(panel(theirs, "Throughput")).to_have_class(re.compile("panel-wide"))
    expect(panel(theirs, "Loss")).to_contain_text("smoothed 0.90")
    expect(panel(theirs, "Loss").locator(".plot[data-drawn]").first).to_be_visible()
    assert panel(theirs, "Loss").locator(".plot").evaluate("node => node.figure.layout.yaxis.type") == "log"


def test_an_address_without_view_options_uses_the_preferences_of_the_browser(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/runs/{runs.steady}")
    log_button(page, "Gradient norm").click()
    page.goto(f"{server.address}/runs/{runs.rolled_back}")
    expect(log_button(page, "Gradient norm")).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("log=grad_norm"))


def test_the_rank_of_an_incident_is_highlighted(open_page: Opener, server: Server) -> None:
    now = time.time()
    steps = list(range(600))
    for rank in range(64):
        seconds = [
            0.4 * (1.7 if rank == 37 and step >= 300 else 1) + 0.01 * wave(step + rank) for step in steps
        ]
        columns = {"step": steps, "time": [now - 600 + step for step in steps], "step_time": seconds}
        run_id = server.post("ranks", columns, writer=f"rank{rank}", labels={"rank": rank})
    server.wait_for_incident(run_id, "straggler")
    page = open_page(f"{server.address}/runs/{run_id}")
    legend = panel(page, "Step time").locator(".legend")
    expect(legend).to_contain_text("rank 37")
    expect(legend).to_contain_text("median and band of 63 others")


def test_non_finite_values_are_marked_and_listed(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(f"{server.address}/runs/{runs.broken}")
    expect(panel(page, "Loss").locator(".panel-note")).to_contain_text(
        "40 non-finite values: NaN at 1,460 to 1,499"
    )
    expect(panel(page, "Gradient norm").locator(".panel-note")).to_contain_text("∞ at 1,460")
    expect(panel(page, "Loss").locator(".incident-label")).to_have_accessible_name(
        re.compile("NaN or infinity at step 1,460")
    )


def test_selecting_an_incident_shows_its_evidence_and_zooms_to_it(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/runs/{runs.broken}")
    side = page.get_by_role("complementary", name="Incidents of this run")
    side.locator(".incident-summary").first.click()
    expect(side.get_by_role("rowheader", name="Onset at step")).to_be_visible()
    expect(page).to_have_url(re.compile(rf"incident={runs.incident}.*from=\d+"))
    side.locator(".incident-summary").first.click()
    expect(side.get_by_role("rowheader", name="Onset at step")).to_have_count(0)


def test_new_points_and_their_incident_reach_an_open_page_by_themselves(
    open_page: Opener, server: Server
) -> None:
    now = time.time()
    run_id = server.post("live", healthy(0, 600, ends=now - 60), writer="live")
    page = open_page(f"{server.address}/runs/{run_id}")
    expect(page.locator(".tiles")).to_contain_text("599")
    page.wait_for_timeout(1000)
    more = healthy(600, 640, ends=now)
    more["loss"][-20:] = ["NaN"] * 20
    server.post("live", more, writer="live")
    expect(page.locator(".tiles")).to_contain_text("639")
    expect(page.get_by_role("complementary", name="Incidents of this run")).to_contain_text("NaN")
    expect(page.locator("#toasts")).to_contain_text("live")


def test_the_inbox_acknowledges_with_the_keyboard_and_can_undo_it(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/incidents?q=broken")
    row = page.locator(f'[data-incident="{runs.incident}"]')
    expect(row).to_be_visible()
    page.keyboard.press("j")
    while page.locator(".row-selected").get_attribute("data-incident") != str(runs.incident):
        page.keyboard.press("j")
    page.keyboard.press("a")
    expect(row).to_have_count(0)
    undo = page.locator(".toast", has_text="Acknowledged").get_by_role("button", name="Undo")
    expect(undo).to_be_visible()  # shown once the server has stored it; the row disappears before
    assert server.ask(f"/incidents/{runs.incident}")["acknowledged_at"] is not None
    undo.click()
    expect(row).to_be_visible()
    until(lambda: server.ask(f"/incidents/{runs.incident}")["acknowledged_at"] is None)


def test_an_incident_page_shows_summary_charts_evidence_advice_and_accepts_a_comment(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/incidents/{runs.incident}")
    incident = server.ask(f"/incidents/{runs.incident}")
    expect(page.get_by_role("heading", level=1)).to_have_text(incident["summary"])
    expect(panel(page, "Loss").locator(".plot[data-drawn]").first).to_be_visible()
    expect(page.locator(".evidence")).to_contain_text("1,460")
    expect(page.locator(".advice")).to_contain_text(incident["advice"])
    page.keyboard.press("c")
    page.keyboard.type("<b>skipped the batch</b>")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Comment").click()
    event = page.locator(".event-comment").last
    expect(event).to_contain_text("<b>skipped the batch</b>")  # data stays text
    expect(event).to_contain_text("Ada")
    page.get_by_role("link", name="Show in run").click()
    expect(page.get_by_role("heading", level=1, name="broken")).to_be_visible()


def test_dragging_over_the_health_strip_zooms(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(f"{server.address}/runs/{runs.rolled_back}")
    box = page.locator(".strip-large .strip-pane").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 20, steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"from=\d+&to=\d+"))
    expect(page.locator(".strip-window")).to_be_visible()


def test_the_x_axis_can_be_time(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(f"{server.address}/runs/{runs.rolled_back}?axis=time", timezone_id="Asia/Kolkata")
    plot = panel(page, "Loss").locator(".plot")
    expect(plot).to_have_attribute("data-drawn", re.compile(r"\d"))
    assert plot.evaluate("node => node.figure.layout.xaxis.type") == "date"
    drag(page, "Loss", 0.2, 0.4)
    expect(page).to_have_url(re.compile(r"from=1\d{9}&to=1\d{9}"))  # Unix seconds
    named = re.search(r"from=(\d+)&to=(\d+)", page.url)
    assert named is not None

    def is_drawn() -> bool:
        first, last, drawn = plot.evaluate(
            """node => {
              const [first, last] = node.figure.layout.xaxis.range;
              const all = node.figure.data.flatMap((trace) => trace.x ?? []);
              return [first / 1000, last / 1000, all.filter((x) => x >= first && x <= last).length];
            }"""
        )
        is_named: bool = (first, last) == pytest.approx((int(named[1]), int(named[2])), abs=1)
        return is_named and drawn > 50

    until(is_drawn)


def test_deleting_a_run_needs_a_confirmation(open_page: Opener, server: Server) -> None:
    run_id = server.post("not-wanted", {"step": [1, 2], "loss": [2.0, 1.9]})
    page = open_page(f"{server.address}/runs/{run_id}")
    page.get_by_text("Report, export or delete").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert Path(download.value.path()).read_text().count("\n") == 3
    page.get_by_role("button", name="Delete run…").click()
    expect(page.get_by_text("its 2 points")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Delete run…").click()
    page.get_by_role("button", name="Delete permanently").click()
    expect(page).to_have_url(f"{server.address}/")
    expect(page.locator("#toasts").get_by_text("Deleted: not-wanted")).to_be_visible()
    expect(page.get_by_role("link", name="not-wanted")).to_have_count(0)


def test_unreadable_log_locations_are_listed(open_page: Opener, server: Server, runs: Runs) -> None:
    """A broken line that a log reader has reported is listed on the run page."""
    run_id = server.post("with-a-broken-line", {"step": [1, 2], "loss": [2.0, 1.9]})
    broken = ("runs/a.csv", "line 7", "expected 3 cells, found 2", time.time())
    with contextlib.closing(sqlite3.connect(server.folder / "holter.db", timeout=30)) as database, database:
        database.execute(
            "insert into unreadable (run_id, source, place, reason, seen_at)"
            " select id, ?, ?, ?, ? from run where public_id = ?",
            (*broken, run_id),
        )
    page = open_page(f"{server.address}/runs/{run_id}")
    summary = page.get_by_text("1 log location could not be read")
    expect(summary).to_be_visible()
    summary.click()
    expect(page.get_by_text("runs/a.csv, line 7: expected 3 cells, found 2")).to_be_visible()


def test_an_incident_without_a_run_has_times_and_no_charts(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    silent = server.ask(f"/incidents/{runs.incident}") | {
        "id": 4711, "run_id": None, "run": None, "project": None, "kind": "agent_silent",
        "metric": "agent/reports", "labels": {"host": "n17", "steps": "milliseconds"},
        "start_step": 1_700_000_000_000, "peak_step": None, "end_step": None, "classified_step": None,
        "detected_step": 1_700_000_180_000, "start_time": None, "state": "open", "severity": "warning",
        "summary": "Agent on n17 is silent.", "evidence": {"agents": ["n17:1"]},
    }  # fmt: skip
    page = open_page(server.address, timezone_id="Europe/Berlin")
    page.route("**/api/v1/incidents/4711", lambda route: route.fulfill(json=silent))
    explanation = server.ask(f"/incidents/{runs.incident}/context")
    alone = explanation | {
        "event": explanation["event"] | {"rollback_step": None},
        "changes": [],
        "similar": [],
    }
    page.route("**/api/v1/incidents/4711/context", lambda route: route.fulfill(json=alone))
    page.goto(f"{server.address}/incidents/4711")
    expect(page.get_by_role("heading", level=1)).to_have_text("Agent on n17 is silent.")
    expect(page.locator(".incident-head")).to_contain_text("Onset 14 Nov, 23:13:20")
    expect(page.locator(".evidence")).to_have_text(
        re.compile("Onset at14 Nov, 23:13:20Detected at14 Nov, 23:16:20Agentsn17:1Confidence")
    )
    expect(page.locator(".panel")).to_have_count(0)
    expect(page.get_by_role("button", name="Mark as planned")).to_have_count(0)
    expect(page.get_by_role("link", name="Show in run")).to_have_count(0)

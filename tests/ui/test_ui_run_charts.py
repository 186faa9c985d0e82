"""The charts of the run page in a browser: names of lines, pins, search, axes, sections, ranks, files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.pages import Opener, Runs, Server, healthy, wave


@pytest.fixture(scope="module")
def ranks(server: Server) -> str:
    """A run with 24 ranks on three hosts, of which rank 17 is slow, and some metrics in folders."""
    columns = healthy(0, 300)
    columns["tokens_seen"] = [1000 * (step + 1) for step in columns["step"]]
    for i in range(12):
        columns[f"layers/{i}/rms"] = [float(i)] * 300
    run_id = server.post("with-ranks", columns)
    for rank in range(24):
        slow = 0.4 if rank == 17 else 0.0
        times = [1.0 + slow + 0.01 * wave(step + rank) for step in range(300)]
        labels = {"rank": rank, "host": f"n{rank // 8}"}
        server.post("with-ranks", {"step": list(range(300)), "compute_time_s": times}, labels=labels)
    return run_id


def panel(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=f"Chart of {title}", exact=True)


def drawn(page: Page, title: str) -> Locator:
    plot = panel(page, title).locator(".plot")
    expect(plot).to_have_attribute("data-drawn", re.compile(r"\d"))
    return plot


def test_the_unusual_one_of_many_ranks_has_a_name_and_a_click_pins_it_in_all_charts(
    open_page: Opener, server: Server, ranks: str
) -> None:
    page = open_page(f"{server.address}/runs/{ranks}")
    drawn(page, "Compute time")
    legend = panel(page, "Compute time").locator(".legend")
    expect(legend).to_contain_text("rank 17")
    expect(legend).to_contain_text("median and band of 23 others")
    legend.get_by_role("button", name=re.compile("rank 17")).click()
    expect(page).to_have_url(re.compile("pin=host%3Dn2%2Crank%3D17"))
    expect(legend.get_by_role("button", name=re.compile("rank 17"))).to_have_attribute("aria-pressed", "true")


def test_the_line_nearest_to_the_pointer_is_named(open_page: Opener, server: Server, ranks: str) -> None:
    page = open_page(f"{server.address}/runs/{ranks}")
    drawn(page, "Compute time")
    area = panel(page, "Compute time").locator(".plot-area")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.9)
    expect(panel(page, "Compute time").locator(".legend-focus")).to_contain_text(re.compile(r"rank \d+"))


def test_charts_are_found_by_a_name_or_by_a_label(open_page: Opener, server: Server, ranks: str) -> None:
    page = open_page(f"{server.address}/runs/{ranks}")
    drawn(page, "Loss")
    find = page.get_by_role("searchbox", name=re.compile("Find charts"))
    find.fill("rms 7")
    expect(panel(page, "layers/7/rms")).to_be_visible()
    expect(panel(page, "Loss")).to_have_count(0)
    find.fill("rank 5")
    expect(page.get_by_text("1 chart for “rank 5”")).to_be_visible()
    expect(panel(page, "compute_time_s").locator(".legend")).to_contain_text("rank 5")
    find.fill("")
    expect(panel(page, "Loss")).to_be_visible()


def test_every_metric_has_a_chart_in_a_section(open_page: Opener, server: Server, ranks: str) -> None:
    page = open_page(f"{server.address}/runs/{ranks}")
    section = page.get_by_role("region", name="layers", exact=True)
    section.get_by_role("button", name="layers 12").click()
    expect(section.locator(".panel")).to_have_count(12)
    first = section.locator(".panel h3").first
    expect(first).to_have_text("layers/0/rms")
    page.reload()
    expect(section.locator(".panel")).to_have_count(12)  # the browser remembers open sections


def test_the_x_axis_is_a_metric_or_relative_time(open_page: Opener, server: Server, ranks: str) -> None:
    page = open_page(f"{server.address}/runs/{ranks}")
    plot = drawn(page, "Loss")
    page.get_by_label("X axis").select_option("metric:tokens_seen")
    page.wait_for_function("() => document.querySelector('.plot').figure?.layout.meta.xKind === 'value'")
    low, high = plot.evaluate("node => node.figure.layout.xaxis.range")
    assert low < 1000 < 300_000 <= high
    page.get_by_label("X axis").select_option("relative")
    page.wait_for_function("() => document.querySelector('.plot').figure?.layout.meta.xKind === 'duration'")
    assert plot.evaluate("node => node.figure.layout.xaxis.range[1]") == pytest.approx(299, rel=0.05)
    theirs = open_page(page.url)
    drawn(theirs, "Loss")
    theirs.wait_for_function("() => document.querySelector('.plot').figure?.layout.meta.xKind === 'duration'")


def test_the_points_at_hand_are_drawn_on_a_new_axis_until_others_arrive(
    open_page: Opener, server: Server, ranks: str
) -> None:
    page = open_page(f"{server.address}/runs/{ranks}")
    plot = drawn(page, "Loss")
    page.get_by_label("X axis").select_option("metric:tokens_seen")
    page.wait_for_function("() => document.querySelector('.plot').figure?.layout.meta.xKind === 'value'")
    page.route(re.compile(rf"/runs/{ranks}/data"), lambda _: None)  # never answered
    page.get_by_label("X axis").select_option("relative")
    page.wait_for_function("() => document.querySelector('.plot').figure?.layout.meta.xKind === 'duration'")
    assert plot.evaluate("node => node.figure.layout.xaxis.range[1]") == pytest.approx(299, rel=0.05)
    assert plot.evaluate("node => Math.max(...node.figure.data[0].x)") == pytest.approx(299, rel=0.05)


def test_the_crosshair_moves_with_the_keyboard_and_is_announced(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/runs/{runs.steady}")
    plot = drawn(page, "Loss")
    expect(plot).to_have_accessible_name(re.compile(r"^Loss by step\. falling, from .* minimum .* maximum"))
    plot.focus()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowRight")
    expect(panel(page, "Throughput").locator(".crosshair")).to_be_visible()
    expect(panel(page, "Loss").locator(".readout")).to_contain_text(re.compile(r"step 1[34]\d"))
    expect(page.locator("#announcer")).to_contain_text("step")
    page.keyboard.press("Escape")
    expect(panel(page, "Loss").locator(".crosshair")).to_be_hidden()


def test_the_warm_up_is_hidden_says_so_and_is_shown_by_a_click(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/runs/{runs.steady}")
    plot = drawn(page, "Loss")
    assert plot.evaluate("node => node.figure.layout.yaxis.range[1]") < 5
    panel(page, "Loss").get_by_role("button", name="warm-up hidden").click()
    expect(page).to_have_url(re.compile("whole=loss"))
    assert plot.evaluate("node => node.figure.layout.yaxis.range[1]") > 7


def test_charts_are_saved_as_files_and_pinned_to_the_top(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/runs/{runs.steady}")
    drawn(page, "Throughput")
    menu = panel(page, "Throughput").get_by_role("button", name="Menu of Throughput")
    contents = {}
    for item in ("Save as SVG", "Save points as CSV", "Save as PNG"):
        menu.click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=item).click()
        contents[item] = Path(download.value.path()).read_bytes()
    assert contents["Save as SVG"].startswith(b"<svg")
    assert contents["Save as SVG"].count(b"<path") > 3
    assert contents["Save points as CSV"].count(b"\n") == 1501
    assert contents["Save as PNG"].startswith(b"\x89PNG")
    menu.click()
    page.get_by_role("menuitem", name="Pin to the top").click()
    expect(page.locator(".panel h3").first).to_have_text("Throughput")
    page.reload()
    expect(page.locator(".panel h3").first).to_have_text("Throughput")


def test_ranks_are_a_heat_map_with_the_slowest_first_and_hosts_together(
    open_page: Opener, server: Server, ranks: str
) -> None:
    page = open_page(f"{server.address}/runs/{ranks}")
    page.get_by_text("Ranks: heat map").click()
    slowest = page.locator(".slowest-rows li").first
    expect(slowest).to_contain_text("rank 17, host n2")
    heat = page.locator("canvas.heat-map")
    expect(heat).to_have_accessible_name(re.compile("Heat map of compute_time_s, 24 rows.*rank 17"))
    page.get_by_label("Rows", exact=True).select_option("host")
    expect(heat).to_have_accessible_name(re.compile("3 rows"))
    expect(slowest).to_contain_text("host n2 (mean of 8)")
    slowest.get_by_role("button").click()
    expect(page).to_have_url(re.compile("pin=host%3Dn2"))

"""Runs that are hard to show, in a browser: what a reader looks for is on the page and is true."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.awkward_runs import DATASETS, RANKS, SLOW_RANK, AwkwardRuns
from tests.support.pages import Opener, Server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The runs on a server of their own: no other run is on the overview."""
    server = Server(tmp_path_factory.mktemp("awkward"))
    yield AwkwardRuns(server)
    server.close()


def panel(page: Page, title: str) -> Locator:
    """A chart that is drawn."""
    found = page.get_by_role("region", name=f"Chart of {title}", exact=True)
    expect(found.locator(".plot")).to_have_attribute("data-drawn", re.compile(r"\d"))
    return found


def loss_tile(page: Page) -> str:
    """The text of the figure of the loss."""
    tile = page.locator(".tile", has_text="Loss")
    expect(tile).to_contain_text("per 1,000 steps")
    return tile.inner_text()


def test_the_slow_rank_of_64_is_named_and_not_part_of_the_band_of_the_others(
    open_page: Opener, awkward: AwkwardRuns
) -> None:
    page = open_page(f"{awkward.server.address}/runs/{awkward.ranks}")
    chart = panel(page, "Compute time")
    expect(chart.locator(".legend")).to_contain_text(f"rank {SLOW_RANK}")
    expect(chart.locator(".legend")).to_contain_text(f"median and band of {RANKS - 1} others")
    band = chart.locator(".plot").evaluate(
        "node => node.figure.data.find((trace) => trace.name === 'extremes').y"
    )
    assert max(value for value in band if value is not None) < 1.1
    incidents = awkward.server.ask(f"/runs/{awkward.ranks}/incidents")["incidents"]
    assert [incident["kind"] for incident in incidents] == ["straggler"]
    expect(page.locator(".incident-item")).to_contain_text(f"Rank {SLOW_RANK} on n4 takes 40% longer")


def test_losses_of_datasets_have_a_chart_first_and_layers_do_not(
    open_page: Opener, awkward: AwkwardRuns
) -> None:
    page = open_page(f"{awkward.server.address}/runs/{awkward.datasets}")
    chart = panel(page, "Loss by dataset")
    titles = page.locator(".panel h3").all_inner_texts()
    assert titles[:4] == ["Loss", "Throughput", "Gradient norm", "Learning rate"]
    assert not any("layers/" in title for title in titles)
    expect(page.get_by_role("button", name=f"Gradient norm {DATASETS}")).to_be_visible()
    area = chart.locator(".plot-area")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    expect(chart.locator(".legend-focus")).to_contain_text(re.compile(r"dataset-\d+"))


def test_a_spike_before_a_nan_has_the_same_safe_step_everywhere_and_is_no_longer_watched(
    open_page: Opener, awkward: AwkwardRuns
) -> None:
    address = awkward.server.address
    event = awkward.server.ask(f"/incidents/{awkward.nan}/context")["event"]
    safe = f"{event['rollback_step']:,}"
    assert event["rollback_step"] < 900
    for number in (awkward.nan, awkward.spike):
        page = open_page(f"{address}/incidents/{number}")
        advice = page.locator(".advice")
        expect(advice).to_contain_text(f"Last safe step {safe}")
        expect(advice).to_contain_text(
            f"Stop the run and go back to a checkpoint from step {safe} or earlier."
        )
        expect(advice).not_to_contain_text("Watch the loss")
    report = open_page(f"{address}/api/v1/runs/{awkward.broken}/report")
    expect(report.locator("article").first).to_contain_text(f"Last safe step {safe}")
    expect(report.locator("article").first).to_contain_text("Stop the run")


def test_the_figures_of_a_run_that_is_nan_are_not_those_of_a_healthy_one(
    open_page: Opener, awkward: AwkwardRuns
) -> None:
    page = open_page(f"{awkward.server.address}/runs/{awkward.stalled}")
    loss, goodput = page.locator(".tile", has_text="Loss"), page.locator(".tile", has_text="Goodput")
    expect(loss).to_contain_text("since step 1,400, last finite")
    expect(loss).not_to_contain_text("per 1,000 steps")
    expect(goodput).to_contain_text("NaN for")
    expect(goodput).not_to_contain_text("100")


def test_the_slope_of_the_loss_is_that_of_the_run_in_any_window(
    open_page: Opener, awkward: AwkwardRuns
) -> None:
    address = f"{awkward.server.address}/runs/{awkward.warm_up}"
    narrow = loss_tile(open_page(address, width=390))
    assert loss_tile(open_page(address, width=2560)) == narrow
    assert loss_tile(open_page(f"{address}?from=950&to=1000")) == narrow


def test_a_slow_spike_is_not_flattened_by_the_warm_up(open_page: Opener, awkward: AwkwardRuns) -> None:
    page = open_page(f"{awkward.server.address}/runs/{awkward.warm_up}")
    chart = panel(page, "Loss")
    expect(chart.get_by_role("button", name="warm-up hidden")).to_be_visible()
    low, high = chart.locator(".plot").evaluate("node => node.figure.layout.yaxis.range")
    assert 3.1 <= high < 3.6
    assert low > 2.3


def test_what_runs_comes_first_and_an_old_finished_run_last(open_page: Opener, awkward: AwkwardRuns) -> None:
    page = open_page(awkward.server.address)
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(r"^5 running, 4 need attention"))
    rows = page.locator("[data-run]")
    expect(rows).to_have_count(6)
    tops = {row.inner_text(): (row.bounding_box() or {"y": 0.0})["y"] for row in rows.all()}
    first_to_last = sorted(tops, key=lambda text: tops[text])
    assert "old-and-broken" in first_to_last[-1]
    assert tops[first_to_last[0]] < 300
    page.get_by_role("combobox", name="Filter runs").fill("many")
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("^2 running, 1 needs attention"))


@pytest.mark.parametrize("width", [700, 768, 820, 1024, 1232, 1440, 2560])
def test_the_table_of_runs_fits_its_window_and_has_headings(
    open_page: Opener, awkward: AwkwardRuns, width: int
) -> None:
    page = open_page(awkward.server.address, width=width)
    expect(page.locator("[data-run]")).to_have_count(6)
    table = page.locator(".run-table")
    assert table.evaluate("node => node.scrollWidth - node.clientWidth") <= 0
    expect(page.get_by_role("columnheader", name="Problem")).to_be_visible()
    full_name = awkward.server.ask(f"/runs/{awkward.old}")["name"]
    link = page.locator(".run-link", has_text="old-and-broken")
    expect(link).to_have_attribute("title", full_name)
    if width == 2560:
        short = page.locator(".run-link", has_text="spike-before-nan")
        assert short.evaluate("node => node.scrollWidth <= node.clientWidth")


def test_the_figures_of_a_run_fill_the_width(open_page: Opener, awkward: AwkwardRuns) -> None:
    page = open_page(f"{awkward.server.address}/runs/{awkward.ranks}")
    panel(page, "Loss")
    used = page.locator(".tiles").evaluate(
        """(frame) => {
          const { left, width } = frame.getBoundingClientRect();
          const rights = [...frame.children].map((tile) => tile.getBoundingClientRect().right);
          return (Math.max(...rights) - left) / width;
        }"""
    )
    assert used > 0.95


def test_ranks_are_listed_by_number_and_found(open_page: Opener, awkward: AwkwardRuns) -> None:
    page = open_page(f"{awkward.server.address}/runs/{awkward.ranks}")
    page.get_by_text("All 68 series").click()
    rows = page.locator(".all-series tbody tr")
    expect(rows).to_have_count(68)
    ranks = [int(found) for text in rows.all_inner_texts() for found in re.findall(r"rank (\d+)", text)]
    assert ranks == sorted(ranks)
    page.locator(".all-series").get_by_role("searchbox").fill("rank 37")
    expect(rows).to_have_count(1)


def test_a_search_for_slow_finds_slow_spikes(open_page: Opener, awkward: AwkwardRuns) -> None:
    page = open_page(f"{awkward.server.address}/incidents?state=all")
    expect(page.locator(".inbox-item")).to_have_count(6)
    page.keyboard.press("/")
    page.keyboard.type("slow loss")
    expect(page.locator(".inbox-item")).to_have_count(1)
    expect(page.locator(".inbox-item")).to_contain_text("Slow loss spike")


def test_zooming_by_keyboard_is_one_entry_of_the_history(open_page: Opener, awkward: AwkwardRuns) -> None:
    page = open_page(f"{awkward.server.address}/runs/{awkward.ranks}")
    panel(page, "Loss")
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile("from="))
    entries = page.evaluate("history.length")
    for _ in range(4):
        page.keyboard.press("+")
    page.wait_for_timeout(500)
    assert page.evaluate("history.length") == entries


def test_a_tap_reads_the_values_of_a_chart(open_page: Opener, awkward: AwkwardRuns) -> None:
    page = open_page(
        f"{awkward.server.address}/runs/{awkward.ranks}", width=390, has_touch=True, is_mobile=True
    )
    chart = panel(page, "Loss")
    expect(chart).to_contain_text("step 299")
    area = chart.locator(".plot-area")
    area.scroll_into_view_if_needed()
    area.tap()
    expect(chart).to_contain_text(re.compile(r"step 1[2-7]\d"))


def test_every_button_of_the_charts_has_a_name_of_its_own(open_page: Opener, awkward: AwkwardRuns) -> None:
    page = open_page(f"{awkward.server.address}/runs/{awkward.datasets}")
    panel(page, "Loss by dataset")
    names = page.locator(".panel-tools button").evaluate_all(
        "(buttons) => buttons.map((button) => button.getAttribute('aria-label') ?? button.textContent)"
    )
    assert len(names) == len(set(names)) > 10


def test_the_help_shows_keys_as_they_are_printed_and_the_legend_of_the_strip(
    open_page: Opener, awkward: AwkwardRuns
) -> None:
    page = open_page(f"{awkward.server.address}/runs/{awkward.ranks}")
    panel(page, "Loss")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog.get_by_role("list", name="Legend of the health strip")).to_contain_text("Rolled back")
    assert "Arrow" not in dialog.inner_text()


def test_a_dark_page_is_printed_in_light(open_page: Opener, awkward: AwkwardRuns) -> None:
    page = open_page(f"{awkward.server.address}/incidents/{awkward.nan}", color_scheme="dark")
    plot = page.locator(".plot[data-drawn]").first
    expect(plot).to_be_visible()
    curve = "node => node.figure.data.find((trace) => trace.mode?.startsWith('lines')).line.color"
    dark = plot.evaluate(curve)
    page.emulate_media(media="print", color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert plot.evaluate(curve) != dark
    expect(page.get_by_role("button", name="Acknowledge")).to_be_hidden()
    page.emulate_media(media="screen", color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")

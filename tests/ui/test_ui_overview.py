"""What people do with many runs on the overview: select, tag, compare, choose columns, save views, share."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.pages import Opener, Server, until

pytestmark = pytest.mark.slow
RUNS = 250


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with more runs than a page has rows."""
    server = Server(tmp_path_factory.mktemp("many"))
    for number in range(RUNS):
        config = {"optimizer": {"lr": 10.0 ** -(2 + number % 3)}, "seed": number}
        columns = {"step": [1, 2, 3], "loss": [3.0, 2.0, 1.0 + number]}
        server.post(f"run-{number:03}", columns, config=config, finished=number % 2 == 0)
    yield server
    server.close()


def row(page: Page, name: str) -> Locator:
    return page.locator("[data-run]", has_text=name)


def test_only_visible_rows_exist_and_all_can_be_reached(open_page: Opener, many: Server) -> None:
    page = open_page(f"{many.address}/?sort=name")
    expect(row(page, "run-000")).to_be_visible()
    assert page.locator("[data-run]").count() < 60
    expect(page.get_by_role("grid", name="Runs")).to_have_attribute("aria-rowcount", str(RUNS + 1))
    page.keyboard.press("End")
    expect(row(page, "run-249")).to_be_visible()
    expect(page.locator(".row-active .run-link")).to_have_text("run-249")
    assert page.locator("[data-run]").count() < 60
    page.keyboard.press("Home")
    expect(page.locator(".row-active .run-link")).to_have_text("run-000")


def test_runs_are_selected_tagged_starred_and_compared(open_page: Opener, many: Server) -> None:
    page = open_page(f"{many.address}/?sort=name")
    row(page, "run-003").get_by_role("checkbox").click()
    row(page, "run-006").get_by_role("checkbox").click(modifiers=["Shift"])
    bar = page.get_by_role("toolbar", name="Selected runs")
    expect(bar).to_contain_text("4 runs selected")
    expect(bar.get_by_role("link", name="Compare")).to_have_attribute(
        "href", re.compile(r"/compare\?runs=\w+,\w+,\w+,\w+$")
    )
    bar.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_role("textbox", name="Tag").fill("baseline")
    page.get_by_role("button", name="Add tag").click()
    expect(row(page, "run-004").locator(".tag")).to_have_text("baseline")
    bar.get_by_role("button", name="Star").click()
    expect(row(page, "run-004").get_by_role("img", name="Starred")).to_be_visible()
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    page.get_by_role("combobox", name="Filter runs").fill("tag:baseline is:starred")
    expect(page.locator("[data-run]")).to_have_count(4)
    expect(page.locator(".status-note")).to_contain_text("4 of 250 runs")


def test_a_run_is_marked_as_finished(open_page: Opener, many: Server) -> None:
    page = open_page(f"{many.address}/?q=run-101")
    row(page, "run-101").get_by_role("checkbox").click()
    page.get_by_role("button", name="Mark as finished").click()
    until(lambda: many.ask("/runs?filter=name:run-101")["runs"][0]["state"] == "finished")


def test_columns_are_chosen_sorted_and_saved_as_a_view(open_page: Opener, many: Server) -> None:
    page = open_page(f"{many.address}/?q=run-0")
    expect(row(page, "run-0").first).to_be_visible()
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("searchbox", name="Find a setting or metric").fill("lr")
    page.get_by_role("button", name="Add the column optimizer.lr").click()
    page.keyboard.press("Escape")
    heading = page.get_by_role("columnheader", name="optimizer.lr")
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("[data-run]").first).to_contain_text("1.00e−4")
    page.get_by_role("button", name="Views").click()
    page.get_by_role("textbox", name="Name of the view").fill("By learning rate")
    page.get_by_role("button", name="Save view").click()
    expect(page).to_have_url(re.compile(r"/\?view=\d+$"))
    theirs = open_page(page.url)
    expect(theirs.get_by_role("columnheader", name="optimizer.lr")).to_have_attribute(
        "aria-sort", "ascending"
    )
    expect(theirs.get_by_role("combobox", name="Filter runs")).to_have_value("run-0")


def all_analyzed(server: Server) -> bool:
    """Whether no run is left that an analysis in the background will change."""
    return all(run["analyzed"] for run in server.ask(f"/runs?limit={RUNS}")["runs"])


def test_a_change_of_one_run_sends_that_run_only(open_page: Opener, many: Server) -> None:
    until(lambda: all_analyzed(many))
    page = open_page(f"{many.address}/?sort=name")
    expect(row(page, "run-001")).to_be_visible()
    with page.expect_response(lambda answer: "/api/v1/runs?" in answer.url) as fetched:
        many.post("run-001", {"step": [4], "loss": [0.125]})
    answer = fetched.value.json()
    assert [run["name"] for run in answer["runs"]] == ["run-001"]
    assert len(answer["order"]) == 100
    expect(row(page, "run-001")).to_contain_text("0.125")

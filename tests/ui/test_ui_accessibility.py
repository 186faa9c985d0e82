"""All pages: no violation of accessibility rules, large targets on touch, forced colours, print."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.support.pages import Opener, Runs, Server

PAGES = (
    "/",
    "/runs/{broken}",
    "/compare?runs={steady},{rolled_back}",
    "/incidents/{incident}",
    "/incidents?state=all",
    "/planned",
    "/alerts",
    "/settings",
)
TARGET = 44
"""Pixels of the smaller side of a target on a touch screen."""


def visit(page: Page, server: Server, runs: Runs, path: str) -> None:
    page.goto(server.address + path.format(**vars(runs)))
    expect(page.get_by_role("heading", level=1)).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (820, "light"), (1440, "dark"), (2560, "light")])
def test_no_page_violates_a_rule_of_accessibility(
    open_page: Opener, server: Server, runs: Runs, axe: str, width: int, theme: str
) -> None:
    page = open_page(server.address, width=width, color_scheme=theme)
    for path in PAGES:
        visit(page, server, runs, path)
        page.wait_for_timeout(200)
        page.evaluate(axe)
        violations = page.evaluate("axe.run(document).then((result) => result.violations)")
        found = [(each["id"], node["html"][:200]) for each in violations for node in each["nodes"]]
        assert found == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_targets_are_large_on_a_touch_screen(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(server.address, width=390, has_touch=True, is_mobile=True)
    for path in ("/incidents/{incident}", "/incidents?state=all", "/alerts"):
        visit(page, server, runs, path)
        small = page.evaluate(
            """(least) => [...document.querySelectorAll('main .button, .rail-link, .segmented button')]
              .filter((element) => element.checkVisibility())
              .filter((element) => element.getBoundingClientRect().height < least - 0.5)
              .map((element) => element.outerHTML.slice(0, 120))""",
            TARGET,
        )
        assert small == [], path


def test_the_rail_is_a_bar_of_tabs_on_a_phone(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(f"{server.address}/settings", width=390, height=800)
    rail = page.get_by_role("navigation", name="Main")
    expect(rail.get_by_role("link", name="Settings")).to_have_attribute("aria-current", "page")
    box = rail.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] == 800
    rail.get_by_role("link", name="Planned").click()
    expect(page.get_by_role("heading", level=1, name="Planned events")).to_be_visible()


def test_pages_are_readable_with_forced_colours_and_on_paper(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(server.address, forced_colors="active")
    visit(page, server, runs, "/incidents/{incident}")
    expect(page.get_by_role("button", name="Acknowledge")).to_be_visible()
    page.emulate_media(media="print", forced_colors="none")
    expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
    expect(page.get_by_role("button", name="Acknowledge")).to_be_hidden()
    expect(page.get_by_role("heading", level=1)).to_be_visible()

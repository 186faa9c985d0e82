"""All pages: no violation of accessibility rules, large targets on touch, forced colours, print."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.pages import Opener, Runs, Server, healthy
from tests.support.protected_server import ProtectedServer

PAGES = (
    "/",
    "/runs/{broken}",
    "/compare?runs={steady},{rolled_back}",
    "/incidents/{incident}",
    "/incidents?state=all",
    "/planned",
    "/alerts",
    "/settings",
    "/api/v1/runs/{broken}/report",
    "/api/v1/projects/llm/report",
)
WIDTHS = (390, 820, 1440, 2560)
THEMES = ("light", "dark")
TARGET = 44
"""Pixels of the smaller side of a target on a touch screen."""


def visit(page: Page, server: Server, runs: Runs, path: str) -> None:
    page.goto(server.address + path.format(**vars(runs)))
    expect(page.get_by_role("heading", level=1)).to_be_visible()


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProtectedServer]:
    protected = ProtectedServer(tmp_path_factory.mktemp("protected"))
    yield protected
    protected.server.close()


def assert_accessible(page: Page, axe: str, width: int) -> None:
    """No rule of axe is violated, and nothing is beside the window."""
    page.wait_for_timeout(200)
    page.evaluate(axe)
    violations = page.evaluate("axe.run(document).then((result) => result.violations)")
    found = [(each["id"], node["html"][:200]) for each in violations for node in each["nodes"]]
    assert found == [], page.url
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url


@pytest.mark.slow
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_violates_a_rule_of_accessibility(
    open_page: Opener, server: Server, runs: Runs, axe: str, width: int, theme: str
) -> None:
    page = open_page(server.address, width=width, color_scheme=theme)
    for path in PAGES:
        visit(page, server, runs, path)
        assert_accessible(page, axe, width)


@pytest.mark.slow
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_neither_the_login_nor_a_shared_page_violates_one(
    open_page: Opener, protected: ProtectedServer, axe: str, width: int, theme: str
) -> None:
    run_id = protected.post("/ingest", {"project": "llm", "run": "a", "columns": healthy()})["run_id"]
    page = open_page(f"{protected.server.address}/login", width=width, color_scheme=theme)
    expect(page.get_by_label("Password")).to_be_visible()
    assert_accessible(page, axe, width)
    page.goto(protected.share(f"/runs/{run_id}"))
    expect(page.locator(".plot[data-drawn]").first).to_be_visible()
    assert_accessible(page, axe, width)


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

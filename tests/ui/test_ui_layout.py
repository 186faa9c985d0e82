"""All pages: console, themes, widths, focus, errors, empty states, reconnecting, login."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.support.pages import Opener, Runs, Server
from tests.support.ports import free_port

PAGES = (
    "/",
    "/runs/{steady}",
    "/runs/{broken}?incident={incident}",
    "/incidents",
    "/incidents?state=all",
    "/incidents/{incident}",
    "/planned",
    "/alerts",
    "/settings",
    "/login",
)


def address(server: Server, runs: Runs, page: str) -> str:
    return server.address + page.format(**{name: value for name, value in vars(runs).items()})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_logs_console_messages_in_either_theme(
    open_page: Opener, server: Server, runs: Runs, theme: str
) -> None:
    page = open_page(server.address, color_scheme=theme)
    for page_address in PAGES:
        page.goto(address(server, runs, page_address))
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.dataset.theme") == theme
    assert open_page.messages == []


def test_no_page_is_wider_than_a_phone(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(server.address, width=360, height=780)
    for page_address in PAGES:
        page.goto(address(server, runs, page_address))
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, page_address


def test_every_page_is_shown_by_a_slow_server(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(server.address)

    def slowly(route: Route) -> None:
        time.sleep(0.15)  # one after the other: longer than until a page shows that it loads
        route.continue_()

    page.route(re.compile(r"/api/v1/(?!events)"), slowly)
    for page_address in PAGES:
        page.goto(address(server, runs, page_address))
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator(".skeleton")).to_have_count(0)
    page.unroute_all(behavior="ignoreErrors")


def test_a_wall_display_is_filled(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(f"{server.address}/runs/{runs.steady}", width=3840, height=2000)
    expect(page.locator(".plot[data-drawn]").first).to_be_visible()
    right = page.locator(".panel").evaluate_all(
        "panels => Math.max(...panels.map((element) => element.getBoundingClientRect().right))"
    )
    assert right > 3700


def test_the_chosen_theme_is_stored(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(server.address, color_scheme="light")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("t")
    page.keyboard.press("t")
    expect(page.get_by_role("button", name="Theme: dark. Change theme")).to_be_visible()
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_icon_of_the_tab_shows_the_worst_incident_in_every_theme(
    open_page: Opener, server: Server, runs: Runs, tmp_path: Path
) -> None:
    page = open_page(server.address)
    icon = page.locator('link[rel="icon"]')
    expect(icon).to_have_attribute("data-health", "critical")
    page.keyboard.press("t")
    expect(icon).to_have_attribute("data-health", "critical")
    empty = Server(tmp_path)
    try:
        healthy_page = open_page(empty.address)
        expect(healthy_page.locator('link[rel="icon"]')).to_have_attribute("data-health", "ok")
        healthy_page.close()  # it would look for its server
    finally:
        empty.close()


def test_every_control_has_a_name_and_a_visible_focus(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(f"{server.address}/runs/{runs.broken}")
    expect(page.locator(".plot[data-drawn]").first).to_be_visible()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, a, input, select, textarea')].filter((element) => {
          if (!element.checkVisibility()) return false;
          const labels = element.labels ? [...element.labels].map((label) => label.textContent).join('') : '';
          return !(element.getAttribute('aria-label') || element.textContent.trim() || labels.trim());
        }).map((element) => element.outerHTML)"""
    )
    assert nameless == []
    for _ in range(4):
        page.keyboard.press("Tab")
    style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert style != "none"


def test_the_help_lists_the_shortcuts_of_the_page(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(f"{server.address}/incidents")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Acknowledge")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_an_unknown_run_shows_an_error_and_a_link_to_all_runs(open_page: Opener, server: Server) -> None:
    page = open_page(f"{server.address}/runs/no-such-run")
    expect(page.get_by_role("alert")).to_contain_text("There is no run no-such-run")
    page.get_by_role("link", name="All runs", exact=True).click()
    expect(page).to_have_url(f"{server.address}/")
    open_page.allow("404")


def test_an_unknown_address_shows_an_error_and_links(open_page: Opener, server: Server) -> None:
    page = open_page(f"{server.address}/no/such/page")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="Incidents").click()
    expect(page).to_have_url(f"{server.address}/incidents")
    open_page.allow("404")


def test_an_overview_without_runs_shows_the_next_step(open_page: Opener, tmp_path: Path) -> None:
    empty = Server(tmp_path)
    try:
        page = open_page(empty.address)
        expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
        expect(page.locator(".copy-line code")).to_have_text("holter watch ./runs")
        client = page.locator(".copy-block", has_text="import holter")
        expect(client).to_contain_text("holter.init(project=")
        client.get_by_role("button").click()
        expect(client.get_by_role("button")).to_have_text(re.compile("Copied|Selected"))
        page.set_viewport_size({"width": 360, "height": 780})
        for path in ("/", "/compare", "/incidents", "/planned", "/alerts", "/settings"):
            page.goto(f"{empty.address}{path}")
            expect(page.get_by_role("heading", level=1)).to_have_count(1)
            page.wait_for_timeout(300)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        page.goto(empty.address)
        empty.post("first", {"step": [1, 2, 3], "loss": [3.0, 2.0, 1.0]})
        expect(page.locator("[data-run]")).to_contain_text("first")  # it appears by itself
        page.locator("[data-run] a").first.click()
        expect(page.locator(".plot[data-drawn]").first).to_be_visible()
        assert page.locator(".plot").first.evaluate("node => node.figure.data[0].mode") == "lines+markers"
    finally:
        empty.close()


def test_a_page_reports_a_lost_connection_and_continues_when_the_server_is_back(
    open_page: Opener, tmp_path: Path
) -> None:
    port = free_port()  # it is left, and taken again
    first = Server(tmp_path, port=port)
    run_id = first.post("patient", {"step": [1, 2], "loss": [3.0, 2.0]})
    page = open_page(f"{first.address}/runs/{run_id}")
    expect(page.locator(".tiles")).to_contain_text("Loss2.000")
    first.close()
    expect(page.locator(".connection")).to_have_text("Server unreachable, retrying")
    second = Server(tmp_path, port=port)
    try:
        second.post("patient", {"step": [3], "loss": [1.25]})
        expect(page.locator(".connection")).to_have_text("", timeout=60_000)
        expect(page.locator(".tiles")).to_contain_text("Loss1.250")
        page.close()
    finally:
        second.close()
    open_page.allow("ERR_", "503", "refresh failed")  # a stopping server answers with 503


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Server]:
    """A server with a password."""
    running = Server(tmp_path, HOLTER_PASSWORD="open sesame")
    yield running
    running.close()


def test_the_login_opens_the_requested_page(open_page: Opener, guarded: Server) -> None:
    page = open_page(f"{guarded.address}/incidents?state=all")
    expect(page.get_by_role("heading", name="Holter")).to_be_visible()
    assert re.search(r"/login\?next=%2Fincidents%3Fstate%3Dall", page.url)
    page.get_by_label("Password").fill("not it")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).not_to_be_empty()
    page.get_by_label("Password").fill("open sesame")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1, name="No unacknowledged incidents")).to_be_visible()
    assert page.url == f"{guarded.address}/incidents?state=all"
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Password")).to_be_visible()
    open_page.allow("401", "403")

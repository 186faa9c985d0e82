"""Each main task is done by keyboard alone: keys of the page, and Tab through what can be focused."""

from __future__ import annotations

import re
import time

from playwright.sync_api import Page, expect

from tests.support.pages import Opener, Runs, Server, healthy

MOST_TABS = 150
FOCUSED = """() => {
  const element = document.activeElement;
  return element.getAttribute("aria-label") || element.innerText || element.value || "";
}"""


def tab_to(page: Page, name: str) -> None:
    """Press Tab until something of this name has the focus, which must be visible."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED).strip() == name:
            assert page.evaluate("document.activeElement.matches(':focus-visible')")
            return
    raise AssertionError(f"{name!r} is not reached by Tab")


def test_runs_are_filtered(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(server.address)
    expect(page.get_by_role("link", name="broken").first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("steady")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="broken")).to_have_count(0)
    expect(page.get_by_role("link", name="steady").first).to_be_visible()


def test_runs_are_selected_and_compared(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(server.address)
    expect(page.get_by_role("link", name="broken").first).to_be_visible()
    for key in ("j", "J", "J", "c"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile("/compare\\?runs="))
    expect(page.locator(".plot[data-drawn]").first).to_be_visible()


def test_a_chart_is_zoomed_moved_and_reset(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(f"{server.address}/runs/{runs.steady}")
    expect(page.locator(".plot[data-drawn]").first).to_be_visible()
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile("from=\\d+"))
    before = page.url
    page.keyboard.press("ArrowRight")
    expect(page).not_to_have_url(before)
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("from="))


def test_a_silence_is_added_and_ended(open_page: Opener, server: Server) -> None:
    page = open_page(f"{server.address}/alerts")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    tab_to(page, "Matchers")
    page.keyboard.type('project="of-the-keyboard"')
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("moving the cluster")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    silence = page.get_by_text("moving the cluster").first
    expect(silence).to_be_visible()
    tab_to(page, "End the silence: moving the cluster")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="End the silence: moving the cluster")).to_have_count(0)


def test_a_training_is_asked_to_stop(open_page: Opener, server: Server) -> None:
    run_id = server.post("stopped-by-keyboard", healthy(0, 60, ends=time.time()))
    page = open_page(f"{server.address}/runs/{run_id}")
    expect(page.locator(".plot[data-drawn]").first).to_be_visible()
    tab_to(page, "Stop run…")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Reason")).to_be_focused()
    page.keyboard.type("the loss is flat")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("the loss is flat")).to_be_visible()
    assert server.ask(f"/runs/{run_id}")["stop"]["reason"] == "the loss is flat"

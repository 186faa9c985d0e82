"""What people change on pages: a run's notes, the order of charts, which incidents are shown."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.pages import Opener, Runs, Server, healthy

Call = Callable[..., Any]


def titles(page: Any) -> list[str]:
    return [str(text) for text in page.locator(".board .panel h3").all_text_contents()]


def test_notes_group_and_tags_of_a_run_are_edited_on_its_page(open_page: Opener, server: Server) -> None:
    run = server.post("described", healthy(0, 50))
    page = open_page(f"{server.address}/runs/{run}")
    page.get_by_role("button", name="Add notes").click()
    page.get_by_label("Notes", exact=True).fill("The last good one.\nDo not delete.")
    page.get_by_label("Group").fill("sweep-7")
    page.get_by_label("Tags, separated by commas").fill("baseline, 7B, baseline")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".run-notes")).to_have_text("The last good one.\nDo not delete.")
    description = page.locator(".run-description")
    expect(description).to_contain_text("Group sweep-7")
    expect(description.locator(".tag")).to_have_text(["baseline", "7B"])
    page.get_by_role("button", name="Star", exact=True).click()
    expect(page.get_by_role("button", name="Star", exact=True)).to_have_attribute("aria-pressed", "true")
    stored = server.ask(f"/runs/{run}")
    assert stored["starred"]
    assert stored["description"]["notes"].startswith("The last good one.")


def test_what_is_typed_into_notes_survives_new_points(open_page: Opener, server: Server) -> None:
    run = server.post("typing", healthy(0, 50))
    page = open_page(f"{server.address}/runs/{run}")
    page.get_by_role("button", name="Add notes").click()
    page.get_by_label("Notes", exact=True).fill("half a sen")
    server.post("typing", {"step": [60], "loss": [1.25]})
    expect(page.locator(".tiles")).to_contain_text("Loss1.250")
    expect(page.get_by_label("Notes", exact=True)).to_have_value("half a sen")


def test_only_what_differs_of_a_description_is_sent(call: Call) -> None:
    before = {"tags": ["a", "b"], "group": None, "notes": "n"}
    after = {"tags": ["b", "c"], "group": "", "notes": "n"}
    assert call("run/description.js", "changesOf", before, after) == {"add_tags": ["c"], "remove_tags": ["a"]}


def test_charts_are_reordered_by_dragging_and_by_keyboard(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/runs/{runs.steady}")
    expect(page.locator(".plot[data-drawn]").first).to_be_visible()
    first, second, third, *_ = titles(page)
    page.locator(".board .panel h3").nth(2).drag_to(page.locator(".board .panel").nth(0))
    assert titles(page)[:3] == [third, first, second]
    page.locator(".board .plot").first.focus()
    page.keyboard.press("Control+Shift+ArrowRight")
    assert titles(page)[:3] == [first, third, second]
    assert page.evaluate("document.activeElement.getAttribute('aria-roledescription')") == "chart"
    page.reload()
    expect(page.locator(".plot[data-drawn]").first).to_be_visible()
    assert titles(page)[:3] == [first, third, second]


@pytest.fixture(scope="module")
def incidents(server: Server, runs: Runs) -> list[int]:
    """All incidents in the order of the inbox, at least two."""
    columns = healthy()
    columns["loss"][-40:] = ["NaN"] * 40
    server.wait_for_incident(server.post("broken-too", columns), "nonfinite")
    found = server.ask("/incidents?state=all&order=event")["incidents"]
    return [int(incident["id"]) for incident in found]


def swipe(page: Any, element: str, across: int) -> None:
    """A finger that moves over an element, as the events that browsers send."""
    page.locator(element).first.evaluate(
        """(node, across) => {
          const box = node.getBoundingClientRect();
          const touch = {bubbles: true, pointerType: 'touch', pointerId: 7, clientY: box.top + 4};
          const at = (type, x) => node.dispatchEvent(new PointerEvent(type, {...touch, clientX: x}));
          at('pointerdown', 200); at('pointermove', 200 + across / 2); at('pointerup', 200 + across);
        }""",
        across,
    )


def test_a_swipe_or_a_key_goes_to_the_next_incident(
    open_page: Opener, server: Server, incidents: list[int]
) -> None:
    first, second = incidents[:2]
    page = open_page(f"{server.address}/incidents/{first}", width=360, height=780)
    expect(page.get_by_role("link", name="Next", exact=True)).to_be_visible()
    swipe(page, ".incident-head h1", -120)
    expect(page).to_have_url(f"{server.address}/incidents/{second}")
    expect(page.get_by_role("link", name="Previous", exact=True)).to_be_visible()
    swipe(page, ".incident-head h1", 20)  # too short
    page.keyboard.press("k")
    expect(page).to_have_url(f"{server.address}/incidents/{first}")


def test_a_swipe_acknowledges_an_incident_of_the_inbox(
    open_page: Opener, server: Server, incidents: list[int]
) -> None:
    page = open_page(f"{server.address}/incidents", width=360, height=780)
    row = page.locator("[data-incident]").first
    expect(row).to_be_visible()
    number = row.get_attribute("data-incident")
    swipe(page, "[data-incident] .inbox-summary", 120)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(f'[data-incident="{number}"]')).to_be_visible()


def test_the_inbox_shows_the_incidents_of_some_days(
    open_page: Opener, server: Server, incidents: list[int]
) -> None:
    page = open_page(f"{server.address}/incidents?state=all")
    expect(page.locator("[data-incident]").first).to_be_visible()
    page.clock.set_fixed_time(time.time() + 10 * 86_400)  # at midnight, yesterday has some
    times = page.get_by_role("group", name="Time")
    times.get_by_role("button", name="Yesterday").click()
    expect(page).to_have_url(re.compile("time=yesterday"))
    expect(page.get_by_role("heading", name="No matching incidents")).to_be_visible()
    page.get_by_role("button", name="Show all incidents").click()
    expect(page.locator("[data-incident]").first).to_be_visible()


def test_the_choices_of_the_time_bar_are_days(call: Call) -> None:
    midnight = 1_700_000_000
    assert call("pages/inbox.js", "timesOf", "", midnight) == {"since": None, "until": None}
    assert call("pages/inbox.js", "timesOf", "yesterday", midnight) == {
        "since": midnight - 86_400,
        "until": midnight,
    }
    assert call("pages/inbox.js", "timesOf", "7d", midnight)["since"] == midnight - 6 * 86_400


def test_the_palette_asks_for_a_page_of_runs(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(f"{server.address}/planned")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.keyboard.press("Control+k")
    page.keyboard.type("rolled")
    expect(page.get_by_role("option", name=re.compile("rolled-back"))).to_be_visible()
    lists = [url for url in asked if "/api/v1/runs?" in url]
    assert lists
    assert all("limit=50" in url for url in lists)

"""Planned events on the pages: added, shown, removed, and an incident marked as planned."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.pages import Opener, Server, healthy


@pytest.fixture(scope="module")
def spiky(server: Server) -> str:
    """A run whose loss has just risen and stays high."""
    columns = healthy()
    columns["loss"][-60:] = [value + 4 for value in columns["loss"][-60:]]
    run = server.post("spiky", columns)
    server.wait_for_incident(run, "spike_unrecovered")
    return run


def test_a_planned_event_is_added_and_removed_with_the_keyboard(
    open_page: Opener, server: Server, spiky: str
) -> None:
    page = open_page(f"{server.address}/runs/{spiky}#expected", width=360, height=740)
    page.get_by_label("Planned event", exact=True).focus()
    page.keyboard.type("Ev")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("1000")
    page.keyboard.press("Tab")
    page.keyboard.type("50")
    page.keyboard.press("Tab")
    page.keyboard.type("held-out set")
    page.keyboard.press("Enter")
    listed = page.locator(".planned-item")
    expect(listed).to_have_text(re.compile("Evaluation every 1,000 steps for 50.*held-out set"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("button", name="Remove Evaluation").press("Enter")
    expect(listed).to_have_count(0)


def test_an_incomplete_planned_event_shows_the_error_of_the_server(
    open_page: Opener, server: Server, spiky: str
) -> None:
    page = open_page(f"{server.address}/runs/{spiky}#expected")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("from_step, to_step or every: expected")
    open_page.allow("422")


def test_an_incident_marked_as_planned_is_closed_and_listed_as_a_planned_event(
    open_page: Opener, server: Server, spiky: str
) -> None:
    incident = server.wait_for_incident(spiky, "spike_unrecovered")
    page = open_page(f"{server.address}/incidents/{incident}")
    page.get_by_role("button", name="Mark as planned").click()
    expect(page.locator(".incident-head")).to_contain_text("Closed")
    expect(page.locator(".history")).to_contain_text("This was planned.")
    page.get_by_role("button", name="Show", exact=True).click()
    listed = page.locator(".planned-item")
    expect(listed).to_contain_text("Rise or shift of the loss")
    expect(listed).to_be_in_viewport()


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"from_step": 20000, "to_step": 20500}, "steps 20,000 to 20,500"),
        ({"from_step": 5, "to_step": 5}, "at step 5"),
        ({"from_step": 5}, "from step 5 on"),
        ({"every": 1000, "lasting": 50}, "every 1,000 steps for 50"),
        ({"every": 10, "lasting": 1, "to_step": 40}, "every 10 steps for 1, steps 0 to 40"),
    ],
)
def test_the_steps_of_a_planned_event_as_text(
    call: Callable[..., Any], event: dict[str, Any], text: str
) -> None:
    all_of_it = {"from_step": 0, "to_step": None, "every": None, "lasting": None} | event
    assert call("charts/planned_events.js", "plannedEventSteps", all_of_it) == text


def test_planned_spans_are_within_the_range_and_left_out_if_too_many(call: Callable[..., Any]) -> None:
    cadence = {"from_step": 0, "to_step": None, "every": 100, "lasting": 10}
    once = {"from_step": 250, "to_step": 260, "every": None, "lasting": None}
    assert call("charts/planned_events.js", "plannedSpans", [cadence, once], [210, 420]) == [
        [200, 210],
        [300, 310],
        [400, 410],
        [250, 260],
    ]
    assert call("charts/planned_events.js", "plannedSpans", [cadence], [0, 100_000]) == []
    assert call("charts/planned_events.js", "plannedSpans", [once], [300, 400]) == []


def test_the_first_planned_span_with_enough_space_is_labelled(call: Callable[..., Any]) -> None:
    def planned(first: int, last: int | None) -> dict[str, Any]:
        return {"kinds": ["spike_slow"], "from_step": first, "to_step": last, "every": None, "lasting": None}

    picture = {
        "attempts": [{"number": 0, "first_step": 0, "last_step": 4000}],
        "expected": [planned(3600, None), planned(100, 1500), planned(2000, 2100)],
        "palette": {"line-strong": "#888888", "ink-quiet": "#444444"},
        "axis": "step",
        "range": [1000, 4000],
        "role": "loss",
        "fontSize": 11,
        "series": [],
    }
    shapes = call("charts/planned_events.js", "plannedEventShapes", picture)
    assert [(shape["x0"], shape["x1"], shape["label"]["text"]) for shape in shapes] == [
        (3600, 4000, ""),
        (1000, 1500, "planned"),
        (2000, 2100, ""),
    ]

"""An incident page, the inbox, planned events, alerts, settings and the palette as people use them."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.support.pages import Opener, Runs, Server, healthy, until


class Event:
    """A run whose loss rises after a change of the learning rate and becomes NaN: its ids."""

    def __init__(self, server: Server) -> None:
        columns = healthy(ends=time.time() - 30)
        columns["loss"][1200:] = [value + 3 for value in columns["loss"][1200:]]
        columns["loss"][1400:] = ["NaN"] * 100
        columns["lr"][1195:] = [3 * value for value in columns["lr"][1195:]]
        self.run = server.post("two-in-one", columns)
        self.nan = server.wait_for_incident(self.run, "nonfinite")
        self.spike = int(
            until(
                lambda: [
                    each["id"]
                    for each in server.ask(f"/runs/{self.run}/incidents")["incidents"]
                    if each["kind"].startswith("spike")
                ]
            )[0]
        )


@pytest.fixture(scope="module")
def event(server: Server) -> Event:
    """The event."""
    return Event(server)


def tops(page: Page, *selectors: str) -> list[float]:
    boxes = [page.locator(selector).first.bounding_box() for selector in selectors]
    return [box["y"] for box in boxes if box is not None]


def test_linked_incidents_are_one_story_with_one_safe_step(
    open_page: Opener, server: Server, event: Event
) -> None:
    page = open_page(f"{server.address}/incidents/{event.nan}")
    safe = page.locator(".advice .rollback b").inner_text()
    assert int(safe.replace(",", "")) < 1195
    expect(page.locator(".advice")).not_to_contain_text("1,400")
    items = page.locator(".event-timeline .timeline-text").all_inner_texts()
    first, cause, spike, nan = (text.split("\n")[0] for text in items[-4:])
    assert (first, nan) == ("Last safe step", "NaN or infinity")
    assert cause.startswith("Learning rate rose")
    assert "spike" in spike
    page.goto(f"{server.address}/runs/{event.run}")
    expect(page.get_by_role("region", name="Open events")).to_contain_text(f"Last safe step {safe}")


def test_a_divergence_names_the_level_that_it_reached(open_page: Opener, server: Server) -> None:
    columns = healthy(ends=time.time() - 30)
    columns["loss"][900:] = [value + 0.003 * rise for rise, value in enumerate(columns["loss"][900:])]
    columns["loss"][1350] = 40.0
    incident = server.wait_for_incident(server.post("drifting", columns), "divergence")
    sentence = open_page(f"{server.address}/incidents/{incident}").locator("main").get_by_text("drifting up")
    expect(sentence.first).to_contain_text("single points up to 40.")
    reached = re.search(r" to ([0-9.]+) by step ([0-9,]+),", sentence.first.inner_text())
    assert reached is not None
    assert float(reached[1]) < 6


def test_a_phone_shows_sentence_advice_actions_and_picture_in_this_order(
    open_page: Opener, server: Server, event: Event
) -> None:
    page = open_page(f"{server.address}/incidents/{event.nan}", width=390, height=844)
    expect(page.locator(".panel").first).to_be_visible()
    order = tops(
        page, "h1", ".rollback", ".actions", ".panel", ".key-facts", ".event-timeline", ".folded-card"
    )
    assert order == sorted(order)
    assert order[2] < 500  # the actions are on the first screen
    expect(page.locator(".evidence")).to_be_hidden()
    page.get_by_text("Evidence", exact=True).click()
    expect(page.locator(".evidence")).to_be_visible()


def test_a_tablet_shows_the_titles_of_all_charts(open_page: Opener, server: Server, event: Event) -> None:
    page = open_page(f"{server.address}/incidents/{event.nan}", width=820, height=1100)
    expect(page.locator(".panel h3").nth(1)).to_be_visible()
    widths = page.locator(".panel h3").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().width)"
    )
    assert min(widths) > 25
    assert page.evaluate("document.documentElement.scrollWidth") <= 820


def test_show_in_run_zooms_to_the_incident(open_page: Opener, server: Server, event: Event) -> None:
    page = open_page(f"{server.address}/incidents/{event.nan}")
    page.get_by_role("link", name="Show in run").click()
    expect(page).to_have_url(re.compile(rf"incident={event.nan}&from=1\d+&to=\d+"))
    expect(page.locator(".panel-highlighted")).to_be_in_viewport()


def test_the_figures_of_a_run_know_of_nan(open_page: Opener, server: Server, event: Event) -> None:
    page = open_page(f"{server.address}/runs/{event.run}?from=100&to=200")
    loss = page.locator(".tile", has_text="Loss")
    expect(loss).to_contain_text("NaN")
    expect(loss).to_contain_text("since step 1,400, last finite 5.0")
    expect(page.locator(".tile", has_text="Goodput")).to_contain_text("NaN for 1")
    expect(page.locator(".tile", has_text="Rolled back")).to_contain_text("0 steps")


def test_a_failed_action_says_that_nothing_was_changed(
    open_page: Opener, server: Server, event: Event
) -> None:
    page = open_page(f"{server.address}/incidents/{event.nan}")
    page.route("**/acknowledge", lambda route: route.abort())
    page.get_by_role("button", name="Acknowledge", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Not changed: The server could not be reached.")
    expect(page.locator(".toast").get_by_role("button", name="Try again")).to_be_visible()
    expect(page.get_by_role("button", name="Acknowledge", exact=True)).to_be_visible()
    open_page.allow("ERR_FAILED")


def test_an_incident_is_muted_assigned_and_closed_with_a_reason_by_keyboard(
    open_page: Opener, server: Server, event: Event
) -> None:
    page = open_page(f"{server.address}/incidents/{event.spike}")
    page.get_by_role("button", name="Mute").press("Enter")
    page.get_by_role("button", name="2 hours").press("Enter")
    muted = page.get_by_role("button", name=re.compile("Muted until"))
    expect(muted).to_be_visible()
    muted.press("Enter")
    page.get_by_role("button", name="Unmute").press("Enter")
    expect(page.get_by_role("button", name="Mute", exact=True)).to_be_visible()

    page.get_by_role("button", name="Assign").press("Enter")
    page.keyboard.type("bo")
    page.keyboard.press("Enter")
    expect(page.locator(".incident-head")).to_contain_text("assigned to bo")

    page.get_by_role("button", name="Close", exact=True).press("Enter")
    page.keyboard.type("rolled back to 1,000")
    page.keyboard.press("Enter")
    expect(page.locator(".history")).to_contain_text("rolled back to 1,000")
    page.get_by_role("button", name="Reopen").click()
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_visible()


def test_the_link_mute_of_a_message_opens_the_choices(
    open_page: Opener, server: Server, event: Event
) -> None:
    page = open_page(f"{server.address}/incidents/{event.nan}#mute")
    choices = page.get_by_role("dialog", name="Mute")
    expect(choices.get_by_role("button", name="2 hours")).to_be_in_viewport()
    choices.get_by_role("button", name="30 minutes").click()
    expect(page.get_by_role("button", name=re.compile("Muted until"))).to_be_visible()
    page.get_by_role("button", name=re.compile("Muted until")).click()
    page.get_by_role("button", name="Unmute").click()


def test_the_inbox_has_days_runs_and_event_times_and_acknowledges_in_bulk(
    open_page: Opener, server: Server, runs: Runs, event: Event
) -> None:
    page = open_page(f"{server.address}/incidents?run={event.run}")
    expect(page.locator(".inbox-day h2").first).to_have_text(re.compile("Today|Yesterday"))
    expect(page.locator(".inbox-run-group h3").first).to_contain_text("two-in-one")
    times = page.locator(".inbox-time").all_inner_texts()
    assert times == sorted(times, reverse=True)
    page.get_by_role("button", name=re.compile(r"Acknowledge \d")).click()
    expect(page.get_by_role("heading", name="All acknowledged")).to_have_count(0)
    expect(page.get_by_role("heading", name="No matching incidents")).to_be_visible()
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(f'[data-incident="{event.nan}"]')).to_be_visible()


def test_a_long_inbox_shows_fifty_and_more_on_request(
    open_page: Opener, server: Server, event: Event
) -> None:
    one = server.ask(f"/incidents/{event.nan}")
    many = [one | {"id": 9000 + i} for i in range(120)]
    counts = {"unacknowledged": 120, "open": 120, "recovered": 0, "closed": 0, "all": 120}
    page = open_page(f"{server.address}/settings")

    def answer(route: object) -> None:
        limit = int(re.search(r"limit=(\d+)", route.request.url)[1])  # type: ignore[attr-defined,index]
        body = {"incidents": many[:limit], "total": 120, "counts": counts}
        route.fulfill(json=body)  # type: ignore[attr-defined]

    page.route("**/api/v1/incidents?*", answer)
    page.get_by_role("link", name=re.compile("Incidents")).click()
    expect(page.locator("[data-incident]")).to_have_count(50)
    expect(page.locator(".inbox-more")).to_contain_text("50 of 120")
    page.get_by_role("button", name="Show 50 more").click()
    expect(page.locator("[data-incident]")).to_have_count(100)


def test_the_palette_goes_to_runs_pages_and_metrics(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(f"{server.address}/settings")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("rolled")
    expect(page.get_by_role("option", name=re.compile("rolled-back")).first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="rolled-back")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("grad norm")
    expect(page.get_by_role("option", name=re.compile("grad_norm")).first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("go to alerts")
    expect(page.get_by_role("option", name=re.compile("Go to alerts"))).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Alerts")).to_be_visible()


def test_planned_events_of_a_project_are_added_and_removed(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/planned")
    page.get_by_label("To step").fill("20500")
    page.get_by_label("From step").fill("20000")
    page.get_by_label("Note").fill("rack 4")
    page.get_by_role("button", name="Add", exact=True).click()
    added = page.locator(".planned-item", has_text="rack 4")
    expect(added).to_contain_text("steps 20,000 to 20,500")
    expect(added).to_contain_text("all runs")
    added.get_by_role("button", name=re.compile("Remove")).click()
    expect(added).to_have_count(0)


def test_settings_are_searched_and_state_their_source(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(f"{server.address}/settings")
    expect(page.get_by_role("row", name=re.compile("data_dir"))).to_contain_text("Flag")
    page.keyboard.press("/")
    page.keyboard.type("max_body")
    expect(page.locator(".data-table tbody tr")).to_have_count(1)
    expect(page.locator(".data-table tbody tr")).to_contain_text("http.max_body_kb")


def test_a_silence_is_added_and_ended_on_the_alerts_page(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    page = open_page(f"{server.address}/alerts")
    expect(page.locator(".copy-line code")).to_have_text("holter alert test oncall")
    page.get_by_label("Matchers").fill('project="other", kind=~"spike_.*"')
    page.get_by_label("Reason").fill("maintenance of rack 4")
    page.get_by_role("button", name="Add silence").click()
    added = page.locator(".planned-item", has_text="maintenance of rack 4")
    expect(added).to_contain_text('kind=~"spike_.*"')
    added.get_by_role("button", name=re.compile("End the silence")).click()
    expect(added).to_have_count(0)


def test_the_strip_says_what_is_at_the_pointer(open_page: Opener, server: Server, runs: Runs) -> None:
    page = open_page(f"{server.address}/runs/{runs.rolled_back}")
    pane = page.locator(".strip-large .strip-pane")
    box = pane.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + 20)
    expect(page.locator(".strip-readout")).to_have_text(re.compile(r"Step 1,\d+ · attempt 1"))
    expect(page.get_by_role("list", name="Legend of the health strip")).to_contain_text("Rolled back")


def test_a_stall_is_of_the_run_and_not_of_the_metric_by_whose_clock_it_was_detected(
    open_page: Opener, server: Server, runs: Runs
) -> None:
    incident = server.ask(f"/incidents/{runs.incident}")
    began = incident["start_time"]
    stall = incident | {
        "id": 4712, "kind": "stall", "metric": "train/lr", "summary": "Nothing was logged for 30 min.",
        "start_step": 1000, "end_step": 1001, "peak_step": None, "classified_step": None,
        "start_time": began, "evidence": {"silent_seconds": 1800.0}, "severity": "info", "state": "closed",
    }  # fmt: skip
    page = open_page(server.address)
    page.route("**/api/v1/incidents/4712", lambda route: route.fulfill(json=stall))
    context = server.ask(f"/incidents/{runs.incident}/context") | {"changes": [], "similar": []}
    page.route("**/api/v1/incidents/4712/context", lambda route: route.fulfill(json=context))
    page.goto(f"{server.address}/incidents/4712")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing was logged for 30 min.")
    expect(page.locator(".evidence")).to_contain_text("30\u202fmin")
    for part in (".key-facts", ".evidence", ".incident-head"):
        expect(page.locator(part)).not_to_contain_text("train/lr")

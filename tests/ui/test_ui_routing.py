"""Routing on the page Alerts: the tree, where an incident would go and why, and other settings on trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.pages import Opener, Server

SETTINGS = """
[channels.training]
type = "slack"
url = "https://hooks.slack.com/services/T/B/very-secret"
history = true

[channels.oncall]
type = "email"
host = "mail.invalid"
from = "holter@example.com"
to = ["oncall@example.com"]

[alerting.route]
receiver = "training"
group_by = ["project", "kind"]
group_wait = "1h"

[[alerting.route.routes]]
matchers = ["severity=critical", "project=~llm|vision"]
receiver = "oncall"
escalate_after = "15m"
escalate_to = "both"
continue = true

[[alerting.route.routes.routes]]
matchers = ["kind=straggler"]
mute_time_intervals = ["nights"]

[alerting.receivers.both]
channels = ["training", "oncall"]

[[alerting.time_intervals.nights]]
times = [{ start_time = "22:00", end_time = "24:00" }]
location = "Europe/Berlin"

[alerting.digests.Daily]
receiver = "training"
at = "08:30"
"""

WRONG = """
[alerting.route]
receiver = "nobody"
[alerting.receivers.both]
channels = ["training", "oncall"]
"""


@pytest.fixture(scope="module")
def routed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a tree of routes and an incident of the kind NaN."""
    folder = tmp_path_factory.mktemp("routed")
    (folder / "holter.toml").write_text(SETTINGS)
    server = Server(folder)
    losses: list[Any] = [2.0 - 0.001 * step for step in range(100)]
    run = server.post("broken", {"step": list(range(110)), "loss": [*losses, *10 * ["NaN"]]})
    server.wait_for_incident(run, "nonfinite")
    yield server
    server.close()


@pytest.fixture
def page(open_page: Opener, routed: Server) -> Page:
    return open_page(f"{routed.address}/alerts")


def test_the_tree_shows_what_each_route_adds(page: Page) -> None:
    routes = page.locator(".route-tree li")
    expect(routes).to_have_count(3)
    expect(routes.nth(0)).to_contain_text("Whatever no route below takes")
    expect(routes.nth(0)).to_contain_text("one message for equal project, kind")
    expect(routes.nth(1)).to_contain_text('project=~"llm|vision"')
    expect(routes.nth(1)).to_contain_text("to both if nobody acknowledges within 15")
    expect(routes.nth(2)).not_to_contain_text("one message")  # as the route above it
    expect(routes.nth(2)).to_contain_text("muted during nights")
    intervals = page.get_by_role("region", name="Time intervals")
    expect(intervals).to_contain_text("22:00 to 24:00 (Europe/Berlin)")
    expect(page.get_by_role("region", name="Digests")).to_contain_text("every day, 08:30 (UTC)")
    inhibition = page.get_by_role("region", name="Inhibition")
    expect(inhibition).to_contain_text("a stall explains missing throughput")


def test_a_dry_run_says_where_labels_would_go_and_why(page: Page) -> None:
    page.get_by_label("Project", exact=True).fill("llm")
    page.get_by_label("Severity").select_option("critical")
    page.get_by_label("Other labels").fill("rank=3")
    page.get_by_role("button", name="Dry run").click()
    expect(page.locator(".dry-run-text")).to_have_text(
        "This incident would go to oncall (receiver oncall, because of alerting.route.routes[0])."
    )
    tried = page.get_by_role("region", name="Routes that were tried")
    expect(tried).to_contain_text('needs kind="straggler"')
    page.get_by_label("Project", exact=True).fill("other")
    page.get_by_label("Severity").select_option("info")
    page.get_by_role("button", name="Dry run").click()
    expect(page.locator(".dry-run-text")).to_contain_text("This incident would go to training")


def test_a_dry_run_takes_an_incident(page: Page, routed: Server) -> None:
    page.get_by_role("combobox", name="Incident").select_option(index=1)
    expect(page.get_by_label("Project", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Dry run").click()
    expect(page.locator(".dry-run-text")).to_contain_text("This incident would go to oncall")


def test_other_settings_are_tried_without_being_stored(page: Page, routed: Server) -> None:
    page.get_by_text("Try other settings").click()
    editor = page.get_by_label("Settings of routing")
    in_force = editor.input_value()
    assert "very-secret" not in page.content()
    page.get_by_role("button", name="Check and compare").click()
    result = page.locator(".trial .dry-run-answer")
    expect(result).to_contain_text("The newest incident would go where it goes now.")
    editor.fill(in_force.replace('receiver = "oncall"', 'receiver = "training"'))
    page.get_by_role("button", name="Check and compare").click()
    changed = page.get_by_role("region", name="Incidents that would go elsewhere")
    expect(changed.get_by_role("row").nth(1)).to_contain_text("oncall")
    expect(changed.get_by_role("link")).to_have_attribute("href", "/incidents/1")
    assert routed.ask("/routing")["toml"] == in_force


def test_wrong_settings_are_explained(open_page: Opener, routed: Server) -> None:
    page = open_page(f"{routed.address}/alerts")
    page.get_by_text("Try other settings").click()
    page.get_by_label("Settings of routing").fill(WRONG)
    page.get_by_role("button", name="Check and compare").click()
    expect(page.locator(".trial .dry-run-answer")).to_have_text(
        "[alerting.route] receiver: there is no receiver 'nobody': "
        "expected one of both, none, oncall, training"
    )
    open_page.allow("422")


@pytest.mark.parametrize("width", [360, 1440])
def test_the_section_fits_and_is_accessible(open_page: Opener, routed: Server, axe: str, width: int) -> None:
    page = open_page(f"{routed.address}/alerts", width=width)
    page.get_by_role("button", name="Dry run").click()
    page.get_by_text("Try other settings").click()
    page.get_by_role("button", name="Check and compare").click()
    expect(page.locator(".trial .route-tree")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.evaluate(axe)
    within = "[aria-label=Routing]"
    violations = page.evaluate("(part) => axe.run(part).then((result) => result.violations)", within)
    assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in violations] == []


def test_labels_are_read_from_a_line(call: Callable[..., Any]) -> None:
    assert call("alerts/dry_run.js", "splitLabels", "rank=3, a=b=c,host") == {
        "rank": "3",
        "a": "b=c",
        "host": "",
    }

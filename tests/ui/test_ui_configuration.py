"""Configuration on the run page: diagnostics, changed settings, search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.pages import Opener, Server, healthy

NETS = [
    {"name": "nccl.net", "value": "Socket", "labels": {"host": f"node{rank}", "rank": rank}}
    for rank in range(2)
]


@pytest.fixture(scope="module")
def relaunched(server: Server) -> str:
    """A run with NCCL over sockets, and another batch size at its second launch."""
    columns = healthy()
    config: dict[str, Any] = {"global_batch_size": 256, "model": {"num_layers": 24}, "lr": 3e-4}
    half = len(columns["step"]) // 2
    early = {name: values[:half] for name, values in columns.items()}
    late = {name: values[half:] for name, values in columns.items()}
    server.post("relaunched", early, attempt="0", config=config, settings=NETS)
    return server.post(
        "relaunched", late, attempt="1", config={**config, "global_batch_size": 512}, settings=NETS
    )


@pytest.mark.parametrize("width", [1440, 360])
def test_diagnostics_come_first_with_severity_and_advice(
    open_page: Opener, server: Server, relaunched: str, width: int
) -> None:
    page = open_page(f"{server.address}/runs/{relaunched}", width=width)
    remark = page.locator(".diagnostics li").first
    expect(remark).to_contain_text("Warning")
    expect(remark).to_contain_text("TCP sockets")
    expect(remark.locator("svg.icon-warning")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_launch_warning_next_to_the_health_leads_to_the_diagnostics(
    open_page: Opener, server: Server, relaunched: str
) -> None:
    page = open_page(f"{server.address}/runs/{relaunched}", height=700)
    expect(page.locator(".run-headline")).to_contain_text("Healthy")
    word = page.get_by_role("button", name="1 diagnostic", exact=True)
    expect(page.locator(".diagnostics")).not_to_be_in_viewport()
    word.click()
    expect(page.locator(".diagnostics")).to_be_in_viewport()
    expect(page.get_by_role("heading", name="Configuration")).to_be_focused()


def test_only_warnings_and_critical_diagnostics_are_counted(call: Callable[..., Any]) -> None:
    def summary(*severities: str) -> object:
        return call(
            "run/headline.js", "diagnosticSummary", [{"severity": severity} for severity in severities]
        )

    assert summary() is summary("info") is None
    assert summary("warning", "info") == ["warning", "1 diagnostic"]
    assert summary("warning", "critical") == ["critical", "2 diagnostics"]


def test_changed_settings_are_listed_by_attempt(open_page: Opener, server: Server, relaunched: str) -> None:
    page = open_page(f"{server.address}/runs/{relaunched}")
    page.get_by_text("Changes at attempt 1", exact=True).click()
    expect(page.locator(".config-changes table")).to_have_text("global_batch_size256 → 512")


def test_settings_are_folded_and_searchable(open_page: Opener, server: Server, relaunched: str) -> None:
    page = open_page(f"{server.address}/runs/{relaunched}")
    search = page.get_by_label("Search settings")
    expect(search).to_be_hidden()
    page.get_by_text("All 4 settings", exact=True).click()
    rows = page.locator(".config-settings tr")
    expect(rows).to_have_count(5)
    search.fill("layers")
    expect(rows).to_have_text(["model.num_layers24"])
    search.fill("nothing like it")
    expect(page.locator(".config-settings")).to_contain_text("No matching settings.")


def test_many_settings_fill_the_width_in_columns(open_page: Opener, server: Server) -> None:
    config = {"data": {f"shard_{number:02}": number / 100 for number in range(60)}}
    run = server.post("many-settings", {"step": [1, 2, 3], "loss": [3.0, 2.0, 1.0]}, config=config)
    page = open_page(f"{server.address}/runs/{run}")
    page.get_by_text("All 60 settings", exact=True).click()
    names = page.locator(".config-settings th")
    expect(names).to_have_count(60)
    lefts = {round(names.nth(number).bounding_box()["x"]) for number in (0, 30, 59)}
    assert len(lefts) >= 2
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_run_without_configuration_has_no_such_section(open_page: Opener, server: Server) -> None:
    page = open_page(f"{server.address}/runs/{server.post('silent', healthy())}")
    expect(page.locator(".panel").first).to_be_visible()
    expect(page.locator(".configuration")).to_be_hidden()
    expect(page.get_by_role("button", name="diagnostic")).to_have_count(0)


def test_a_launch_without_points_shows_its_configuration(open_page: Opener, server: Server) -> None:
    body = {"project": "llm", "run": "hangs", "config": {"num_layers": 24}, "settings": NETS}
    page = open_page(f"{server.address}/runs/{server.ask('/ingest', body)['run_id']}")
    expect(page.get_by_text("No points yet")).to_be_visible()
    expect(page.locator(".diagnostics")).to_contain_text("TCP sockets")

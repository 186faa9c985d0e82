"""Requests to a training that runs: to stop, and to save a checkpoint, with who asked and why."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Page, expect

from tests.support.pages import Opener, Server, healthy


@pytest.fixture
def page(open_page: Opener, server: Server) -> Page:
    columns = healthy(0, 60, ends=time.time())
    page = open_page(f"{server.address}/runs/{server.post(f'asked-{time.time_ns()}', columns)}")
    expect(page.locator(".plot[data-drawn]").first).to_be_visible()
    return page


@pytest.mark.parametrize(
    ("button", "verb", "path"), [("Save checkpoint…", "Save", "save"), ("Stop run…", "Stop", "stop")]
)
def test_a_training_is_asked_and_the_request_withdrawn(
    page: Page, server: Server, button: str, verb: str, path: str
) -> None:
    run_id = page.url.rsplit("/", 1)[-1]
    page.get_by_role("button", name=button).click()
    page.get_by_role("textbox", name="Reason").fill("before the maintenance")
    page.get_by_role("button", name=verb, exact=True).click()
    expect(page.get_by_text("before the maintenance")).to_be_visible()
    assert server.ask(f"/runs/{run_id}")[path]["reason"] == "before the maintenance"
    page.get_by_role("button", name="Withdraw", exact=True).click()
    expect(page.get_by_role("button", name=button)).to_be_visible()
    assert server.ask(f"/runs/{run_id}")[path] is None


def test_nothing_is_asked_of_a_training_by_cancelling(page: Page, server: Server) -> None:
    run_id = page.url.rsplit("/", 1)[-1]
    page.get_by_role("button", name="Save checkpoint…").click()
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.get_by_role("button", name="Save checkpoint…")).to_be_visible()
    assert server.ask(f"/runs/{run_id}")["save"] is None

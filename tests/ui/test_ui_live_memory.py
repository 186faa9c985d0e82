"""A page that stays open while points arrive holds a bounded number of them."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import CDPSession, Page

from tests.support.pages import Opener, Server

pytestmark = pytest.mark.slow
KNOWN_STEPS = 1500
UPDATES = 150
SECONDS = 5
GROWTH = 300
"""Numbers by which the second half may exceed the first: its points alone would be several times as many."""
_NUMBERS = """function () {
  let count = 0;
  for (const list of this) if (list.length > 50 && typeof list[0] === "number") count += list.length;
  return count;
}"""


def _numbers(page: Page, session: CDPSession) -> int:
    """How many numbers the long lists of a page have: points of curves, and what is computed from them."""
    session.send("HeapProfiler.collectGarbage")
    prototype = session.send("Runtime.evaluate", {"expression": "Array.prototype"})["result"]["objectId"]
    lists = session.send("Runtime.queryObjects", {"prototypeObjectId": prototype})["objects"]["objectId"]
    arguments = {"objectId": lists, "functionDeclaration": _NUMBERS, "returnByValue": True}
    count = int(session.send("Runtime.callFunctionOn", arguments)["result"]["value"])
    for each in (prototype, lists):
        session.send("Runtime.releaseObject", {"objectId": each})
    return count


def _post(server: Server, first: int, last: int) -> str:
    steps = list(range(first, last))
    return server.post("open-all-day", {"step": steps, "loss": [2.0 + 1 / (step + 1) for step in steps]})


def test_a_page_that_stays_open_holds_as_many_points_as_before(open_page: Opener, server: Server) -> None:
    run = _post(server, 0, KNOWN_STEPS)
    page = open_page(f"{server.address}/login")  # a clock must be installed before a page
    page.clock.install()
    page.goto(f"{server.address}/runs/{run}")
    while not page.locator(".plot[data-drawn]").count():
        page.clock.run_for(200)
        time.sleep(0.05)
    session = page.context.new_cdp_session(page)
    numbers = []
    for update in range(UPDATES):
        _post(server, KNOWN_STEPS + update, KNOWN_STEPS + update + 1)
        time.sleep(0.02)  # until the event of the point has arrived
        page.clock.run_for(1000 * SECONDS)
        if update % 12 == 11:  # once a minute, in which every chart is fetched again
            numbers.append(_numbers(page, session))
    last = KNOWN_STEPS + UPDATES - 1
    while not page.get_by_text(f"{last:,}").count():
        page.clock.run_for(1000 * SECONDS)
        time.sleep(0.05)
    half = len(numbers) // 2
    assert numbers[0] > KNOWN_STEPS / 2, "the points of the chart are not among the lists"
    # while a chart is fetched again, both its old and its new points are there
    assert min(numbers[half:]) <= min(numbers[:half]) + GROWTH, numbers

"""What a page costs that stays open while points arrive."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from benchmarks.pages.target import FIRST_CURVE, SETTLED_SECONDS, Measured, heap_size, metric, watched
from tests.support.pages import Server, healthy

KNOWN_STEPS = 2000
INTERVAL_SECONDS = 5.0
FIRST_HOUR = 0.5
"""Hours after which the heap is measured first: until then code is compiled and caches fill."""
INCIDENTS = 5


def _post(server: Server, steps: range) -> str:
    return server.post("live", {"step": list(steps), "loss": [2.0 + 1 / (step + 1) for step in steps]})


def _opened(browser: Browser, address: str) -> Page:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address)
    page.locator(FIRST_CURVE).first.wait_for()
    return page


def _shows_step(page: Page, step: int) -> bool:
    for _ in range(20):
        page.clock.run_for(1000 * INTERVAL_SECONDS)
        if page.get_by_text(f"{step:,}").count():
            return True
        time.sleep(0.1)
    return False


def measure_live_tab(browser: Browser, folder: Path, options: argparse.Namespace) -> list[Measured]:
    """Share of a core that a page takes while points arrive."""
    server = Server(folder)
    page = _opened(browser, f"{server.address}/runs/{_post(server, range(KNOWN_STEPS))}")
    session = watched(page)
    page.wait_for_timeout(1000 * SETTLED_SECONDS)
    busy, began, step = metric(session, "TaskDuration"), time.perf_counter(), KNOWN_STEPS
    while time.perf_counter() - began < options.live:
        _post(server, range(step, step + 1))
        step += 1
        page.wait_for_timeout(1000 / options.updates)
    lasted = time.perf_counter() - began
    share = 100 * (metric(session, "TaskDuration") - busy) / lasted
    page.close()
    server.close()
    return [
        Measured("updates a second", (step - KNOWN_STEPS) / lasted, ""),
        Measured("share of a core", share, "%", "2 %"),
    ]


def measure_incident(browser: Browser, folder: Path, options: argparse.Namespace) -> list[Measured]:
    """From the points in which a loss becomes NaN to the incident on the page of the run."""
    server = Server(folder)
    waited = []
    for number in range(INCIDENTS):
        name, columns = f"breaks-{number}", healthy(0, 400, ends=time.time())
        page = _opened(browser, f"{server.address}/runs/{server.post(name, columns)}")
        page.wait_for_timeout(1000 * SETTLED_SECONDS)
        began = time.perf_counter()
        server.post(name, {"step": [400], "loss": ["NaN"]})
        expect(page.locator("aside.side").get_by_text("NaN").first).to_be_visible(timeout=30_000)
        waited.append(time.perf_counter() - began)
        page.close()
    server.close()
    return [Measured("on the page after its data, the longest of five", max(waited), "s", "2 s")]


def measure_day(browser: Browser, folder: Path, options: argparse.Namespace) -> list[Measured]:
    """How the memory of a page grows with an update every five seconds, by a clock that is put forward."""
    server = Server(folder)
    run = _post(server, range(KNOWN_STEPS))
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    session = watched(page)
    page.clock.install()
    page.goto(f"{server.address}/runs/{run}")
    while not page.locator(FIRST_CURVE).count():
        page.clock.run_for(200)
        time.sleep(0.05)
    updates = int(options.hours * 3600 / INTERVAL_SECONDS)
    first = min(FIRST_HOUR, options.hours / 2)
    at_hours = [first, *(options.hours * quarter / 4 for quarter in (1, 2, 3) if options.hours / 4 > first)]
    measured = {int(hours * 3600 / INTERVAL_SECONDS): hours for hours in at_hours}
    heaps = {}
    for number in range(updates):
        _post(server, range(KNOWN_STEPS + number, KNOWN_STEPS + number + 1))
        time.sleep(0.005)  # until the event of the points has arrived
        page.clock.run_for(1000 * INTERVAL_SECONDS)
        if number in measured:
            heaps[measured[number]] = heap_size(page, session)
    shown = _shows_step(page, KNOWN_STEPS + updates - 1)
    heaps[options.hours] = heap_size(page, session)
    page.close()
    server.close()
    if not shown:
        raise SystemExit("pages: the page does not show the last step: updates did not arrive")
    return [
        Measured("updates", updates, ""),
        *(Measured(f"JavaScript heap after {hours:g} h", size, "MB") for hours, size in heaps.items()),
        Measured("grown since the first of these", heaps[options.hours] - heaps[first], "MB", "flat"),
    ]

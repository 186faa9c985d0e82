"""The run page in a real browser: requests, first curve, processor time, cost and memory of a live tab.

Medians of several openings in fresh browser contexts. Processor time is that of the main thread, from
Chromium's `TaskDuration`. `--points`: of each of ten series; `--live`: seconds of updates.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from tests.support import install_chromium
from tests.support.pages import FLAGS, Server
from tests.support.screenshots import store_large_run

FIRST_CURVE = ".plot[data-drawn]"
SETTLED_SECONDS = 2.0


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--live", type=float, default=60.0)
    parser.add_argument("--updates", type=float, default=5.0)
    options = parser.parse_args()
    program = install_chromium.find()
    if program is None:
        raise SystemExit("pages: no chromium: apt-get install chromium, or name one with TEST_BROWSER")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        Server(Path(folder)).close()  # creates the database
        run = store_large_run(Path(folder), options.points)
        server = Server(Path(folder))
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        opened = [measure_opening(browser, server, f"/runs/{run}") for _ in range(options.rounds)]
        for name in opened[0]:
            print(f"{name:28} {statistics.median(each[name] for each in opened):9.2f}")
        for name, value in measure_live_tab(browser, server, options.live, options.updates).items():
            print(f"{name:28} {value:9.2f}")
        browser.close()
        server.close()


def measure_opening(browser: Browser, server: Server, path: str) -> dict[str, float]:
    """Seconds until the first curve, requests, compressed bytes and processor seconds of one opening."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable")
    began = time.perf_counter()
    page.goto(server.address + path, wait_until="commit")
    page.locator(FIRST_CURVE).first.wait_for()
    curve = time.perf_counter() - began
    page.wait_for_timeout(1000 * SETTLED_SECONDS)
    transferred = "performance.getEntries().reduce((sum, each) => sum + (each.transferSize ?? 0), 0)"
    result = {
        "first curve, s": curve,
        "requests": 1 + int(page.evaluate("performance.getEntriesByType('resource').length")),
        "compressed, kB": page.evaluate(transferred) / 1000,
        "processor time, s": metric(session, "TaskDuration"),
    }
    context.close()
    return result


def measure_live_tab(browser: Browser, server: Server, seconds: float, updates: float) -> dict[str, float]:
    """Share of a core that a page takes while points arrive, and how its memory grows."""
    steps = range(2000)
    run = server.post("live", {"step": list(steps), "loss": [2.0 + 1 / (step + 1) for step in steps]})
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.goto(f"{server.address}/runs/{run}")
    page.locator(FIRST_CURVE).first.wait_for()
    page.wait_for_timeout(1000 * SETTLED_SECONDS)
    heap = heap_size(page, session)
    busy, began = metric(session, "TaskDuration"), time.perf_counter()
    step = len(steps)
    while time.perf_counter() - began < seconds:
        server.post("live", {"step": [step], "loss": [2.0 + 1 / (step + 1)]})
        step += 1
        page.wait_for_timeout(1000 / updates)
    lasted = time.perf_counter() - began
    share = 100 * (metric(session, "TaskDuration") - busy) / lasted
    grown = heap_size(page, session) - heap
    page.close()
    return {
        "live tab, % of a core": share,
        "updates": step - len(steps),
        "heap before, MB": heap / 1e6,
        "heap grown, MB": grown / 1e6,
    }


def heap_size(page: Page, session: CDPSession) -> float:
    """Bytes of JavaScript objects after a garbage collection."""
    session.send("HeapProfiler.collectGarbage")
    page.wait_for_timeout(100)
    return metric(session, "JSHeapUsedSize")


def metric(session: CDPSession, name: str) -> float:
    """One of Chromium's metrics of a page."""
    metrics: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == name))


if __name__ == "__main__":
    main()

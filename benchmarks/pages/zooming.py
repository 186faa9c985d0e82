"""How soon a chart follows a zoom: its first picture, its full resolution, tasks that block the page."""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from playwright.sync_api import Browser, Page

from benchmarks.pages.target import FIRST_CURVE, SETTLED_SECONDS, Measured
from tests.support.pages import Server
from tests.support.screenshots import store_large_run

KEYS = ("+", "+", "+", "ArrowRight", "ArrowRight", "ArrowLeft", "-", "-", "+", "+")
WATCH = """() => {
  window.watched = { key: 0, drawn: [], answers: [], tasks: [] };
  addEventListener("keydown", () => {
    Object.assign(watched, { key: performance.now(), drawn: [], answers: [] });
  }, true);
  const chart = document.querySelector(".plot[data-drawn]");
  new MutationObserver(() => watched.drawn.push(performance.now())).observe(chart, {
    attributeFilter: ["data-drawn"],
  });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) watched.tasks.push(entry.duration);
  }).observe({ type: "longtask" });
}"""


def measure_zoom(browser: Browser, folder: Path, options: argparse.Namespace) -> list[Measured]:
    """Zoom and pan by keys in the page of a run of ten long series."""
    Server(folder).close()  # creates the database
    run = store_large_run(folder, options.points)
    server = Server(folder)
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{server.address}/runs/{run}")
    page.locator(FIRST_CURVE).first.wait_for()
    page.wait_for_timeout(1000 * SETTLED_SECONDS)
    page.evaluate(WATCH)
    both = [_press(page, key) for _ in range(options.rounds) for key in KEYS]
    tasks = page.evaluate("watched.tasks")
    page.close()
    server.close()
    return [
        Measured(
            "until the first picture, median", statistics.median(first for first, _ in both), "ms", "30 ms"
        ),
        Measured("the longest", max(first for first, _ in both), "ms"),
        Measured(
            "until full resolution, median", statistics.median(last for _, last in both), "ms", "300 ms"
        ),
        Measured("the longest", max(last for _, last in both), "ms"),
        Measured(
            "the longest task of the main thread (reported from 50 ms on)",
            max(tasks, default=0),
            "ms",
            "50 ms",
        ),
    ]


def _press(page: Page, key: str) -> tuple[float, float]:
    """Milliseconds from a key until the first and until the last picture that it causes."""
    page.keyboard.press(key)
    page.wait_for_timeout(700)
    pressed, drawn = page.evaluate("[watched.key, watched.drawn]")
    if len(drawn) < 2:
        raise SystemExit(f"pages: {key} drew {len(drawn)} pictures, not one at once and one with all points")
    return drawn[0] - pressed, drawn[-1] - pressed
